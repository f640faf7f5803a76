"""Final models: what a run has learned, as one file and as an object that predicts and learns on."""

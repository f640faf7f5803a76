"""Final models: what a run has learned, as a file and as an object that predicts and learns."""

"""Linear learners on features that are drawn at random or projected: networks with one layer that learns."""

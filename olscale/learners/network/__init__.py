"""Networks with one layer that learns: linear learners on random or projected features."""

"""Linear learners: first-order ones, those that keep a covariance, and least squares."""

"""Vector code: what the loops of `olscale.compiled` do with many numbers at once."""

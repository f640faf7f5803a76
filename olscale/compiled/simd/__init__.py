"""Vector code: operations of the loops of `olscale.compiled` on many numbers at once."""

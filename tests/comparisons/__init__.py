"""Other programs at the same task as olscale, each in the code that its user would write."""

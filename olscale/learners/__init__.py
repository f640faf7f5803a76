"""Single-pass learners: one family a file on shared row primitives, and their registry."""

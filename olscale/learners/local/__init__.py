"""Local learners: hyperplanes around prototypes, max-out and two regions."""

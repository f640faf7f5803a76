"""References for learners: batch machines, and baselines that look at labels only."""

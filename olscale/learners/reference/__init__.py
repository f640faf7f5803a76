"""What learners are compared with: batch machines, and baselines that look at labels only."""

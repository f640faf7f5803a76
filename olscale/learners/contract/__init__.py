"""What a learner promises, and what it may promise besides: see `olscale.learners.contract.learner`."""

"""The contract of a learner and its optional capabilities: see `contract.learner`."""

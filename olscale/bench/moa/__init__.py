"""MOA and CapyMOA as contestants, each in a process of its own, whose processor time counts."""

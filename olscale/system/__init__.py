"""Facts of the machine: memory, and how its allocator is set."""

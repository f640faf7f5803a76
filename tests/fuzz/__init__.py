"""Fuzzing of everything that reads bytes from outside: sources, datasets, experiments, stores.

A `Target` is a reader with valid inputs; `TARGETS` lists them all. Input number `i` of a target is
a function of the target's name, the seed and `i`, so a number rebuilds its input anywhere. A reader
may accept an input or refuse it with an `OlscaleError` of one line. Everything else is a finding:
another exception, a crash of the process, an input that takes longer than its deadline or more
memory than is allowed, rows that break the contract of `Batch` or differ from those of an oracle.

::

    python -m tests.fuzz                              # 1,000 inputs a reader
    python -m tests.fuzz --inputs 100000 csv npz      # more, of some readers
    python -m tests.fuzz --show 1234 csv              # one input again

To add a reader, add a `Target` to one of the modules that `tests.fuzz.targets` collects.
"""

"""The golden gate: figures, files and tables of whole experiments, compared byte for byte with stored digests.

``python -m tests.golden`` runs them; it ends with 1 and names what differs. A change that means to
move bytes renews the digests in a commit of its own, which the changelog names: ``python -m
tests.golden --renew``.
"""

"""Data at rest and in motion: formats in, datasets, transforms, streams, generators."""

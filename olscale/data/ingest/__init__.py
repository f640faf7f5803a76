"""Ingest: from sources in any format to a dataset."""

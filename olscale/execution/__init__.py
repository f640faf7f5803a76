"""Execution of plans: in process, by actors and by tasks of a Dask cluster."""

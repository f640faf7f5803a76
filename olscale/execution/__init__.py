"""Running plans: in process, on actors and in tasks of a Dask cluster."""

"""Threads, worker processes and Dask clusters."""

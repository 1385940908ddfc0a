"""Public description of a table, and encoding of its columns as a design matrix."""

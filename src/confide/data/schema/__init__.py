"""Public description of a table, and encoding of its columns."""

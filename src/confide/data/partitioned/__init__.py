"""Tables in parts, on disk or on the workers of a cluster."""

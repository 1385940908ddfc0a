"""Tables that are processed in parts, from disk or on the workers of a cluster."""

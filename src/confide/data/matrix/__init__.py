"""Feature matrices: dense, sparse, or with categories as codes."""

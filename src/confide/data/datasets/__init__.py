"""Public datasets."""

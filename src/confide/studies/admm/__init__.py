"""Studies of the paper on ADMM with Rényi differential privacy."""

"""Studies of ADMM with Rényi differential privacy."""

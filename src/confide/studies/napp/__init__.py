"""Studies of NAPP-ERM, private empirical risk minimisation with noise-augmented rows."""

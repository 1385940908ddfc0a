"""Studies of NAPP-ERM, empirical risk minimisation with augmented rows."""

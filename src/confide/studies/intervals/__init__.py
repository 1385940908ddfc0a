"""Studies of the paper on confidence intervals for private empirical risk minimisation."""

"""Studies of the paper on private linear regression with warfarin data."""

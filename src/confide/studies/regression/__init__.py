"""Private linear regression on warfarin data."""

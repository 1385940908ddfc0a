"""NAPP-ERM."""

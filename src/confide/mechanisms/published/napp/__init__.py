"""NAPP-ERM as published."""

"""The command-line interface."""

from confide.cli.app import app, main

__all__ = ["app", "main"]

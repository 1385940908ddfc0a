"""The page to work in, for one person on one machine: ``confide open``."""

from confide.web.server import serve

__all__ = ["serve"]

"""The pages of ``confide open``, for one person on one machine."""

from confide.web.server import serve

__all__ = ["serve"]

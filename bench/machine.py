"""The machine in general words: what explains a figure, nothing that names a host."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("confide", "numpy", "scipy", "scikit-learn")


def describe():
    """Return one line about processor and versions."""
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, {versions}"
    )


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"

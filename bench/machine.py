"""Description of the machine: facts that explain a figure, without the host name."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("confide", "numpy", "scipy", "scikit-learn")


def describe():
    """Return one line with processor, system and package versions."""
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

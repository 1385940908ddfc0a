"""Virtual environment for diffprivlib, which needs an older version of scikit-learn."""

import subprocess
import sys
import venv
from functools import cache
from pathlib import Path
from typing import Any

from bench.child import ROOT, call

FOLDER = ROOT / ".venv-peers"
PACKAGES = ("scikit-learn==1.7.2", "diffprivlib==0.6.6")


@cache
def python() -> Path | None:
    """Return the interpreter of the environment, or None if it cannot be installed."""
    found = FOLDER / "bin" / "python"
    if not _works(found):
        try:
            venv.create(FOLDER, with_pip=True, clear=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        pip = [found, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=False, capture_output=True)
    return found if _works(found) else None


def call_peer(target: str, **arguments: Any) -> Any:
    """Call a function in the environment; return None if there is no environment."""
    interpreter = python()
    if interpreter is None:
        return None
    return call(target, python=interpreter, **arguments)


def _works(interpreter: Path) -> bool:
    check = "import diffprivlib, sys; sys.exit(diffprivlib.__version__ != '0.6.6')"
    try:
        done = subprocess.run(
            [interpreter, "-W", "ignore", "-c", check], check=False, capture_output=True
        )
    except OSError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(python() is None)

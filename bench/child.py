"""Call a function in a fresh process, and return its result.

    call("bench.speed:measure", threads=1, rows=1000, columns=5)

A fresh process has its own thread settings and peak memory, and no imported modules.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ChildFailed(RuntimeError):
    """Error of a child process; the message has the end of its standard error output."""


def call(
    target: str,
    *,
    threads: int | None = None,
    python: str | Path = sys.executable,
    **arguments: Any,
) -> Any:
    """Call ``module:function`` in a fresh process.

    With ``threads=None`` the numerical libraries choose the number of threads.
    """
    environment = {k: v for k, v in os.environ.items() if k not in THREAD_SETTINGS}
    if threads is not None:
        environment |= dict.fromkeys(THREAD_SETTINGS, str(threads))
    folder = data_folder()
    if folder is not None:
        environment["CONFIDE_DATA"] = str(folder)
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "bench.child", target, json.dumps(arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ChildFailed(f"{target}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def data_folder() -> Path | None:
    """Return the folder of real data: CONFIDE_DATA, or shared/data next to the checkout."""
    named = os.environ.get("CONFIDE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def main(target: str, arguments: str) -> None:
    module, function = target.split(":")
    result = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])

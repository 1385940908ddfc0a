"""TLS keys of a local cluster, which prevent other users from connecting to its ports.

Every cluster has its own certificate, which is created at the start and kept in memory.
Both ends of every connection must present it. Dask creates it with the package
cryptography; if that is not installed, this module creates it with the program openssl.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from confide.errors import ConfideError

SUBJECT = "/CN=dask-internal"
ALTERNATIVE = "subjectAltName=DNS:dask-internal"
LONGEST_WAIT_S = 60.0


def cluster_keys(distributed: ModuleType) -> Any:
    """Return Dask's settings for encrypted connections that authenticate both ends."""
    try:
        return distributed.Security.temporary()
    except ImportError:
        key, certificate = _made_by_openssl()
    roles = ("client", "scheduler", "worker")
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_key": key for role in roles},
        **{f"tls_{role}_cert": certificate for role in roles},
    )


def _made_by_openssl() -> tuple[str, str]:
    program = shutil.which("openssl")
    if program is None:
        raise _cannot("neither was found")
    with tempfile.TemporaryDirectory(prefix="confide-keys-") as folder:
        key, certificate = Path(folder) / "key.pem", Path(folder) / "certificate.pem"
        made = subprocess.run(  # noqa: S603 - no argument comes from outside
            [
                *(program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "365"),
                *("-subj", SUBJECT, "-addext", ALTERNATIVE),
                *("-keyout", str(key), "-out", str(certificate)),
            ],
            capture_output=True,
            check=False,
            timeout=LONGEST_WAIT_S,
        )
        if made.returncode:
            raise _cannot("openssl failed")
        return key.read_text("ascii"), certificate.read_text("ascii")


def _cannot(reason: str) -> ConfideError:
    return ConfideError(
        "workers need a certificate, so that no other user of this machine can connect "
        f"to them. It is created by the package cryptography or the program openssl, but "
        f"{reason}. "
        "Install one of them (pip install cryptography), or leave --workers out."
    )

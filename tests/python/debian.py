"""Programs that come as packages of Debian, for tests that run them."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path


@cache
def find_program(*names: str, package: str) -> str:
    """Find a program by one of its names; as root install its package, else say what is missing."""
    if not any(map(shutil.which, names)) and os.geteuid() == 0 and shutil.which("apt-get"):
        install(package)
    found = next(filter(None, map(shutil.which, names)), None)
    assert found, f"there is no {names[0]} on PATH: install the package {package}"
    return found


def install(package: str) -> None:
    """Install a package. Workers that run tests at the same time take turns."""
    with Path(tempfile.gettempdir(), "slackwater-apt-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (
            ["update", "-qq"],
            ["install", "-y", "-qq", "--no-install-recommends", package],
        ):
            subprocess.run(["apt-get", *words], check=True, capture_output=True)  # noqa: S607  the one on PATH

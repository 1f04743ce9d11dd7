"""A real browser for pages that we write: Chromium without a window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"])


@cache
def chromium() -> str:
    """Find Chromium; as root install it, else say what is missing."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in INSTALL:
            subprocess.run(command, check=True, capture_output=True)
        found = shutil.which("chromium")
    assert found, "the pages are tested in Chromium: install the package chromium"
    return found


def browse(page: Path, *options: str, picture: Path | None = None) -> tuple[str, list[str]]:
    """Open a page: what it became, and what it wrote to the console."""
    words = [
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--virtual-time-budget=2000",
        "--window-size=1180,1600",
        f"--user-data-dir={page.parent / 'browser'}",
        *options,
    ]
    if picture:
        shot = [*words, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(shot, check=True, capture_output=True, timeout=120)
    done = subprocess.run(
        [*words, "--dump-dom", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
        text=True,
    )
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr)

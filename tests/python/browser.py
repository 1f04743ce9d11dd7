"""A real browser for pages that we write: Chromium without a window."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from debian import find_program


def chromium() -> str:
    """Find Chromium; as root install it, else say what is missing."""
    return find_program("chromium", "chromium-browser", "google-chrome", package="chromium")


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

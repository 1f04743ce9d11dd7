"""Where and with what the figures were taken."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Machine:
    """What a reader needs to judge the figures by.

    Attributes:
        cpu: Model name.
        cores: Cores that this process may use.
        memory_gb: Total memory.
        system: Distribution and kernel.
        python: Version of the interpreter.
        rustc: Version of the compiler, or that there is none.
        commit: Commit of the repository, and whether files differ from it.
    """

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    rustc: str
    commit: str


def describe() -> Machine:
    """The machine that this process runs on."""
    return Machine(
        cpu=_field(Path("/proc/cpuinfo"), "model name", ":") or platform.processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        system=f"{_distribution()}, Linux {platform.release()}",
        python=platform.python_version(),
        rustc=_output(["rustc", "--version"]) or "no rustc",
        commit=_commit(),
    )


def commit_date() -> str:
    """Day of the commit that is checked out, or an empty text where there is none."""
    return _output(["git", "log", "-1", "--format=%cs"])


def _commit() -> str:
    commit = _output(["git", "rev-parse", "--short", "HEAD"])
    if not commit:
        return "none yet"
    return f"{commit} with changes" if _output(["git", "status", "--porcelain"]) else commit


def _distribution() -> str:
    return _field(Path("/etc/os-release"), "PRETTY_NAME", "=").strip('"') or "unknown system"


def _field(path: Path, name: str, separator: str) -> str:
    """The value behind the first ``name`` in a file of ``name <separator> value`` lines."""
    if not path.exists():
        return ""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(separator)
        if key.strip() == name:
            return value.strip()
    return ""


def _output(command: list[str]) -> str:
    """What a command prints; nothing where it fails or does not exist."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

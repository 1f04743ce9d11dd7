"""Measurements in a process of their own, and answers that must be the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
TIME_LIMIT_S: Final = 3600

Answer = dict[str, Any]


class DisagreementError(Exception):
    """Two that come to different answers to the same question."""


def child(script: str, words: Sequence[str], name: str) -> Answer:
    """Run a script beside this one in a process of its own; what it prints is JSON.

    Raises:
        RuntimeError: It failed; the text has the name and its last line.
    """
    done = subprocess.run(
        [sys.executable, str(HERE / script), *words],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
        env=os.environ,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    answer: Answer = json.loads(done.stdout)
    return answer


def together(answers: Sequence[Answer], *, times: Iterable[str], most: str) -> Answer:
    """The runs of one thing as one: all of some lists of times, and the largest of an amount."""
    joined = {key: [each for answer in answers for each in answer[key]] for key in times}
    return answers[0] | joined | {most: max(answer[most] for answer in answers)}

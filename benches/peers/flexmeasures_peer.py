"""FlexMeasures, reached through the Python of its own environment."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from peers.problem import SLOT_H, START, Fleet, Floats

_HERE: Final = Path(__file__).resolve().parent
SETUP: Final = _HERE / "setup.sh"
PYTHON: Final = _HERE.parents[1] / ".venv-peers" / "bin" / "python"
CHILD: Final = _HERE / "flexmeasures_child.py"
_SETUP_LIMIT_S: Final = 1800
_RUN_LIMIT_S: Final = 600


class MissingError(Exception):
    """FlexMeasures is not to be had here; the message says why in one line."""


@dataclass(frozen=True)
class Answer:
    """One run of the scheduler over a fleet.

    Attributes:
        costs: Cost per vehicle.
        energies_kwh: Energy per vehicle.
        seconds: Wall time of every scheduler call, all repeats.
        detail: Version and solver.
    """

    costs: Floats
    energies_kwh: Floats
    seconds: list[float]
    detail: str


def install() -> None:
    """Installs FlexMeasures unless it is there.

    Raises:
        MissingError: It cannot be installed.
    """
    try:
        done = subprocess.run(
            ["sh", str(SETUP)], capture_output=True, text=True, timeout=_SETUP_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"its installation took over {_SETUP_LIMIT_S} s"
        raise MissingError(message) from None
    if done.returncode != 0:
        raise MissingError(_last_line(done.stderr))


def schedule(fleet: Fleet, *, repeats: int) -> Answer:
    """Plans every vehicle of ``fleet`` ``repeats`` times.

    Raises:
        MissingError: The scheduler did not answer.
    """
    limits_kw = fleet.limits_kwh() / SLOT_H
    cases = zip(limits_kw.tolist(), fleet.energy_kwh.tolist(), strict=True)
    request = {
        "start": START.isoformat(),
        "slot_h": SLOT_H,
        "prices": fleet.prices.tolist(),
        "cases": [{"limits_kw": limits, "energy_kwh": energy} for limits, energy in cases],
        "repeats": repeats,
    }
    done = subprocess.run(
        [str(PYTHON), str(CHILD)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=_RUN_LIMIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise MissingError(_last_line(done.stderr))
    answer = json.loads(done.stdout)
    return Answer(
        costs=np.array(answer["costs"]),
        energies_kwh=np.array(answer["energies_kwh"]),
        seconds=answer["seconds"],
        detail=f"{answer['version']}, solver {answer['solver']}",
    )


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"

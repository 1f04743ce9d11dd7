"""The command line in the process of a test, and small files for it."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import slackwater as sw
from slackwater import cli

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
SLOTS = [(SIX + n * HOUR, SIX + (n + 1) * HOUR, price) for n, price in enumerate([0.3, 0.1, 0.2])]
VEHICLES = """\
id,arrival,departure,energy_kwh,power_max_kw
van,2026-01-05T19:00+01:00,2026-01-05T22:00+01:00,10,7
bus,2026-01-05T18:00Z,2026-01-05T19:00Z,50,40
"""


INTENSITY = """\
start,end,intensity
2026-01-05T18:00Z,2026-01-05T19:00Z,100
2026-01-05T19:00Z,2026-01-05T21:00Z,600
"""


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of a refusal."""
        lines = self.err.splitlines()
        assert self.code == 2, self.err
        assert self.out == ""
        assert len(lines) == 1
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


def run(*words: str | Path) -> Answer:
    """Run a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([str(word) for word in words])
    return Answer(code, out.getvalue(), err.getvalue())


def carbon_options(folder: Path) -> list[str]:
    """A file of intensities for the three hours, at 0.50 per kg: as the prices, upside down."""
    path = folder / "intensity.csv"
    path.write_text(INTENSITY)
    return [
        *("--carbon", str(path)),
        *("--carbon-unit", "gCO2eq/kWh"),
        *("--carbon-price-per-kg", "0.5"),
    ]


def carbon() -> sw.Carbon:
    """What :func:`carbon_options` says, in Python."""
    intensity = sw.Series.from_values(SIX, [0.1, 0.6, 0.6], unit="kg/kWh")
    return sw.Carbon(price_per_kg=0.5, intensity=intensity)


def price_file(folder: Path) -> Path:
    """Three hours of prices in the JSON that is our own."""
    path = folder / "prices.json"
    slots = [
        {"start": start.isoformat(), "end": end.isoformat(), "price_per_kwh": price}
        for start, end, price in SLOTS
    ]
    path.write_text(json.dumps({"currency": "EUR", "slots": slots}))
    return path

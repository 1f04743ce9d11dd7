"""``slackwater stats``: energy, cost and savings by device and month."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pyarrow as pa
import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from slackwater import statistics
from slackwater._engine import InputError
from slackwater.cli import options
from slackwater.cli.clock import Clock, parse_instant
from slackwater.cli.files import OutputFormat, give, read_samples
from slackwater.cli.screen import amount, answers, left_out, remarks, show_notes, tail

ROWS_SHOWN = 24
READING, WHAT = "What the file holds", "What is summed up"

ArrowData: TypeAlias = Any


class Kind(StrEnum):
    """What the rows of a file are."""

    SAMPLES = "samples"
    METER = "meter"
    POWER = "power"
    SESSIONS = "sessions"


class Resolution(StrEnum):
    """Lengths of buckets."""

    QUARTER_HOUR = "quarter_hour"
    HALF_HOUR = "half_hour"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


SamplesFile = Annotated[
    Path, typer.Argument(help="Table: .csv, .json or .parquet.", metavar="SAMPLES")
]
KindOfRows = Annotated[
    Kind,
    typer.Option(
        "--kind",
        help="Rows are samples (start, end, power_kw, price_per_kwh, …), readings of an energy "
        "counter (at, total_kwh) or of power (at, power_kw), or sessions (start, end, energy_kwh).",
        rich_help_panel=READING,
    ),
]
SampleMinutes = Annotated[
    float | None,
    typer.Option(
        "--sample-minutes",
        metavar="MINUTES",
        help="Length of each sample, for a table without end.",
        rich_help_panel=READING,
    ),
]
GapMinutes = Annotated[
    float | None,
    typer.Option(
        "--gap-minutes",
        metavar="MINUTES",
        help="Longest pause between two readings that is no gap: 60 for a counter, 15 for power.",
        rich_help_panel=READING,
    ),
]
PowerMax = Annotated[
    float | None,
    typer.Option(
        "--power-max-kw",
        metavar="KW",
        help="Highest power of a device: readings that need more are faults, and dropped.",
        rich_help_panel=READING,
    ),
]
GroupBy = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Column to group by, such as a device. Repeatable.",
        metavar="COLUMN",
        rich_help_panel=WHAT,
    ),
]
BucketLength = Annotated[
    Resolution, typer.Option("--resolution", help="Length of a bucket.", rich_help_panel=WHAT)
]
UtcOffset = Annotated[
    float,
    typer.Option(
        "--utc-offset",
        metavar="HOURS",
        help="Fixed offset of the buckets, -14 to 14.",
        rich_help_panel=WHAT,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="TIME",
        help="First instant of the range, such as 2026-01-01T00:00Z.",
        rich_help_panel=WHAT,
    ),
]
End = Annotated[
    str | None,
    typer.Option(
        "--end", metavar="TIME", help="First instant after the range.", rich_help_panel=WHAT
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Exit with 1 if there are notes.", rich_help_panel=options.OUTPUT
    ),
]


def stats(
    samples: SamplesFile,
    *,
    kind: KindOfRows = Kind.SAMPLES,
    by: GroupBy = None,
    resolution: BucketLength = Resolution.MONTH,
    utc_offset: UtcOffset = 0.0,
    start: Start = None,
    end: End = None,
    sample_minutes: SampleMinutes = None,
    gap_minutes: GapMinutes = None,
    power_max: PowerMax = None,
    form: options.Form = OutputFormat.TABLE,
    out: options.Out = None,
    strict: Strict = False,
) -> int:
    """Sum up energy, cost and savings by bucket.

    A Parquet file is read piece by piece and may be larger than memory. Dates
    are starts of buckets on the clock of the offset, written as UTC. Exit
    codes: 0 done, 1 done but --strict found odd readings, 2 bad input.
    """
    options.check_out(out)
    columns = by or []
    length = _length("--sample-minutes", sample_minutes)
    rows = read_samples(samples)
    try:
        choices = {"by": columns, "power_max_kw": power_max}
        rows, findings = _as_samples(rows, kind, gap_minutes, choices)
        sums = pa.table(
            statistics.aggregate(
                rows,
                by=columns,
                resolution=resolution.value,
                utc_offset_hours=utc_offset,
                start=_time("--start", start),
                end=_time("--end", end),
                sample_length=length,
            )
        )
    except pa.ArrowException as error:
        raise InputError(f"{samples}: {error}") from error
    except InputError as error:
        raise InputError(f"{samples}: {error}") from None
    clock = Clock(None)
    give(sums, form, out, clock, show=lambda: _show(sums, columns))
    if out:
        remarks().print(Text(f"{sums.num_rows:,} rows written to {out}"))
    notes = _notes(findings)
    show_notes(notes)
    return 1 if strict and notes else 0


def _length(option: str, minutes: float | None) -> timedelta | None:
    if minutes is None:
        return None
    try:
        return timedelta(minutes=minutes)
    except (OverflowError, ValueError):
        raise InputError(f"{option} {minutes} is no length of time") from None


def _time(option: str, text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text, option=option)


def _as_samples(
    rows: ArrowData, kind: Kind, gap_minutes: float | None, choices: dict[str, Any]
) -> tuple[ArrowData, statistics.Findings | None]:
    gap = _length("--gap-minutes", gap_minutes)
    if kind is Kind.SAMPLES and (gap is not None or choices["power_max_kw"] is not None):
        raise InputError("--gap-minutes and --power-max-kw are about readings; --kind says which")
    match kind:
        case Kind.METER:
            pause = timedelta(hours=1) if gap is None else gap
            found = statistics.samples_from_meter(rows, gap_max=pause, **choices)
        case Kind.POWER:
            hold = timedelta(minutes=15) if gap is None else gap
            found = statistics.samples_from_power(rows, hold_max=hold, **choices)
        case Kind.SESSIONS:
            found = statistics.samples_from_sessions(rows, **choices)
        case _:
            return rows, None
    return found.samples, found.findings


def _notes(findings: statistics.Findings | None) -> list[str]:
    """What was odd about readings, one line each."""
    if findings is None:
        return []
    words = {
        "out_of_order": "came out of order and were sorted in",
        "repeated": "said the same again and were dropped",
        "replaced": "were replaced by a later row of the same instant",
        "resets": "counters began anew",
        "gaps": f"pauses were too long, {findings.gap_hours:,.1f} hours of them",
        "without_length": "had no length and were dropped",
        "implausible": "were more than the device can do and were dropped",
    }
    counts = findings._asdict()
    return [
        f"{counts[name]:,} of {findings.rows:,} rows: {text}"
        for name, text in words.items()
        if counts[name]
    ]


def _show(sums: pa.Table, by: list[str]) -> None:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in by:
        shown.add_column(name, no_wrap=True)
    shown.add_column("date", no_wrap=True)
    for name in ("kWh", "mean kW", "max kW", "per kWh", "cost", "savings"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in sums.slice(0, ROWS_SHOWN).to_pylist():
        numbers = ("energy_kwh", "kw_mean", "kw_max")
        cells = [tail(row[name]) for name in by] + [f"{row['date']:%Y-%m-%d %H:%M}"]
        cells += [amount(row[name]) for name in numbers]
        price = row["price_mean_per_kwh"]
        cells.append("" if price is None else f"{price:.4f}")
        cells += ["" if row[name] is None else amount(row[name]) for name in ("cost", "savings")]
        shown.add_row(*cells)
    answers().print(Group(shown, *left_out(sums.num_rows, ROWS_SHOWN)))

"""``slackwater stays``: driving logs as a table of vehicles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich import box
from rich.console import Group
from rich.table import Table

from slackwater import io
from slackwater.cli import options
from slackwater.cli.clock import Clock, parse_instant
from slackwater.cli.files import OutputFormat, give
from slackwater.cli.screen import answers, left_out, show_notes, tail

ROWS_SHOWN = 10

Log = Annotated[
    Path, typer.Argument(help="SimBEV file, or a folder with a file a vehicle.", metavar="PATH")
]
LogTimeZone = Annotated[
    str, typer.Option("--time-zone", help="IANA name of the zone of the log.", metavar="ZONE")
]
Origin = Annotated[
    str | None,
    typer.Option(
        "--origin",
        help="Instant of the first step; it moves the log to other days.",
        metavar="TIME",
    ),
]
StepMinutes = Annotated[int, typer.Option("--step-minutes", help="Length of a step.")]
LogCapacity = Annotated[
    float | None,
    typer.Option("--capacity-kwh", help="Capacity; by default estimated from driving."),
]


def stays(
    log: Log,
    *,
    time_zone: LogTimeZone,
    origin: Origin = None,
    step_minutes: StepMinutes = 15,
    capacity_kwh: LogCapacity = None,
    form: options.Form = OutputFormat.TABLE,
    out: options.Out = None,
) -> None:
    """Turn driving and parking events of SimBEV into vehicles for the batch command."""
    clock = Clock(time_zone)
    options.check_out(out)
    found = io.read_simbev(
        log,
        time_zone=time_zone,
        origin=None if origin is None else parse_instant(origin, option="--origin"),
        step_minutes=step_minutes,
        capacity_kwh=capacity_kwh,
    )
    table = pa.table(found)
    give(table, form, out, clock, show=lambda: _show(table, clock))
    show_notes(found.notes)


def _show(table: pa.Table, clock: Clock) -> None:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("id", no_wrap=True)
    shown.add_column("where", no_wrap=True)
    shown.add_column(f"when, {clock.name}", no_wrap=True)
    for name in ("kWh", "kW", "soc"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in table.slice(0, ROWS_SHOWN).to_pylist():
        when = clock.span(row["arrival"], row["departure"])
        numbers = (f"{row['energy_kwh']:.2f}", f"{row['power_max_kw']:g}")
        shown.add_row(
            tail(row["id"]), row["location"], when, *numbers, f"{row['soc_percent']:.0f} %"
        )
    answers().print(Group(shown, *left_out(table.num_rows, ROWS_SHOWN)))

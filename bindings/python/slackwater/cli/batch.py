"""``slackwater batch``: a plan for every vehicle of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

import slackwater as sw
from slackwater._engine import InputError
from slackwater.cli import options
from slackwater.cli.clock import Clock
from slackwater.cli.emissions import CarbonOptions
from slackwater.cli.files import INSTANT, read_vehicles, write_table
from slackwater.cli.prices import PriceFormat, PriceOptions, read_prices
from slackwater.cli.screen import (
    amount,
    answers,
    left_out,
    remarks,
    rows_before,
    show_notes,
    tail,
)

ROWS_PER_CHUNK = 50_000
ROWS_SHOWN = 10
ERRORS_SHOWN = 5
PATIENCE_S = 1.0

VehiclesFile = Annotated[
    Path,
    typer.Argument(
        help="Table with a row for each stay: .csv, .json or .parquet.", metavar="VEHICLES"
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Exit with 1 if a row is in error.", rich_help_panel=options.OUTPUT
    ),
]


def batch(
    vehicles: VehiclesFile,
    *,
    prices: options.PricesFiles,
    prices_format: options.PricesForm = PriceFormat.AUTO,
    time_zone: options.TimeZone = None,
    currency: options.Currency = None,
    unit: options.Unit = None,
    area: options.Area = None,
    carbon: options.CarbonFile = None,
    carbon_unit: options.CarbonUnit = None,
    carbon_price_per_kg: options.CarbonPrice = None,
    out: options.Out = None,
    strict: Strict = False,
) -> int:
    """Plan every vehicle of a table, each as if it were alone.

    The columns are id, arrival, departure (times with an offset), power_max_kw, and
    energy_kwh or soc_percent, target_percent and capacity_kwh. An
    invalid row fills its error column; the other rows are planned.
    """
    clock = Clock(time_zone)
    options.check_out(out)
    source = PriceOptions(prices_format, time_zone, currency, unit, area)
    curves, notes = read_all_prices(prices, source)
    emissions = CarbonOptions(carbon, carbon_unit, carbon_price_per_kg, time_zone).read()
    rows = read_vehicles(vehicles)
    if not rows.num_rows:
        raise InputError(f"{vehicles}: there is no vehicle")
    try:
        planned = plan_in_chunks(rows, curves, carbon=emissions)
    except InputError as error:
        raise InputError(f"{vehicles}: {error}") from None
    if out:
        write_table(planned.plans, out, clock)
    console = answers()
    if not out:
        console.print(_first_rows(planned.plans, clock))
    console.print(_summary(planned))
    if out:
        console.print(Text(f"plans written to {out}"), soft_wrap=True)
    show_notes(notes)
    _warn_outside(rows, curves)
    errors = _errors(planned.plans)
    _show_errors(errors)
    return 1 if strict and errors else 0


def read_all_prices(
    files: Sequence[str], source: PriceOptions
) -> tuple[sw.Prices | Mapping[str, sw.Prices], list[str]]:
    """One price list for all vehicles, or several by name."""
    if len(files) == 1 and (Path(files[0]).exists() or "=" not in files[0]):
        only = read_prices(Path(files[0]), source)
        return only.prices, list(only.notes)
    curves: dict[str, sw.Prices] = {}
    notes = []
    for text in files:
        name, sign, file = text.partition("=")
        if not sign:
            raise InputError(f"--prices {text}: say ID={text} where there are several")
        if name in curves:
            raise InputError(f"--prices {text}: there are two of {name}")
        found = read_prices(Path(file), source)
        curves[name] = found.prices
        notes += [f"{name}: {note}" for note in found.notes]
    currencies = {curve.currency for curve in curves.values()}
    if len(currencies) > 1:
        raise InputError(f"--prices are in different currencies: {', '.join(sorted(currencies))}")
    return curves, notes


class Planned(NamedTuple):
    """Plans, and how long planning took."""

    plans: pa.Table
    seconds: float


class LateProgress:
    """A progress bar on stderr for work of more than a second, on a terminal only."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._began = perf_counter()
        self._bar: Progress | None = None
        self._is_seen = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        self._done += rows
        if not self._bar and self._is_seen and perf_counter() - self._began > PATIENCE_S:
            self._bar = Progress(
                TextColumn("planning"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.add_task("planning", total=self._total)
            self._bar.start()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self._done)


def plan_in_chunks(
    vehicles: pa.Table,
    prices: sw.Prices | Mapping[str, sw.Prices],
    *,
    carbon: sw.Carbon | None = None,
    rows_per_chunk: int = ROWS_PER_CHUNK,
) -> Planned:
    """Plan a table in pieces, so that a progress bar can move and Ctrl-C is heard.

    Plans do not depend on each other, so the pieces make no difference.
    """
    pieces, seconds = [], 0.0
    with LateProgress(vehicles.num_rows) as progress:
        for first in range(0, max(vehicles.num_rows, 1), rows_per_chunk):
            rows = vehicles.slice(first, rows_per_chunk)
            began = perf_counter()
            before = rows_before.set(first)
            plans = sw.plan_batch(rows, prices, carbon=carbon)
            rows_before.reset(before)
            seconds += perf_counter() - began
            pieces.append(pa.table(plans))
            progress.advance(rows.num_rows)
    return Planned(pa.concat_tables(pieces), seconds)


def _first_rows(plans: pa.Table, clock: Clock) -> Group:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("id", no_wrap=True)
    for name in ("kWh", "cost", "savings", "short"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"from, {clock.name}", no_wrap=True)
    for row in plans.slice(0, ROWS_SHOWN).to_pylist():
        numbers = ("energy_kwh", "cost", "savings", "shortfall_kwh")
        cells = ["" if row[name] is None else amount(row[name]) for name in numbers]
        start = (
            clock.short_date(row["intervals"][0]["start"]) if row["intervals"] else row["status"]
        )
        style = {"shortfall": "yellow", "error": "red"}.get(row["status"], "")
        table.add_row(tail(row["id"]), *cells, start, style=style)
    return Group(table, *left_out(plans.num_rows, ROWS_SHOWN), Text())


def _total(plans: pa.Table, column: str) -> float:
    return pc.sum(plans.column(column)).as_py() or 0.0


def _summary(planned: Planned) -> Table:
    plans, seconds = planned
    money = (plans.schema.metadata or {}).get(b"currency", b"").decode()
    short = plans.filter(pc.equal(plans.column("status").cast(pa.string()), "shortfall"))
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold")
    lines.add_column(justify="right")
    lines.add_column(style="dim")
    lines.add_row("stays", f"{plans.num_rows:,}", "")
    lines.add_row("energy", amount(_total(plans, "energy_kwh")), "kWh")
    lines.add_row("cost", amount(_total(plans, "cost")), money)
    lines.add_row(
        "baseline", amount(_total(plans, "baseline_cost")), f"{money}, full power at once"
    )
    lines.add_row("savings", Text(amount(_total(plans, "savings")), "bold green"), money)
    if "carbon_kg" in plans.column_names:
        baseline = f"kg CO2, baseline {amount(_total(plans, 'baseline_carbon_kg'))}"
        lines.add_row("emissions", amount(_total(plans, "carbon_kg")), baseline)
    missing = f"kWh of {short.num_rows:,} stays" if short.num_rows else "kWh"
    colour = "bold red" if short.num_rows else ""
    lines.add_row("shortfall", Text(amount(_total(plans, "shortfall_kwh")), colour), missing)
    left = _total(plans, "forgone_revenue")
    if left > 0:
        lines.add_row("not earned", amount(left), f"{money} at most, at negative prices")
    unpriced = plans.filter(pc.greater(plans.column("unpriced_hours"), 0)).num_rows
    if unpriced:
        lines.add_row("no price", f"{unpriced:,}", "stays have hours without a price")
    errors = len(_errors(plans))
    lines.add_row("in error", Text(f"{errors:,}", "bold red" if errors else ""), "rows")
    gap = pc.max(plans.column("gap")).as_py()
    lines.add_row("largest proof gap", "none" if gap is None else f"{gap:.1g}", money)
    if seconds > 0:
        rate = plans.num_rows / seconds
        lines.add_row("planned in", f"{seconds * 1000:,.1f}", f"ms, {rate:,.0f} plans a second")
    return lines


def _errors(plans: pa.Table) -> list[tuple[int, object, str]]:
    """Row, id and message of each row in error; rows count from 1."""
    rows = pc.indices_nonzero(pc.is_valid(plans.column("error")))
    found = plans.select(["id", "error"]).take(rows).to_pylist()
    numbered = zip(rows.to_pylist(), found, strict=True)
    return [(row + 1, each["id"], each["error"]) for row, each in numbered]


def _warn_outside(vehicles: pa.Table, prices: sw.Prices | Mapping[str, sw.Prices]) -> None:
    """Say how many stays lie before or after all known prices."""
    curves = prices.values() if isinstance(prices, Mapping) else [prices]
    spans = [slots for curve in curves if (slots := curve.slots)]
    first, last = min(slots[0][0] for slots in spans), max(slots[-1][1] for slots in spans)
    before = pc.less_equal(vehicles.column("departure"), pa.scalar(first, INSTANT))
    after = pc.greater_equal(vehicles.column("arrival"), pa.scalar(last, INSTANT))
    outside = pc.sum(pc.or_(before, after)).as_py()
    if outside:
        span = f"known prices ({first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC)"
        text = f"warning: {outside:,} of {vehicles.num_rows:,} stays lie wholly outside of the"
        remarks().print(Text(f"{text} {span}", style="bold yellow"))


def _show_errors(errors: Sequence[tuple[int, object, str]]) -> None:
    if not errors:
        return
    console = remarks()
    count = f"{len(errors):,} rows are" if len(errors) > 1 else "1 row is"
    console.print(Text(f"warning: {count} in error and without a plan", style="bold yellow"))
    for row, name, error in errors[:ERRORS_SHOWN]:
        console.print(Text(f"  row {row}, {name}: {error}", style="yellow"))
    if len(errors) > ERRORS_SHOWN:
        console.print(Text(f"  … and {len(errors) - ERRORS_SHOWN:,} more", style="yellow"))

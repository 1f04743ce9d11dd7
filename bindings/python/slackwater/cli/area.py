"""``slackwater area``: vehicles of a table under shared limits."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.table import Table
from rich.text import Text

import slackwater as sw
from slackwater._engine import InputError, table_emissions
from slackwater._public import tell_renamed
from slackwater._view import area_notes, shortfall_cause
from slackwater.area_node import area_nodes
from slackwater.cli import options
from slackwater.cli.batch import VehiclesFile, read_all_prices
from slackwater.cli.clock import Clock
from slackwater.cli.emissions import CarbonOptions
from slackwater.cli.files import read_vehicles, write_table
from slackwater.cli.prices import PriceFormat, PriceOptions
from slackwater.cli.rounds import Checkpoint, RoundProgress, fingerprint
from slackwater.cli.screen import amount, answers, remarks, show_notes, tail
from slackwater.prices import emission_price

LIMITS = "Limits"
UNMET_SHOWN = 5

Limit = Annotated[
    str,
    typer.Option(
        "--limit-kw",
        metavar="KW|FILE",
        help="Highest load in kW, or a .json file: a list with one per slot, "
        "or a list of nodes with name, parent, limit_kw and so on.",
        rich_help_panel=LIMITS,
    ),
]
ExportPrices = Annotated[
    list[str] | None,
    typer.Option(
        "--export-prices",
        metavar="FILE",
        help="Price earned per exported kWh; as --prices.",
        rich_help_panel=options.PRICES,
    ),
]
Gap = Annotated[
    float,
    typer.Option(
        "--relative-gap", help="Gap at which to end; 0.001 is 0.1 %.", rich_help_panel=LIMITS
    ),
]
MaxRounds = Annotated[
    int,
    typer.Option("--rounds-max", min=0, help="Most rounds of a search.", rich_help_panel=LIMITS),
]
PreviousPlans = Annotated[
    Path | None,
    typer.Option(
        "--previous", metavar="FILE", help="Earlier plans to stay near.", rich_help_panel=LIMITS
    ),
]
StabilityBudget = Annotated[
    float | None,
    typer.Option(
        "--stability-budget",
        metavar="MONEY",
        help="Amount that staying near --previous may cost; 0 by default.",
        rich_help_panel=LIMITS,
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a report of the area: .html.",
        rich_help_panel=options.OUTPUT,
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Where rounds are kept while planning; next to --out by default.",
        rich_help_panel=options.OUTPUT,
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Resume an interrupted run.", rich_help_panel=options.OUTPUT),
]
ShowProgress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show each round; by default on a terminal.",
        rich_help_panel=options.OUTPUT,
    ),
]


def area(
    vehicles: VehiclesFile,
    *,
    prices: options.PricesFiles,
    limit_kw: Limit,
    export_prices: ExportPrices = None,
    relative_gap: Gap = 1e-3,
    rounds_max: MaxRounds = 500,
    previous: PreviousPlans = None,
    stability_budget: StabilityBudget = None,
    prices_format: options.PricesForm = PriceFormat.AUTO,
    time_zone: options.TimeZone = None,
    currency: options.Currency = None,
    unit: options.Unit = None,
    price_area: options.Area = None,
    carbon: options.CarbonFile = None,
    carbon_unit: options.CarbonUnit = None,
    carbon_price_per_kg: options.CarbonPrice = None,
    out: options.Out = None,
    report: Report = None,
    checkpoint: CheckpointFile = None,
    resume: Resume = False,
    progress: ShowProgress = None,
) -> int:
    """Plan vehicles that share limits, with a proof of how near the least cost is.

    The columns are those of batch, and node, priority, power_min_kw,
    discharge_max_kw. Ctrl-C gives the plan so far; a run that was cut off goes
    on with --resume, and comes to the same plan.
    """
    clock = Clock(time_zone)
    options.check_out(out)
    options.check_out(report, option="--report")
    if stability_budget is not None and previous is None:
        raise InputError("--stability-budget needs --previous, the plans to stay near")
    where = checkpoint or (out and out.with_name(out.name + ".rounds"))
    if resume and where is None:
        raise InputError("--resume needs --checkpoint or --out")
    written = {"--out": out, "--report": report, "--checkpoint": where}
    read = [vehicles, Path(limit_kw), carbon, *_files([*prices, *(export_prices or [])])]
    options.check_apart(written, read)
    options.check_apart({"--report": report, "--checkpoint": where}, [previous])
    source = PriceOptions(prices_format, time_zone, currency, unit, price_area)
    curves, notes = read_all_prices(prices, source)
    export, more_notes = read_all_prices(export_prices, source) if export_prices else (None, [])
    emissions = CarbonOptions(carbon, carbon_unit, carbon_price_per_kg, time_zone).read()
    nodes, limit_file = _nodes(limit_kw)
    rows = read_vehicles(vehicles)
    if not rows.num_rows:
        raise InputError(f"{vehicles}: there is no vehicle")
    told = None if previous is None else read_vehicles(previous)
    files = [vehicles, *_files([*prices, *(export_prices or [])])]
    files += [file for file in (limit_file, previous, carbon) if file]
    words = [*prices, *(export_prices or []), limit_kw, repr(relative_gap), repr(rounds_max)]
    words += [repr(stability_budget), repr(source), repr((carbon_unit, carbon_price_per_kg))]
    mark = fingerprint(files, words) if where else ""
    memory = Checkpoint(where, mark, resume=resume) if where else None
    if memory and memory.rounds:
        remarks().print(Text(f"going on after {memory.rounds} rounds", style="dim"))
    terms = (relative_gap, rounds_max, told, stability_budget or 0.0, emissions)
    asked = _Asked(rows, curves, export, nodes, *terms)
    with memory or nullcontext():
        plan, carbon_kg = _planned(asked, (vehicles, out), clock, memory, shown=progress)
    if memory:
        if plan.status == "stopped":
            remarks().print(Text(f"stopped; go on with --resume ({where})", style="yellow"))
        else:
            memory.remove()
    if report:
        title = f"Plan of {nodes[0].name}" if len(nodes) > 1 else "Area plan"
        zone = time_zone or "UTC"
        plan.report(report, names=rows.column("id"), title=title, time_zone=zone)
    files_out = {"plans": out, "report": report}
    _show(plan, carbon_kg, rows, files_out, [*notes, *more_notes])
    return 0


def _show(
    plan: sw.AreaPlan,
    carbon_kg: float | None,
    rows: pa.Table,
    written: dict[str, Path | None],
    notes: list[str],
) -> None:
    """Write the summary, the files, and what there is to say of them."""
    console = answers()
    console.print(_summary(plan, carbon_kg))
    for what, file in written.items():
        if file:
            console.print(Text(f"{what} written to {file}"), soft_wrap=True)
    show_notes(notes)
    _show_failure(plan)
    _show_unmet(plan, rows)


class _Asked(NamedTuple):
    """What is planned."""

    rows: pa.Table
    prices: Any
    export: Any
    nodes: list[sw.Node]
    relative_gap: float
    rounds_max: int
    previous: pa.Table | None
    budget: float
    carbon: sw.Carbon | None


def _planned(
    asked: _Asked,
    files: tuple[Path, Path | None],
    clock: Clock,
    memory: Checkpoint | None,
    *,
    shown: bool | None,
) -> tuple[sw.AreaPlan, float | None]:
    """Plan, write what vehicles are told while it is made, and count their emissions in kg."""
    vehicles, out = files
    writer = _Writer(out, clock) if out else None
    sink = _Sink(writer, asked.carbon)
    try:
        with RoundProgress(asked.relative_gap, shown=shown) as progress:
            plan = sw.plan_area(
                asked.rows,
                asked.prices,
                export_prices=asked.export,
                carbon=asked.carbon,
                nodes=asked.nodes,
                relative_gap=asked.relative_gap,
                rounds_max=asked.rounds_max,
                progress=progress,
                previous=asked.previous,
                stability_budget=None if asked.previous is None else asked.budget,
                sink=sink,
                memory=memory,
            )
        if writer:
            writer.finish()
    except InputError as error:
        raise InputError(f"{vehicles}: {error}") from None
    except KeyboardInterrupt:
        # In the rounds it ends them with a plan; this is after them.
        if writer:
            writer.abandon()
            goes_on = "; --resume goes on there" if memory else ""
            text = f"stopped while plans were written: there is no {out} of this run{goes_on}"
            remarks().print(Text(text, style="yellow"))
        raise
    return plan, sink.carbon_kg


class _Sink:
    """Hands plans on to a file as they come, and counts their emissions."""

    def __init__(self, writer: _Writer | None, carbon: sw.Carbon | None) -> None:
        self._writer = writer
        self._intensity = None if carbon is None else emission_price(carbon).intensity
        self.carbon_kg = None if carbon is None else 0.0

    def __call__(self, plans: sw.PlanTable) -> None:
        if self._intensity is not None and self.carbon_kg is not None:
            self.carbon_kg += table_emissions(plans, self._intensity)
        if self._writer:
            self._writer(plans)


class _Writer:
    """Writes plans as they come, under another name until all are there."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._clock = clock
        self._parquet: Any = None
        self._pieces: list[pa.Table] = []

    def __call__(self, plans: object) -> None:
        piece = pa.table(plans)
        if self._path.suffix.lower() != ".parquet":
            self._pieces.append(piece)
            return
        if self._parquet is None:
            self._parquet = pq.ParquetWriter(self._part, piece.schema)
        self._parquet.write_table(piece)

    def finish(self) -> None:
        """All plans are there."""
        if self._parquet is None:
            write_table(pa.concat_tables(self._pieces), self._path, self._clock)
        else:
            self._parquet.close()
            self._part.replace(self._path)

    def abandon(self) -> None:
        """Leave nothing behind: some plans of many are no answer."""
        if self._parquet is not None:
            self._parquet.close()
        self._part.unlink(missing_ok=True)


def _files(words: Sequence[str]) -> list[Path]:
    """The files of options like ``FILE`` and ``ID=FILE``."""
    is_file = [(Path(word), Path(word.partition("=")[2])) for word in words]
    return [whole if whole.exists() else part for whole, part in is_file]


def _nodes(limit: str) -> tuple[list[sw.Node], Path | None]:
    """Nodes from a number, from a list of numbers, or from a file of nodes."""
    try:
        return area_nodes(float(limit), None), None
    except ValueError:
        path = Path(limit)
    if path.suffix.lower() != ".json":
        raise InputError(
            f"--limit-kw {shlex.quote(limit)}: neither a number of kW nor a .json file"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: no JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no text in UTF-8: {error}") from None
    is_list = isinstance(found, list) and len(found) > 0
    try:
        if is_list and all(isinstance(each, dict) for each in found):
            return area_nodes(None, [_node(each) for each in found]), path
        if is_list and not any(isinstance(each, dict | list | str) for each in found):
            return area_nodes(found, None), path
    except (InputError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None
    raise InputError(f"{path}: neither a list of kW, one per slot, nor a list of nodes")


def _node(fields: dict[str, Any]) -> sw.Node:
    known = sw.Node.__dataclass_fields__
    for name in fields:
        today = tell_renamed("Node", name, known)
        if today is not None:
            raise InputError(f"`{name}` of a node is called `{today}`")
        if name not in known:
            raise InputError(f"a node has no {name!r}; it has {', '.join(known)}")
    if not isinstance(fields.get("name"), str):
        raise InputError("a node needs a name")
    return sw.Node(**fields)


def _summary(plan: sw.AreaPlan, carbon_kg: float | None) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="bold")
    lines.add_column(justify="right")
    lines.add_column(style="dim")
    money = plan.currency
    lines.add_row("vehicles", f"{plan.vehicles:,}", f"in error {plan.errors:,}")
    lines.add_row("energy", amount(plan.energy_kwh), "kWh")
    if plan.discharged_kwh:
        lines.add_row("discharged", amount(plan.discharged_kwh), "kWh")
    lines.add_row("cost", amount(plan.cost), money)
    at_once = f"{money}, full power at once, limits or not"
    lines.add_row("baseline", amount(plan.baseline_cost), at_once)
    if plan.withheld_kwh > 0:
        withheld = f"{amount(plan.withheld_kwh)} kWh withheld by limits are not in the cost"
        lines.add_row("savings", Text("unknown", "bold red"), withheld)
    else:
        saved = amount(plan.baseline_cost - plan.cost)
        lines.add_row("savings", Text(saved, "bold green"), money)
    if carbon_kg is not None:
        baseline = f"kg CO2, baseline {amount(plan.baseline_carbon_kg or 0.0)}"
        lines.add_row("emissions", amount(carbon_kg), baseline)
    lines.add_row("lower bound", amount(plan.bound), f"{money}, gap {plan.relative_gap:.1e}")
    lines.add_row("highest load", amount(max(plan.load_kw, default=0.0)), "kW of vehicles")
    colour = "bold red" if plan.shortfalls else ""
    missing = f"kWh, vehicles affected: {plan.short_vehicles:,}" if plan.shortfalls else "kWh"
    lines.add_row("shortfall", Text(amount(plan.shortfall_kwh), colour), missing)
    for note in area_notes(plan):
        lines.add_row("note", Text("!", "bold yellow"), note)
    if plan.change:
        change = plan.change
        lines.add_row("moved", amount(change.moved_kwh), "kWh against the earlier plan")
        lines.add_row("unchanged", f"{change.unchanged:,}", f"of {change.vehicles:,} vehicles")
        lines.add_row("cost of that", amount(change.spent), money)
    ended = plan.status.replace("_", " ")
    rounds = f"s, {plan.rounds} rounds in the last search, {ended}"
    lines.add_row("planned in", f"{plan.seconds:,.2f}", rounds)
    return lines


def _show_failure(plan: sw.AreaPlan) -> None:
    if plan.status == "solver_failed":
        text = "warning: the solver failed: limits hold, but a better plan may exist"
        remarks().print(Text(text, style="bold yellow"), soft_wrap=True)


def _show_unmet(plan: sw.AreaPlan, rows: pa.Table) -> None:
    if not plan.shortfalls:
        return
    console = remarks()
    count = f"vehicles short at departure or at a deadline: {plan.short_vehicles:,}"
    console.print(Text(f"warning: {count}", style="bold yellow"))
    worst = sorted(plan.shortfalls, key=lambda need: (-need.energy_kwh, need.row))
    for need in worst[:UNMET_SHOWN]:
        name = tail(rows.column("id")[need.row].as_py())
        why = f"{amount(need.energy_kwh)} kWh, {shortfall_cause(need)}"
        console.print(Text(f"  {name}: {why}", style="yellow"))
    if len(worst) > UNMET_SHOWN:
        console.print(Text(f"  … and {len(worst) - UNMET_SHOWN:,} more", style="yellow"))
    sys.stderr.flush()

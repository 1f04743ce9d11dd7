"""``slackwater explain``, ``replay`` and ``diff``: what a saved plan has to tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import slackwater as sw
from slackwater._engine import InputError
from slackwater.cli.clock import Clock
from slackwater.cli.reasons import table_of
from slackwater.cli.screen import answers, titled
from slackwater.saved import AnyPlan, differences

DIFFERENT = 3
ROWS_SHOWN = 20
PERIOD = re.compile(r"(?P<list>[a-z_.]+)\[(?P<start>\d{4}-[^]]+)]\.(?P<field>\w+)")
# Price curves by where they stand: of one planner, of two curves, of a site.
CURVES = {
    "prices": "Prices",
    "prices.import": "Prices",
    "request.import_prices": "Prices",
    "prices.export": "Export prices",
    "request.export_prices": "Export prices",
}
# Energies of the slots of a plan.
ENERGIES = {
    "energy_kwh": "Charging",
    "charged_kwh": "Charging",
    "discharged_kwh": "Discharging",
    "import_kwh": "Import",
    "export_kwh": "Export",
}
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
# What follows from the slots of a plan, and would say the same again.
FOLLOWS = re.compile(
    r"plan\.(intervals|purchases|slots|certificate|request|sessions|free_request|free_plan|limits"
    r"|baseline|devices\[[^]]*]\.(power_kw|power_max_kw|soc_percent|intervals))\b"
)

Saved = Annotated[Path, typer.Argument(help="A plan that --save wrote.", metavar="FILE")]
Before = Annotated[Path, typer.Argument(help="A plan that --save wrote.", metavar="BEFORE")]
After = Annotated[Path, typer.Argument(help="Another saved plan.", metavar="AFTER")]
TimeZone = Annotated[
    str | None,
    typer.Option("--time-zone", help="IANA name of the zone of the output.", metavar="ZONE"),
]


def explain(file: Saved, *, time_zone: TimeZone = None) -> None:
    """Tell what a saved plan does, why, and how it is proved.

    Exit codes: 0 done, 2 the file is no saved plan.
    """
    clock = Clock(time_zone)
    plan = sw.load_plan(file)
    with _in_the_calendar(file):
        answers().print(Group(table_of(plan, clock), Text(), *_certificate(plan, clock)))


def _certificate(plan: AnyPlan, clock: Clock) -> Iterator[Text]:
    proof, money = plan.certificate, plan.currency
    yield Text("Certificate", style="bold")
    yield Text(
        f"  cost {proof.cost:.6g} {money}; no plan costs less than {proof.bound:.6g} {money}"
    )
    for each in plan.certificate.requirements if isinstance(plan, sw.Plan) else ():
        by = "the end of the prices" if each.by is None else clock.date(each.by)
        wanted = f"{each.energy_kwh:.2f} kWh before {by}"
        yield Text(f"  {wanted}: one more would cost {each.marginal_price_per_kwh:.4f} {money}")


def replay(file: Saved) -> int:
    """Plan a saved plan again and compare, byte by byte.

    Exit codes: 0 the plan is the same, 2 the file is no saved plan, 3 the plan
    differs.
    """
    found = sw.replay(file)
    versions = _versions(found)
    if found.same:
        text = f"The {found.kind} plan in {file} comes out the same, byte by byte."
        answers().print(Group(Text(text, style="green"), *versions), soft_wrap=True)
        return 0
    head = f"The {found.kind} plan in {file} comes out different."
    answers().print(Group(Text(head, style="bold red"), *versions), soft_wrap=True)
    answers().print(_places(found.differences, "saved", "now"))
    return DIFFERENT


def _versions(found: sw.Replay) -> list[Text]:
    pairs = [
        ("engine", found.engine_version, found.engine_version_now),
        ("time zone tables", found.time_zone_version, found.time_zone_version_now),
    ]
    return [
        Text(f"The file is of {what} {saved}, this is {now}.", style="yellow")
        for what, saved, now in pairs
        if saved != now
    ]


def diff(before: Before, after: After, *, time_zone: TimeZone = None) -> int:
    """Show what differs between two saved plans: inputs, periods and cost.

    Exit codes: 0 nothing differs, 2 a file is no saved plan, 3 the plans
    differ.
    """
    clock = Clock(time_zone)
    plans = sw.load_plan(before), sw.load_plan(after)
    found = differences(*plans)
    if not found:
        answers().print(Text("The plans and all their inputs are the same.", style="green"))
        return 0
    with _in_the_calendar(before):
        answers().print(Group(*_sections(found, plans, clock)))
    return DIFFERENT


def _sections(
    found: Sequence[sw.Difference], plans: tuple[AnyPlan, AnyPlan], clock: Clock
) -> Iterator[RenderableType]:
    money = " and ".join(dict.fromkeys(plan.currency for plan in plans))
    if inputs := [each for each in found if _is_input(each.path)]:
        # What layers say of prices comes after what was asked.
        inputs.sort(key=lambda each: each.path.startswith("layers."))
        yield _places(inputs, "before", "after", title="Inputs", clock=clock)
    for place, name in CURVES.items():
        if prices := list(_periods(found, place, "price_per_kwh")):
            title = f"{name}, {money}/kWh, {clock.name}"
            yield _over_time(prices, title, clock, lambda value: f"{value:.4f}")
    energies = []
    for field, name in ENERGIES.items():
        if rows := [each for each in _periods(found, "plan.slots", field) if each.counts]:
            energies += rows
            title = f"{name}, kWh, {clock.name}"
            yield _over_time(rows, title, clock, lambda value: f"{value:.2f}")
    results = [each for each in found if each.path.startswith("plan.")]
    if rest := [each for each in results if not FOLLOWS.match(each.path)]:
        yield _places(rest, "before", "after", title="Result", clock=clock, within="plan.")
    elif results and not energies:
        yield _places(results, "before", "after", title="Result", clock=clock, within="plan.")
    if not results:
        yield Text("The plan itself is the same.", style="green")


def _is_input(path: str) -> bool:
    period = PERIOD.fullmatch(path)
    return not path.startswith("plan.") and not (period and period["list"] in CURVES)


class _Period(NamedTuple):
    """A period in which a number differs."""

    start: datetime
    before: float | None
    after: float | None

    @property
    def counts(self) -> bool:
        """Whether there is something in it, before or after."""
        return bool(self.before or self.after)


def _periods(found: Iterable[sw.Difference], name: str, field: str) -> Iterator[_Period]:
    for each in found:
        place = PERIOD.fullmatch(each.path)
        if place and (place["list"], place["field"]) == (name, field):
            start = datetime.fromisoformat(place["start"])
            yield _Period(start, _number(each.before), _number(each.after))


def _number(value: bool | float | str | None) -> float | None:  # noqa: FBT001  what JSON can hold
    return float(value) if isinstance(value, int | float) else None


def _over_time(
    periods: Sequence[_Period], title: str, clock: Clock, text: Callable[[float], str]
) -> Table:
    table = titled(title)
    table.add_column("from", no_wrap=True)
    for head in ("before", "after"):
        table.add_column(head, justify="right", style="cyan")
    # Neighbours with the same two numbers say little: the first stands for them.
    groups = [list(same) for _, same in groupby(periods, key=lambda each: each[1:])]
    for same in groups[:ROWS_SHOWN]:
        more = f"  and {len(same) - 1} more" if len(same) > 1 else ""
        cells = ["-" if value is None else text(value) for value in same[0][1:]]
        table.add_row(clock.date(same[0].start) + more, *cells)
    _cut(table, len(groups))
    return table


def _places(
    found: Sequence[sw.Difference],
    before: str,
    after: str,
    *,
    title: str = "",
    clock: Clock | None = None,
    within: str = "",
) -> Table:
    """A row for each place; times as they are saved, or on a clock."""
    table = titled(title)
    table.add_column("place")
    table.add_column(before, justify="right", style="cyan")
    table.add_column(after, justify="right", style="cyan")
    for each in found[:ROWS_SHOWN]:
        place = each.path.removeprefix(within)
        table.add_row(place, _cell(each.before, clock), _cell(each.after, clock))
    _cut(table, len(found))
    return table


def _cell(value: bool | float | str | None, clock: Clock | None) -> str:  # noqa: FBT001  from JSON
    if isinstance(value, str) and clock and INSTANT.fullmatch(value):
        return clock.iso(datetime.fromisoformat(value))
    return "-" if value is None else str(value)


def _cut(table: Table, rows: int) -> None:
    if rows > ROWS_SHOWN:
        table.add_row(f"… and {rows - ROWS_SHOWN} more", style="dim")


@contextmanager
def _in_the_calendar(file: Path) -> Iterator[None]:
    """Refuse times that the wall clock of a zone cannot show."""
    try:
        yield
    except OverflowError:
        raise InputError(f"{file}: a time lies outside the years 1 to 9999 there") from None

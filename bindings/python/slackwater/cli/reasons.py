"""Saved plans of batteries, of devices that switch and of sites on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import slackwater as sw
from slackwater import _view
from slackwater.cli.clock import Clock
from slackwater.cli.plan_output import Answer
from slackwater.cli.screen import amount, titled
from slackwater.saved import AnyPlan


class _Told(NamedTuple):
    """What the screen shows of a plan.

    Attributes:
        title: What the plan is.
        heads: Names of the columns after the time.
        rows: A row for each reason.
        facts: Figures and proof in words.
        missing: Wishes that are not met, in words.
        sentences: A sentence for each reason.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    facts: Sequence[str]
    missing: Sequence[str]
    sentences: Iterable[str]


def table_of(plan: AnyPlan, clock: Clock) -> RenderableType:
    """A plan of any kind with a row and a sentence for each of its reasons."""
    match plan:
        case sw.StoragePlan():
            return _shown(_storage(plan, clock), clock)
        case sw.HeatPlan():
            return _shown(_heat(plan, clock), clock)
        case sw.SwitchingPlan():
            return _shown(_switching(plan, clock), clock)
        case sw.SitePlan():
            return _shown(_site(plan, clock), clock)
        case sw.CapacityPlan():
            return _shown(_capacity(plan, clock), clock)
        case _:
            return Answer(plan, clock, plan.now, (), with_reasons=True).table()


def _heat(plan: sw.HeatPlan, clock: Clock) -> _Told:
    reasons = plan.explain(time_zone=clock.name)
    rows = [
        (
            clock.span(each.start, each.end),
            amount(each.used_kwh),
            amount(each.temperature_celsius),
            amount(each.cost),
            _words(each.code),
        )
        for each in reasons
    ]
    return _Told(
        "Heat plan",
        ("kWh", "°C", plan.currency, "reason"),
        rows,
        (_view.heat_headline(plan), _view.heat_proof(plan)),
        _view.heat_missing(plan),
        (each.sentence for each in reasons),
    )


def _storage(plan: sw.StoragePlan, clock: Clock) -> _Told:
    reasons = plan.explain(time_zone=clock.name)
    rows = [
        (
            clock.span(each.start, each.end),
            amount(each.energy_kwh),
            _range(each.price_min_per_kwh, each.price_max_per_kwh),
            amount(each.cost),
            _words(each.code),
        )
        for each in reasons
    ]
    return _Told(
        "Storage plan",
        ("kWh", f"{plan.currency}/kWh", plan.currency, "reason"),
        rows,
        (_view.storage_headline(plan), _view.storage_proof(plan)),
        _view.storage_missing(plan),
        (each.sentence for each in reasons),
    )


def _switching(plan: sw.SwitchingPlan, clock: Clock) -> _Told:
    reasons = plan.explain(time_zone=clock.name)
    rows = [
        (
            clock.span(each.start, each.end),
            amount(each.energy_kwh),
            _range(each.price_max_per_kwh, each.price_max_per_kwh),
            amount(each.cost),
            _words(each.code),
        )
        for each in reasons
    ]
    cost, starts = amount(plan.cost), amount(plan.start_costs)
    sessions = _view.counted(len(plan.sessions), "session")
    return _Told(
        "Switching plan",
        ("kWh", f"{plan.currency}/kWh up to", plan.currency, "reason"),
        rows,
        (
            f"{plan.energy_kwh:.2f} kWh for {cost} {plan.currency} in {sessions}",
            f"starts cost {starts} {plan.currency}",
            "proved optimal" if plan.certificate.is_proved else "not proved",
        ),
        [f"not kept: {_words(wish.wish)}" for wish in plan.unmet],
        (each.sentence for each in reasons),
    )


def _site(plan: sw.SitePlan, clock: Clock) -> _Told:
    reasons = plan.explain(time_zone=clock.name)
    rows = [
        (
            clock.span(each.start, each.end),
            each.device or "",
            amount(each.energy_kwh),
            _range(each.price_max_per_kwh, each.price_max_per_kwh),
            _words(each.code),
        )
        for each in reasons
    ]
    missing = [
        f"{device.name}: {_view.energy(device.shortfall_kwh)} short of its targets"
        for device in plan.devices
        if device.shortfall_kwh > 0
    ]
    return _Told(
        "Site plan",
        ("device", "kWh", f"{plan.currency}/kWh up to", "reason"),
        rows,
        (_view.site_headline(plan), *_view.site_facts(plan)),
        missing,
        (each.sentence for each in reasons),
    )


def _capacity(plan: sw.CapacityPlan, clock: Clock) -> _Told:
    reasons = plan.explain(time_zone=clock.name)
    rows = [
        (
            clock.span(each.start, each.end),
            amount(each.energy_kwh),
            "" if each.level_kw is None else amount(each.level_kw),
            _words(each.code),
        )
        for each in reasons
    ]
    return _Told(
        "Plan under a price of power",
        ("kWh", "up to kW", "reason"),
        rows,
        (_view.capacity_headline(plan), _view.capacity_proof(plan)),
        _view.capacity_missing(plan),
        (each.sentence for each in reasons),
    )


def _shown(told: _Told, clock: Clock) -> Group:
    parts: list[RenderableType] = [_rows(told, clock), Text()]
    parts.append(Text("; ".join(told.facts) + "."))
    parts += [Text(f"{each}.", style="bold red") for each in told.missing]
    parts += [Text(), Text("Why", style="bold")]
    parts += [Padding(Text(f"• {each}"), (0, 0, 0, 2)) for each in told.sentences]
    return Group(*parts)


def _rows(told: _Told, clock: Clock) -> Table | Text:
    if not told.rows:
        return Text("Nothing is done.", style="bold")
    table = titled(f"{told.title}, {clock.name}")
    table.add_column("when", no_wrap=True)
    for head in told.heads:
        is_text = head in {"reason", "device"}
        table.add_column(head, justify="left" if is_text else "right")
    for row in told.rows:
        table.add_row(*row)
    return table


def _range(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return ""
    low, high = f"{least:.4f}", f"{most:.4f}"
    return low if low == high else f"{low} to {high}"


def _words(code: str) -> str:
    return code.replace("_", " ")

"""Plans as HTML of one piece: cells of notebooks, and pages without a network.

Cells have no script and no style sheet, because notebooks of unknown origin lose them: text takes
the colour of the page, and hues stand out from white and from black. Pages follow the light or
dark theme of their reader, and tell the values of the slot under the pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from slackwater import _svg, _view
from slackwater._engine import __version__
from slackwater._palette import INKS, MET, MISSED, REASONS, Ink, Theme, check_theme
from slackwater._timeline import Picture

if TYPE_CHECKING:
    from slackwater._engine import SiteWish, StorageOutcome, TargetOutcome
    from slackwater.bills import Bill
    from slackwater.capacity import CapacityPlan
    from slackwater.heat import HeatPlan
    from slackwater.plan import Plan
    from slackwater.site import SitePlan
    from slackwater.storage import StoragePlan
    from slackwater.switching import SwitchingPlan

ROWS_MAX = 12
WIDE, NARROW = 1000.0, 330.0
CAUSES = {
    "own_limits": "too slow alone",
    "charge_limit": "above its charge limit",
    "no_price": "no price is known",
    "priority": "others weigh more",
}

_BOX = "max-width:45em;line-height:1.45;color:inherit"
_LINE = "margin:0 0 0.3em 0"
_CELL = "padding:0.15em 0.9em 0.15em 0;border:none;background:none"
_RULE = "border-bottom:1px solid rgba(128,128,128,0.45)"


def card(picture: Picture, sections: Iterable[str]) -> str:
    """Draw a picture and what belongs to it for a cell of a notebook."""
    head = escape(picture.title)
    if picture.warning:
        head += f" {_badge('✗', MISSED)} {escape(picture.warning)}"
    facts = escape(" · ".join([*picture.facts, picture.axis]))
    drawing = f'<p style="{_LINE};font-size:0.9em">{_svg.legend(picture)}</p>{_svg.svg(picture)}'
    return (
        f'<div style="{_BOX}">'
        f'<p style="{_LINE};font-size:1.15em"><strong>{head}</strong></p>'
        f'<p style="{_LINE}">{facts}</p>'
        f"{drawing if picture.period else ''}{''.join(sections)}</div>"
    )


def page(
    picture: Picture, sections: Iterable[str], *, theme: Theme = "auto", interactive: bool = True
) -> str:
    """Draw a picture and what belongs to it as a document of its own."""
    warning = f'<p class="warning">✗ {escape(picture.warning)}</p>' if picture.warning else ""
    body = f"{warning}<section>{chart(picture, interactive=interactive)}</section>" * bool(
        picture.period or warning
    )
    body += "".join(f"<section>{section}</section>" for section in sections if section)
    facts = " · ".join([*picture.facts, picture.axis])
    return document(picture.title, facts, body, theme=theme, interactive=interactive)


def document(
    title: str, subtitle: str, body: str, *, theme: Theme = "auto", interactive: bool = True
) -> str:
    """Put a body into the page that all documents have."""
    check_theme(theme)
    fills = {
        "title": escape(title),
        "subtitle": escape(subtitle),
        "scheme": "light dark" if theme == "auto" else theme,
        "palette": _palette(theme),
        "version": escape(__version__),
        "script": f"<script>{_resource('page.js')}</script>" if interactive else "",
        "body": body,
    }
    return re.sub(r"{{(\w+)}}", lambda found: fills[found[1]], _resource("page.html"))


def chart(picture: Picture, *, interactive: bool = True) -> str:
    """A drawing for wide and one for narrow windows, with the values for the script."""
    if picture.period is None:
        return ""
    wide, narrow = (_svg.svg(picture, width=width) for width in (WIDE, NARROW))
    data = f' data-values="{escape(_svg.values(picture), quote=True)}"' if interactive else ""
    return (
        f'<p class="legend">{_svg.legend(picture)}</p>'
        f'<div class="chart" data-left="{_svg.LEFT}" data-right="{_svg.RIGHT}"{data}>'
        f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
        '<div class="tip" hidden></div></div>'
    )


def _resource(name: str) -> str:
    return files("slackwater").joinpath(name).read_text(encoding="utf-8")


def _palette(theme: Theme) -> str:
    """Style sheet of the inks; by default that of the reader's theme."""
    light, dark = (
        ":root{" + "".join(f"--{ink.name}:{ink.on(paper)};" for ink in INKS) + shade + "}"
        for paper, shade in (("light", "--page:#f6f7f7;"), ("dark", "--page:#101417;"))
    )
    rules = "".join(f".ink-{ink.name}{{color:var(--{ink.name});opacity:1}}" for ink in INKS)
    if theme == "auto":
        return f"{light}@media (prefers-color-scheme:dark){{{dark}}}{rules}"
    return (dark if theme == "dark" else light) + rules


# --------------------------------------------------------------------------- parts


def _badge(sign: str, colour: Ink) -> str:
    """A sign that the words after it say again, so it is hidden from screen readers."""
    return f'<span aria-hidden="true" style="color:{colour.light};font-weight:bold">{sign}</span>'


def _outcome(text: str, *, is_met: bool) -> str:
    sign, colour = ("✓", MET) if is_met else ("✗", MISSED)
    return f"{_badge(sign, colour)} {escape(text)}"


def _list(items: Sequence[str], source: str, *, style: str = "") -> str:
    """The first items of a list of markup, and how many more there are."""
    if not items:
        return ""
    rest = len(items) - ROWS_MAX
    more = f"<li>and {rest} more in <code>{source}</code></li>" if rest > 0 else ""
    shown = "".join(f"<li>{item}</li>" for item in items[:ROWS_MAX])
    return f'<ul style="margin:0.3em 0;{style}">{shown}{more}</ul>'


def _targets(items: Sequence[str]) -> str:
    return _list(items, "plan.targets", style="padding:0;list-style:none")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], source: str) -> str:
    """Rows of markup: the first cell names the row, numbers stand on the right."""
    if not rows:
        return ""
    sides = ["right" if name.rstrip(")").endswith(("kWh", "#")) else "left" for name in columns]
    head = "".join(
        f'<th scope="col" style="{_CELL};{_RULE};text-align:{side}">{escape(name.rstrip("#"))}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = "".join(f"<tr>{_cells(row, sides)}</tr>" for row in rows[:ROWS_MAX])
    rest = len(rows) - ROWS_MAX
    more = f'<p style="{_LINE}">and {rest} more in <code>{source}</code></p>' if rest > 0 else ""
    return (
        '<table style="border-collapse:collapse;margin:0.4em 0;border:none;font-size:inherit;'
        'font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _cells(row: Sequence[str], sides: Sequence[str]) -> str:
    first = f'<th scope="row" style="{_CELL};text-align:left;font-weight:normal">{row[0]}</th>'
    others = zip(row[1:], sides[1:], strict=True)
    return first + "".join(f'<td style="{_CELL};text-align:{side}">{c}</td>' for c, side in others)


def _moment(at: datetime | None, zone: ZoneInfo, otherwise: str) -> str:
    if at is None:
        return otherwise
    local = at.astimezone(zone)
    return f"{_view.day(local)} {local:%H:%M}"


# --------------------------------------------------------------- sections of each plan


def plan_sections(plan: Plan, zone: ZoneInfo) -> list[str]:
    """Targets, a row for each period of charging, and all sentences."""
    reasons = plan.explain(time_zone=zone.key)
    rows = []
    for reason in _view.charging(reasons):
        look = REASONS[reason.code]
        when = escape(_view.span(reason.start, reason.end, zone))
        amounts = (_view.amount(value, 2) for value in (reason.energy_kwh, reason.cost))
        rows.append([when, *amounts, f"{_svg.swatch(look.ink)} {escape(look.label)}"])
    names = (f"Charging ({zone.key})", "kWh", f"Cost ({plan.currency})#", "Why")
    sentences = "".join(
        f"<li>{escape(reason.sentence)}</li>" for reason in list(reasons)[:ROWS_MAX]
    )
    in_full = f"<details><summary>The reasons in full</summary><ul>{sentences}</ul></details>"
    return [
        _targets([_target(target, zone) for target in plan.targets]),
        _table(names, rows, "plan.explain()"),
        in_full if reasons else "",
    ]


def _target(target: TargetOutcome, zone: ZoneInfo) -> str:
    by = _moment(target.by, zone, "the end of the prices")
    text = f"{_view.energy(target.wanted_kwh)} by {by}"
    if target.shortfall_kwh == 0:
        return _outcome(f"{text}: met", is_met=True)
    at = _moment(target.reached_at, zone, "")
    late = f"reached {at}" if at else "never reached"
    return _outcome(f"{text}: missed, {_view.missing(target)}, {late}", is_met=False)


def storage_sections(plan: StoragePlan, zone: ZoneInfo) -> list[str]:
    """Targets, and a row for each period of charging and discharging."""
    rows = [
        [
            escape(_view.span(reason.start, reason.end, zone)),
            _view.amount(reason.energy_kwh, 2),
            _view.amount(reason.cost, 2),
            escape(reason.sentence.partition(", ")[2]),
        ]
        for reason in plan.explain(time_zone=zone.key)
    ]
    names = (f"Period ({zone.key})", "kWh", f"Cost ({plan.currency})#", "Why")
    targets = [_storage_target(target, zone) for target in plan.targets]
    return [_targets(targets), _table(names, rows, "plan.explain()")]


def heat_sections(plan: HeatPlan, zone: ZoneInfo) -> list[str]:
    """A row for each period in which the unit runs."""
    rows = [
        [
            escape(_view.span(reason.start, reason.end, zone)),
            _view.amount(reason.used_kwh, 2),
            _view.amount(reason.cost, 2),
            escape(reason.sentence.partition(", ")[2]),
        ]
        for reason in plan.explain(time_zone=zone.key)
    ]
    names = (f"Period ({zone.key})", "kWh", f"Cost ({plan.currency})#", "Why")
    return [_table(names, rows, "plan.explain()")]


def capacity_sections(plan: CapacityPlan, zone: ZoneInfo) -> list[str]:
    """A row for each period in which the battery runs."""
    rows = [
        [
            escape(_view.span(reason.start, reason.end, zone)),
            _view.amount(reason.energy_kwh, 2),
            escape(reason.sentence.partition(": ")[2]),
        ]
        for reason in plan.explain(time_zone=zone.key)
    ]
    names = (f"Period ({zone.key})", "kWh", "Why")
    return [_table(names, rows, "plan.explain()")]


def bill_sections(bill: Bill) -> list[str]:
    """A row for each line of a bill."""
    rows = [
        [
            escape(f"{line.month} {line.component}"),
            f"{_view.amount(line.quantity, 2)} {escape(line.unit)}",
            _view.amount(line.amount, 2),
            escape(line.explanation),
        ]
        for line in bill.lines
    ]
    names = ("Line", "Quantity", f"Amount ({bill.currency})#", "Why")
    return [_table(names, rows, "bill.explain()")]


def _storage_target(target: StorageOutcome, zone: ZoneInfo) -> str:
    by = _moment(target.by, zone, "the end")
    text = f"{_view.number(target.wanted_percent, 0)} % by {by}"
    if target.shortfall_kwh == 0:
        return _outcome(f"{text}: met", is_met=True)
    return _outcome(f"{text}: missed, {_view.missing(target)}", is_met=False)


def switching_sections(plan: SwitchingPlan, zone: ZoneInfo) -> list[str]:
    """Targets, and a sentence for each period."""
    sentences = [escape(reason.sentence) for reason in plan.explain(time_zone=zone.key)]
    targets = [_target(target, zone) for target in plan.targets]
    return [_targets(targets), _list(sentences, "plan.explain()", style="padding:0 0 0 1.2em")]


def site_sections(plan: SitePlan, zone: ZoneInfo) -> list[str]:
    """A row for each device, and each breach of a limit."""
    rows = [
        [
            escape(device.name),
            *(
                _view.amount(value, 2)
                for value in (device.energy_kwh, device.fed_kwh, device.shortfall_kwh)
            ),
            escape("; ".join(filter(None, map(_causes, device.wishes)))),
        ]
        for device in plan.devices
    ]
    names = ("Device", "Takes (kWh)", "Feeds (kWh)", "Missing (kWh)", "Because of")
    breaches = []
    for breach in plan.breaches:
        name = f"{breach.name} {breach.phase or ''}".strip()
        at = f"{_moment(breach.start, zone, '')} {zone.key}"
        above = f"{_view.number(breach.excess_kw)} kW above {breach.limit_kw:g} kW"
        breaches.append(escape(f"{name}: {above} at {at}"))
    return [_table(names, rows, "plan.devices"), _list(breaches, "plan.breaches")]


def _causes(wish: SiteWish) -> str:
    """Name the causes of an unmet target."""
    return ", ".join(
        f"{why.limit} {why.phase or ''}".strip() if why.code == "limit" else CAUSES[why.code]
        for why in wish.causes
    )

"""What all drawings of a plan share: words, colours, and the period in view."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from slackwater._engine import Reason, SourceShare, StorageOutcome, TargetOutcome
    from slackwater.plan import Plan
    from slackwater.site import SitePlan
    from slackwater.storage import StoragePlan

MARGIN_MIN = timedelta(minutes=15)
MARGIN_MAX = timedelta(hours=12)
LOOK_BACK = timedelta(hours=6)
OPEN_END_MAX = timedelta(days=8)


class Look(NamedTuple):
    """How a reason for charging is drawn."""

    label: str
    colour: str


# Found by search: under each kind of colour blindness any two differ by 25 or
# more in CIELAB, and each has a contrast of 3 to 1 on white and on black paper.
LOOKS = {
    "reserve": Look("reserve, at once", "#cf8202"),
    "missed_deadline": Look("for a missed deadline", "#b52e25"),
    "deadline": Look("needed by a deadline", "#9d3ca8"),
    "below_marginal_price": Look("among the cheapest", "#1f63dd"),
    "negative_price": Look("paid to charge", "#1fa673"),
    "kept": Look("as planned before", "#77716a"),
}
MET_COLOUR = "#12825a"
MISSED_COLOUR = "#b52e25"


class Marker(NamedTuple):
    """A target in a drawing.

    Attributes:
        at: Its deadline, moved into view if it lies outside.
        wanted_kwh: Energy wanted by then.
        missing_kwh: Energy missing by then; 0 if the target is met.
        reached_at: When the target is reached, if ever.
        due: The deadline itself, if it lies before the view.
    """

    at: datetime
    wanted_kwh: float
    missing_kwh: float
    reached_at: datetime | None
    due: datetime | None

    @property
    def is_met(self) -> bool:
        """Whether the target is reached by its deadline."""
        return self.missing_kwh == 0


class View(NamedTuple):
    """The part of a plan that is worth drawing.

    Attributes:
        start: First instant of the plan.
        end: Last deadline, or end of charging if that is later.
        margin: Time to show before and after it.
        steps: Known prices as ``(start, end, price_per_kwh)``, margins
            included, oldest first.
        unpriced: Periods in view without a price.
        markers: The targets.
    """

    start: datetime
    end: datetime
    margin: timedelta
    steps: list[tuple[datetime, datetime, float]]
    unpriced: list[tuple[datetime, datetime]]
    markers: list[Marker]


def view_of(plan: Plan) -> View | None:
    """Choose what to draw: from the plan's start to its last deadline, not the year around it."""
    period = _period(plan)
    if period is None:
        return None
    start, end = period
    margin = min(max((end - start) / 25, MARGIN_MIN), MARGIN_MAX)
    first, last = start - margin, end + margin
    steps = plan.prices.between(first, last).slots
    markers = [
        Marker(
            at=min(max(target.by or end, start), end),
            wanted_kwh=target.wanted_kwh,
            missing_kwh=target.shortfall_kwh,
            reached_at=target.reached_at,
            due=target.by if target.by is not None and target.by < start else None,
        )
        for target in plan.targets
    ]
    return View(start, end, margin, steps, _unpriced(steps, first, last), markers)


def _period(plan: Plan) -> tuple[datetime, datetime] | None:
    deadlines = [target.by for target in plan.targets if target.by is not None]
    if not plan.slots:
        if deadlines:
            return min(deadlines) - LOOK_BACK, max(deadlines)
        known = plan.prices.slots
        if not known:
            return None
        start = known[0][0]
        return start, min(known[-1][1], start + timedelta(days=1))
    start = plan.slots[0].start
    ends = [plan.slots[0].end, *deadlines, *(interval.end for interval in plan.intervals[-1:])]
    # A target without a deadline may use all prices there are, but a year is no picture.
    is_open = len(deadlines) < len(plan.targets)
    if is_open and plan.slots[-1].end - start <= OPEN_END_MAX:
        ends.append(plan.slots[-1].end)
    return start, max(ends)


def _unpriced(
    steps: list[tuple[datetime, datetime, float]], first: datetime, last: datetime
) -> list[tuple[datetime, datetime]]:
    ends = [first, *(end for _, end, _ in steps)]
    starts = [*(start for start, _, _ in steps), last]
    return [(end, start) for end, start in zip(ends, starts, strict=True) if end < start]


def number(value: float, digits: int = 2) -> str:
    """Write a number with so many decimals, or with two that count if it is small."""
    if value == 0 or abs(value) >= 10.0**-digits * 10:
        text = f"{value:.{digits}f}"
    else:
        text = f"{value:.2g}" if abs(value) >= 1e-6 else "0"
    return "0" if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def fixed(value: float) -> str:
    """Write a number for a column: always with two decimals."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "\N{MINUS SIGN}")


def energy(kwh: float) -> str:
    """Write an energy with its unit."""
    text = number(kwh, 1)
    return f"{text.removesuffix('.0')} kWh"


def intervals(count: int) -> str:
    """Write a number of intervals."""
    return "1 interval" if count == 1 else f"{count} intervals"


def sessions(count: int) -> str:
    """Write a number of sessions."""
    return "1 session" if count == 1 else f"{count} sessions"


def unpriced(plan: Plan | StoragePlan | SitePlan) -> list[str]:
    """Tell the time without a price, if there is any."""
    hours = number(plan.unpriced_hours, 1).removesuffix(".0")
    return [f"{hours} h without a price"] if plan.unpriced_hours > 0 else []


def on_estimates(plan: Plan | StoragePlan | SitePlan) -> list[str]:
    """Tell what is bought and sold at prices that are guesses, and whose, if anything is."""
    sold = getattr(plan, "export_sources", [])
    return _guesses(plan.sources, "on estimates") + _guesses(sold, "sold on estimates")


def _guesses(shares: list[SourceShare], words: str) -> list[str]:
    guesses = [share for share in shares if share.is_estimate and share.energy_kwh > 0]
    if not guesses:
        return []
    names = ", ".join(share.source for share in guesses)
    return [f"{energy(sum(share.energy_kwh for share in guesses))} {words} ({names})"]


def notes(plan: Plan | StoragePlan | SitePlan) -> list[str]:
    """Tell what rests on guesses, the time without a price, and what negative prices leave."""
    return on_estimates(plan) + unpriced(plan) + forgone(plan)


def forgone(plan: Plan | StoragePlan | SitePlan) -> list[str]:
    """Tell what is left at negative prices, if anything is: of plans of one vehicle."""
    revenue = getattr(plan, "forgone_revenue", 0.0)
    if number(revenue) == "0":
        return []
    return [f"up to {number(revenue)} {plan.currency} at negative prices not used"]


def proved(plan: Plan | StoragePlan | SitePlan) -> str:
    """Tell for which prices a plan is proved to be the cheapest."""
    return "optimal for these estimates" if on_estimates(plan) else "proved optimal"


def charging(reasons: list[Reason]) -> list[Reason]:
    """Reasons for charging, without those for time that has no price."""
    return [reason for reason in reasons if reason.code not in {"no_price", "negative_unused"}]


def headline(plan: Plan) -> str:
    """Tell energy, cost and savings, what is a guess, and the time without a price."""
    return ", ".join([_sums(plan), *notes(plan)])


def _sums(plan: Plan) -> str:
    if plan.energy_kwh == 0:
        return "Nothing is charged"
    currency = plan.currency
    text = f"{energy(plan.energy_kwh)} for {number(plan.cost)} {currency}"
    savings = number(plan.savings)
    if savings == "0":
        return text
    if plan.savings < 0:
        return f"{text}, {number(-plan.savings)} {currency} more than at once"
    return f"{text}, saves {savings} {currency}"


def missing(target: TargetOutcome | StorageOutcome) -> str:
    """Tell what a target misses, and what of it lies above the charge limit."""
    text = f"{energy(target.shortfall_kwh)} missing"
    if target.above_limit_kwh > 0:
        text += f" ({energy(target.above_limit_kwh)} above the charge limit)"
    return text


def shortfall(plan: Plan) -> str:
    """Tell what is missing, or nothing if all targets are met."""
    return f"{energy(plan.shortfall_kwh)} short of a target" if plan.shortfall_kwh > 0 else ""


def proof(plan: Plan) -> str:
    """Tell whether nothing cheaper is proved to exist, or what is kept costs more."""
    certificate = plan.certificate
    if not certificate.is_proved and plan.stability is not None:
        return f"kept for {number(certificate.gap)} {plan.currency} more than the cheapest"
    if not certificate.is_proved:
        return "not proved"
    return proved(plan)


def storage_headline(plan: StoragePlan) -> str:
    """Tell what a storage plan buys, sells and saves, guesses, and the time without a price."""
    if not plan.intervals:
        return ", ".join(["Nothing is charged or discharged", *notes(plan)])
    buys, sells = energy(plan.charged_kwh), energy(plan.discharged_kwh)
    saves = f"saves {number(plan.savings)} {plan.currency}"
    return ", ".join([f"Buys {buys}", f"sells {sells}", saves, *notes(plan)])


def storage_missing(plan: StoragePlan) -> list[str]:
    """Describe the unmet targets of a storage plan."""
    wishes = [
        (plan.shortfall_kwh, "short of a target"),
        (plan.floor_shortfall_kwh, "below the reserve at times"),
        (plan.unserved_kwh, "of driving not served"),
    ]
    return [f"{energy(missing)} {words}" for missing, words in wishes if missing > 0]


def storage_proof(plan: StoragePlan) -> str:
    """Tell whether nothing cheaper is proved to exist, and what may be left if not."""
    if plan.certificate.is_proved:
        return proved(plan)
    return f"within {number(plan.certificate.gap, 4)} {plan.currency} of the optimum"


def day(at: datetime) -> str:
    """Write a date as people say it, such as ``Mon 5 Jan``."""
    return f"{at:%a} {at.day} {at:%b}"


def clock(at: datetime, zone: ZoneInfo) -> str:
    """Write an instant on the clocks of a zone, such as ``Mon 07:00``."""
    return f"{at.astimezone(zone):%a %H:%M}"


def span(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """Write a period on the clocks of a zone, the date of its end only if it differs."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{day(last)} {last:%H:%M}"
    return f"{day(first)} {first:%H:%M} to {until}"

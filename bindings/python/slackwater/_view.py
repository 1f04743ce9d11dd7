"""Words about a plan, and the period of it that is worth drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slackwater._engine import InputError

if TYPE_CHECKING:
    from slackwater._engine import Reason, Shortfall, SourceShare, StorageOutcome, TargetOutcome
    from slackwater._saved_plan import SavedPlan
    from slackwater.capacity import CapacityPlan
    from slackwater.coordinate import AreaPlan
    from slackwater.heat import HeatPlan
    from slackwater.plan import Plan
    from slackwater.prices import Prices
    from slackwater.site import SitePlan
    from slackwater.storage import StoragePlan
    from slackwater.switching import SwitchingPlan

MARGIN_MIN = timedelta(minutes=15)
MARGIN_MAX = timedelta(hours=12)
LOOK_BACK = timedelta(hours=6)
OPEN_END_MAX = timedelta(days=8)
# Codes of reasons for what a plan does not do.
IDLE = {"no_price", "negative_unused", "stock_used"}


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


def zone_of(time_zone: str | ZoneInfo) -> ZoneInfo:
    """Read a time zone.

    Raises:
        InputError: It is no IANA time zone.
        TypeError: It is neither a name nor a ``ZoneInfo``.
    """
    name: object = time_zone.key if isinstance(time_zone, ZoneInfo) else time_zone
    if not isinstance(name, str):
        message = f"time_zone: {time_zone!r} is neither an IANA name nor a ZoneInfo with a key"
        raise TypeError(message)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        message = f"time_zone: {time_zone!r} is no IANA time zone such as Europe/Oslo"
        raise InputError(message) from None


def view_of(plan: Plan) -> View | None:
    """Choose what to draw: from the plan's start to its last deadline, not the year around it."""
    period = _period(plan)
    if period is None:
        return None
    start, end = period
    margin = min(max((end - start) / 25, MARGIN_MIN), MARGIN_MAX)
    first, last = start - margin, end + margin
    steps: list[tuple[datetime, datetime, float]] = [*plan.prices.between(first, last).slots]
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
    ends = [
        plan.slots[0].end,
        *deadlines,
        *(interval.end for interval in list(plan.intervals)[-1:]),
    ]
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
        text = f"{value:,.{digits}f}"
    else:
        text = f"{value:.2g}" if abs(value) >= 1e-6 else "0"
    return "0" if float(text.replace(",", "")) == 0 else text.replace("-", "\N{MINUS SIGN}")


def amount(value: float, digits: int | None = None) -> str:
    """Write a number for a column or an axis; without a count of decimals, fewer if it is large."""
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 else 1 if size >= 10 else 2
    text = f"{value:,.{digits}f}"
    is_zero = not text.strip("-0.,")
    return text.removeprefix("-") if is_zero else text.replace("-", "\N{MINUS SIGN}")


def energy(kwh: float) -> str:
    """Write an energy with its unit."""
    text = number(kwh, 1)
    return f"{text.removesuffix('.0')} kWh"


def counted(count: int, thing: str) -> str:
    """Write a number of things, which are called after one of them."""
    return f"1 {thing}" if count == 1 else f"{count:,} {thing}s"


def unpriced(
    plan: Plan | StoragePlan | HeatPlan | SitePlan | SwitchingPlan | CapacityPlan,
) -> list[str]:
    """Tell the time without a price, if there is any; all of it, if prices end before the plan."""
    hours = number(plan.unpriced_hours, 1).removesuffix(".0")
    if plan.unpriced_hours > 0:
        return [f"{hours} h without a price"]
    if plan.slots:
        return []
    ends = plan.prices._native.ends()
    # The request of a capacity plan has that of its storage inside.
    start = datetime.fromisoformat(plan.request.get("storage", plan.request)["now"])
    return ["prices end before it starts"] if ends is None or ends[1] <= start else []


def on_estimates(
    plan: Plan | StoragePlan | HeatPlan | SitePlan | SwitchingPlan | CapacityPlan,
) -> list[str]:
    """Tell what is bought and sold at prices that are guesses, and whose, if anything is."""
    sold = getattr(plan, "export_sources", [])
    return _guesses(plan.sources, "on estimates") + _guesses(sold, "sold on estimates")


def _guesses(shares: list[SourceShare], words: str) -> list[str]:
    guesses = [share for share in shares if share.is_estimate and share.energy_kwh > 0]
    if not guesses:
        return []
    names = ", ".join(share.source for share in guesses)
    return [f"{energy(sum(share.energy_kwh for share in guesses))} {words} ({names})"]


def emissions(plan: SavedPlan) -> list[str]:
    """Tell emissions and their part of the cost beside those of the baseline, where known."""
    kg, baseline_kg, cost = plan.carbon_kg, plan.baseline_carbon_kg, plan.carbon_cost
    if kg is None or baseline_kg is None or cost is None:
        return []
    own = f"{number(kg, 1)} kg CO2, {number(cost)} {plan.currency} of the cost"
    return [f"{own} (baseline {number(baseline_kg, 1)} kg)"]


def notes(plan: Plan | StoragePlan | HeatPlan | SitePlan) -> list[str]:
    """Tell guesses, the time without a price, stock that is used up, and what is not earned."""
    return on_estimates(plan) + unpriced(plan) + stock_used(plan) + forgone(plan)


def stock_used(plan: Plan | StoragePlan | HeatPlan | SitePlan) -> list[str]:
    """Tell the stored energy of the start that is sold, if any is: it counts as savings."""
    kwh = getattr(plan, "stock_used_kwh", 0.0)
    return [_stock_used(kwh)] if kwh > 0 else []


def _stock_used(kwh: float) -> str:
    return f"{energy(kwh)} of stock used up"


def area_notes(plan: AreaPlan) -> list[str]:
    """Tell guesses of the plan of an area, time without a price, and what is not earned."""
    bought, sold = (f" ({', '.join(names)})" if names else "" for names in plan._guesses())
    shares = [
        (plan.energy_on_estimates_kwh, f"on estimates{bought}"),
        (plan.sold_on_estimates_kwh, f"sold on estimates{sold}"),
    ]
    words = [f"{energy(kwh)} {what}" for kwh, what in shares if kwh > 0]
    if plan.unpriced_hours > 0:
        words.append(unpriced_stays(plan.unpriced_hours))
    return words + forgone(plan)


def unpriced_stays(hours: float) -> str:
    """Tell the most hours of a stay that have no price."""
    return f"stays with up to {number(hours, 1).removesuffix('.0')} h without a price"


def estimated(curves: Iterable[Prices]) -> list[str]:
    """Tell whose estimates stand among some prices, if any do."""
    sources = [row for prices in curves for row in prices.provenance]
    names = dict.fromkeys(source for _, _, _, source, is_estimate in sources if is_estimate)
    return [f"on estimates ({', '.join(names)})"] if names else []


def shortfall_cause(need: Shortfall) -> str:
    """Tell why a vehicle of an area is short: a limit, prices that are missing, or its stay."""
    if need.node is not None:
        return f"limit of {need.node}"
    return "no price known" if need.cause == "no_price" else "own limits"


def table_notes(totals: Mapping[str, tuple[float, int]], currency: str) -> list[str]:
    """Tell shortfalls, guesses, time without a price, stock used up, and what is not earned.

    Each column of a table of plans comes with its sum and the number of its rows above 0.
    """
    none = (0.0, 0)
    shares = [
        (totals.get("energy_on_estimates_kwh", none), "on estimates"),
        (totals.get("sold_on_estimates_kwh", none), "sold on estimates"),
    ]
    _, short = totals.get("shortfall_kwh", none)
    words = [f"{short:,} short"] if short else []
    words += [
        f"{energy(kwh)} {what} in {counted(count, 'plan')}"
        for (kwh, count), what in shares
        if count
    ]
    _, unpriced_plans = totals.get("unpriced_hours", none)
    if unpriced_plans:
        words.append(f"{counted(unpriced_plans, 'plan')} with hours without a price")
    stock_kwh, _ = totals.get("stock_used_kwh", none)
    if stock_kwh > 0:
        words.append(_stock_used(stock_kwh))
    revenue, _ = totals.get("forgone_revenue", none)
    return words + _forgone(revenue, currency)


def forgone(
    plan: Plan | StoragePlan | HeatPlan | SitePlan | SwitchingPlan | AreaPlan,
) -> list[str]:
    """Tell what is left at negative prices, if anything is."""
    return _forgone(getattr(plan, "forgone_revenue", 0.0), plan.currency)


def _forgone(revenue: float, currency: str) -> list[str]:
    if number(revenue) == "0":
        return []
    return [f"up to {number(revenue)} {currency} at negative prices not used"]


def proved(
    plan: Plan | StoragePlan | HeatPlan | SitePlan | SwitchingPlan | CapacityPlan,
) -> str:
    """Tell for which prices a plan is proved to be the cheapest."""
    return "optimal for these estimates" if on_estimates(plan) else "proved optimal"


def charging(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons for charging, without those for time that has no price."""
    return [reason for reason in reasons if reason.code not in IDLE]


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
        return f"{text}, {number(-plan.savings)} {currency} more than the baseline"
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


def readings_missing(periods: int) -> str:
    """Tell how many periods of a bill have no readings; empty if none."""
    if periods == 0:
        return ""
    return "1 period without readings" if periods == 1 else f"{periods} periods without readings"


def heat_headline(plan: HeatPlan) -> str:
    """Tell what a heat plan uses, costs and saves, guesses, and the time without a price."""
    uses = f"Uses {energy(plan.used_kwh)} for {number(plan.cost)} {plan.currency}"
    return ", ".join([uses, f"saves {number(plan.savings)} {plan.currency}", *notes(plan)])


def heat_missing(plan: HeatPlan) -> list[str]:
    """Describe the degree-hours of a heat plan outside its band."""
    sides = [(plan.below_celsius_hours, "below"), (plan.above_celsius_hours, "above")]
    return [f"{degrees:.3g} °C·h {side} the band" for degrees, side in sides if degrees > 0]


def site_discomfort(plan: SitePlan) -> list[str]:
    """Describe the degree-hours of all heat units of a site outside their bands."""
    rooms = [device.heat for device in plan.devices if device.heat is not None]
    sides = [
        (sum(room.below_celsius_hours for room in rooms), "below"),
        (sum(room.above_celsius_hours for room in rooms), "above"),
    ]
    return [f"{degrees:.3g} °C·h {side} the band" for degrees, side in sides if degrees > 0]


def heat_proof(plan: HeatPlan) -> str:
    """Tell whether a heat plan is proved, or what another schedule may save."""
    if plan.certificate.is_proved:
        return proved(plan)
    if plan.certificate.on_off is None:
        return "not proved"
    return f"at most {number(plan.certificate.gap, 3)} {plan.currency} above the best"


def capacity_headline(plan: CapacityPlan) -> str:
    """Tell cost and savings under a price of power, what is a guess, and time without a price."""
    sums = f"{number(plan.cost.total)} {plan.currency} for energy and power"
    saves = f"saves {number(plan.savings)} {plan.currency}"
    return ", ".join([sums, saves, *on_estimates(plan), *unpriced(plan)])


def capacity_proof(plan: CapacityPlan) -> str:
    """Tell whether nothing cheaper is proved to exist under a price of power."""
    return proved(plan) if plan.certificate.is_proved else "not proved"


def capacity_missing(plan: CapacityPlan) -> list[str]:
    """Tell the energy that targets miss under a price of power, and that below the reserve."""
    missing = [
        (plan.shortfall_kwh, "short of a target"),
        (plan.floor_shortfall_kwh, "below the reserve"),
    ]
    return [f"{energy(kwh)} {words}" for kwh, words in missing if kwh > 0]


def switching_headline(plan: SwitchingPlan) -> str:
    """Tell energy, cost, sessions, what is a guess, time without a price, what is not earned."""
    sums = (
        f"{energy(plan.energy_kwh)} for {number(plan.cost)} {plan.currency} "
        f"in {counted(len(plan.sessions), 'session')}"
    )
    return ", ".join([sums, *on_estimates(plan), *unpriced(plan), *forgone(plan)])


def switching_facts(plan: SwitchingPlan) -> list[str]:
    """Tell the price of starts and of smoothness, the proof, and unmet wishes."""
    return [
        f"starts cost {number(plan.start_costs)} {plan.currency}",
        (
            f"smoothness costs {number(plan.smoothness_cost)} {plan.currency} "
            f"beside {counted(plan.free_sessions, 'session')}"
        ),
        proved(plan) if plan.certificate.is_proved else "not proved",
        *(f"not kept: {wish.wish}" for wish in plan.unmet),
    ]


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


def site_headline(plan: SitePlan) -> str:
    """Tell cost and savings of a site, what is a guess, and the time without a price."""
    return ", ".join([_site_sums(plan), *notes(plan)])


def _site_sums(plan: SitePlan) -> str:
    text = f"{number(plan.cost)} {plan.currency} for {counted(len(plan.devices), 'device')}"
    savings = number(plan.savings)
    if savings == "0":
        return text
    if plan.savings < 0:
        return f"{text}, {number(-plan.savings)} {plan.currency} more than without limits"
    return f"{text}, saves {savings} {plan.currency}"


def site_facts(plan: SitePlan) -> list[str]:
    """Tell proof, peak, shortfall, discomfort, breaches and the baseline's breaches."""
    above = f"at most {number(plan.gap, 3)} {plan.currency} above the best"
    words = [proved(plan) if plan.certificate.is_proved else above]
    hours = ((slot.end - slot.start) / timedelta(hours=1) for slot in plan.slots)
    powers = [slot.import_kwh / length for slot, length in zip(plan.slots, hours, strict=True)]
    if powers:
        baseline = number(plan.baseline.import_max_kw, 0)
        words.append(f"import peak {number(max(powers), 0)} kW (baseline {baseline} kW)")
    if plan.shortfall_kwh > 0:
        words.append(f"{energy(plan.shortfall_kwh)} short of targets")
    words += site_discomfort(plan)
    if plan.breaches:
        words.append(f"{counted(len(plan.breaches), 'slot')} above a limit")
    if plan.baseline.breaches:
        words.append(f"baseline: {counted(len(plan.baseline.breaches), 'slot')} above a limit")
    return words


def percent(share: float) -> str:
    """Write a share of 1 in percent, a small one with two digits that count."""
    text = f"{share * 100:.2g}" if abs(share) < 0.1 else f"{share * 100:.0f}"
    return f"{text}\N{NO-BREAK SPACE}%"


def day(at: datetime) -> str:
    """Write a date as people say it, such as ``Mon 5 Jan``."""
    return f"{at:%a} {at.day} {at:%b}"


def clock(at: datetime, zone: ZoneInfo) -> str:
    """Write an instant on the clocks of a zone, such as ``Mon 07:00``."""
    return f"{at.astimezone(zone):%a %H:%M}"


def dates(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """Write a period with its year, such as ``Mon 5 Jan 2026 18:00 to Tue 6 Jan 07:00``."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    year = f" {last.year}" if last.year != first.year else ""
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{day(last)}{year} {last:%H:%M}"
    return f"{day(first)} {first.year} {first:%H:%M} to {until}"


def span(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """Write a period on the clocks of a zone, the date of its end only if it differs."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{day(last)} {last:%H:%M}"
    return f"{day(first)} {first:%H:%M} to {until}"

"""Calls for the cases about statistics and home energy systems."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from slackwater import statistics

from cases_rules import or_reject

if TYPE_CHECKING:
    from collections.abc import Callable

Json: TypeAlias = Any

# Years of a flow that never changes.
YEARS = [datetime(year, 1, 1, tzinfo=UTC) for year in range(1970, 2100)]


def _at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _wire(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _samples(given: Json) -> list[statistics.Sample]:
    """Measured samples, and those of the course without smart charging.

    Where there is such a course, smart charging controlled what was measured:
    without it, that energy would not have flowed then.
    """
    instead = given.get("nonSmartSamples") or []
    controlled = 0.0 if instead else None
    measured = [(sample, sample.get("kw"), controlled) for sample in given["samples"]]
    would_be = [(sample, None, sample.get("kw")) for sample in instead]
    made = []
    for sample, power, non_smart in measured + would_be:
        start = _instant(sample["start"])
        end = start + timedelta(minutes=sample["minutes"])
        made.append(statistics.Sample(start, end, power, sample.get("price"), non_smart))
    return made


def _spread(spread: statistics.Spread | None) -> Json:
    return None if spread is None else spread._asdict()


def _record(totals: statistics.Totals, **own: Json) -> dict[str, Json]:
    """Every member that any version of any record has."""
    instead = totals.non_smart
    return {
        **own,
        "kw": _spread(totals.power_kw),
        "kwhSum": totals.energy_kwh,
        "price": _spread(totals.price_per_kwh),
        "costSum": float(totals.cost),
        "earningsSum": float(totals.cost),
        "nonSmartPrice": _spread(instead.price_per_kwh) if instead else None,
        "nonSmartCostSum": float(instead.cost) if instead else None,
        "estimatedSavings": float(instead.savings) if instead else None,
        "smartSession": instead is not None,
    }


def _pick(record: dict[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    return {name: record[name] for name in names}


def _is_asked_for(name: str, given: Json) -> bool:
    is_smart = name.startswith("nonSmart") or name == "estimatedSavings"
    return "nonSmartSamples" in given or not is_smart


def _series(given: Json, record: str) -> Json:
    items = statistics.series(
        _samples(given),
        resolution=given["resolution"],
        utc_offset_hours=given.get("utcOffset") or 0,
        start=_at(given.get("start")),
        end=_at(given.get("endDate")),
        now=_at(given.get("now")),
    )
    names = statistics.members(record, version=given.get("version"))
    names = tuple(name for name in names if _is_asked_for(name, given))
    return [_pick(_record(item.totals, date=_wire(item.date)), names) for item in items]


def charging(given: Json) -> Json:
    """Call ``series`` for energy drawn."""
    return _series(given, "charging")


def production(given: Json) -> Json:
    """Call ``series`` for energy produced."""
    return _series(given, "production")


def session(given: Json) -> Json:
    """Call ``session``; what belongs to smart charging is always asked for."""
    item = statistics.session(_samples(given))
    if item is None:
        return None
    version = given.get("version")
    record = _record(item.totals, **{"from": _wire(item.start), "to": _wire(item.end)})
    record["smartStats"] = _pick(record, statistics.members("smart_stats", version=version))
    return _pick(record, statistics.members("session", version=version))


def labels(given: Json) -> Json:
    """Call ``bucket_label`` for each instant."""
    return [
        _wire(
            statistics.bucket_label(
                _instant(at),
                resolution=given["resolution"],
                utc_offset_hours=given.get("utcOffset") or 0,
            )
        )
        for at in given["at"]
    ]


def offset_minutes(given: Json) -> Json:
    """Call ``utc_offset_minutes``."""
    return statistics.utc_offset_minutes(given["utcOffset"])


def available(given: Json) -> Json:
    """Call ``available_range``; without a present the end is needed."""
    now = given.get("now") or given["endDate"]
    statistics.available_range(
        start=_at(given.get("start")), end=_at(given.get("endDate")), now=_instant(now)
    )
    return "accept"


def home(given: Json) -> Json:
    """Call ``home_flow`` with a power that never changes."""
    found = statistics.home_flow(
        [statistics.Sample(*year, given["constantKw"]) for year in pairwise(YEARS)],
        period=given["period"],
        value=given["value"],
        time_zone=given["tz"] or "UTC",
        bucket_minutes=given.get("bucketMinutes") or 15,
    )
    values = [point.value or 0.0 for point in found.data]
    answer = {"unit": found.unit, "count": len(values), "total": sum(values)}
    picked = [found.data[index] for index in given.get("pick", ())]
    pick = [{"at": point.at.isoformat(), "value": point.value} for point in picked]
    return answer | {"pick": pick} if "pick" in given else answer


CALLS: dict[str, Callable[[Json], Json]] = {
    "hem.buckets": or_reject(home),
    "stats.charging": or_reject(charging),
    "stats.labels": or_reject(labels),
    "stats.offset_minutes": or_reject(offset_minutes),
    "stats.production": or_reject(production),
    "stats.range": or_reject(available),
    "stats.session": or_reject(session),
}

"""Time without a price, and estimates: said by every plan, in line, headline, reasons, picture."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BATTERY = sw.Battery(capacity_kwh=20, soc_percent=50)
Planned = sw.Plan | sw.StoragePlan | sw.SitePlan


def prices(*values: float) -> sw.Prices:
    return sw.Prices.from_values(SIX, list(values), currency="EUR")


GUESSED = prices(0.30, 0.20).with_estimates(prices(0.01, 0.01, 0.10), source="last week")


def site(known: sw.Prices, *devices: Any, **more: Any) -> sw.SitePlan:
    return sw.plan_site(known, now=SIX, devices=devices, **more)


def van(name: str = "van", *, by: int | None = 4, kwh: float = 15, **more: Any) -> sw.Vehicle:
    targets = [sw.Target(None if by is None else SIX + by * HOUR, kwh)]
    return sw.Vehicle(name, power_max_kw=10, targets=targets, **more)


def charge(known: sw.Prices, kwh: float, by: int | None = 4, **more: Any) -> sw.Plan:
    targets = [(None if by is None else SIX + by * HOUR, kwh)]
    return sw.plan_charge(known, now=SIX, power_max_kw=10, targets=targets, **more)


def store(known: sw.Prices, percent: float = 50, by: int = 4, **more: Any) -> sw.StoragePlan:
    wishes: dict[str, Any] = {
        "now": SIX,
        "battery": BATTERY,
        "power_max_kw": 4,
        "discharge_max_kw": 4,
        "targets": [sw.SocTarget(SIX + by * HOUR, percent)],
    }
    return sw.plan_storage(known, **(wishes | more))


def unpriced(plan: Planned) -> list[str]:
    return [reason.sentence for reason in plan.explain() if reason.code == "no_price"]


TWO = prices(0.10, 0.20)
PLANS = [charge(TWO, 15), store(TWO), site(TWO, van())]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_prices_that_end_before_the_deadline_mean_the_same_to_every_plan(plan: Planned) -> None:
    assert plan.unpriced_hours == 2
    assert ", 2 h without a price" in repr(plan)
    assert ", 2 h without a price" in plan._repr_html_().partition("</strong>")[0]
    assert plan.plot().axes
    told = "Mon 20:00 to Mon 22:00: nothing is planned, because no price is known."
    assert unpriced(plan) == [told]
    assert type(plan).from_json(plan.to_json()).explain() == plan.explain()
    assert sw.replay(plan.to_json()).same


@pytest.mark.parametrize(
    ("plan", "hours"),
    [
        (charge(TWO, 5, None, until=SIX + 3 * HOUR), 1),
        (charge(TWO, 5, 4, until=SIX + 3 * HOUR), 1),
        (charge(TWO, 5, None), 0),
        (store(TWO, targets=(), until=SIX + 3 * HOUR), 1),
        (site(TWO, van(by=None, departure=SIX + 3 * HOUR)), 1),
        (site(TWO, van(by=4, departure=SIX + 3 * HOUR)), 1),
        (site(TWO, van(by=None), until=SIX + 3 * HOUR), 1),
        (site(TWO, van(by=None), sw.Load("house", power_kw=1)), 0),
        (site(TWO, van(by=1), van("other", by=4)), 2),
        (site(TWO, van(by=1)), 0),
        (sw.plan_site(TWO, now=SIX - HOUR, devices=[van(by=2)]), 1),
    ],
)
def test_the_departure_and_the_end_count_as_the_deadline_does(plan: Planned, hours: float) -> None:
    assert plan.unpriced_hours == hours


def test_a_device_that_switches_tells_the_time_without_a_price() -> None:
    def switch(by: int | None, until: int | None = None) -> sw.SwitchingPlan:
        return sw.plan_switching(
            TWO,
            now=SIX,
            power_max_kw=10,
            power_min_kw=2,
            targets=[(None if by is None else SIX + by * HOUR, 5)],
            until=None if until is None else SIX + until * HOUR,
        )

    plan = switch(4)
    assert plan.unpriced_hours == 2
    assert ", 2 h without a price, proved optimal)" in repr(plan)
    assert ", 2 h without a price" in plan._repr_html_().partition("</strong>")[0]
    assert [switch(*ends).unpriced_hours for ends in ((None, 3), (4, 3), (2,), (None,))] == [
        1,
        1,
        0,
        0,
    ]
    assert "without a price" not in repr(switch(2))


def test_a_target_missed_for_want_of_prices_says_so() -> None:
    told = "nothing is planned, because no price is known; the target for Mon 22:00 is missed."
    for plan in (charge(TWO, 25), store(TWO, 100)):
        (sentence,) = unpriced(plan)
        assert sentence == f"Mon 20:00 to Mon 22:00: {told}"
    wanted = charge(TWO, 25).explain()[-1]
    assert (wanted.deadline, wanted.energy_kwh) == (SIX + 4 * HOUR, 0)
    assert wanted.price_max_per_kwh is None


@pytest.mark.parametrize(
    ("kwh", "codes"),
    [(15, []), (25, ["no_price"]), (45, ["own_limits", "no_price"])],
)
def test_a_wish_of_a_site_has_the_cause(kwh: float, codes: list[str]) -> None:
    plan = site(TWO, van(kwh=kwh), van("other", kwh=5))
    (wish,) = plan.device("van").wishes
    assert [cause.code for cause in wish.causes] == codes
    assert ("; the target of van for Mon 22:00 is missed." in unpriced(plan)[0]) == bool(codes)
    assert ("no price is known" in plan._repr_html_()) == bool(codes)


def test_a_load_that_finds_no_prices_to_run_in_has_the_cause() -> None:
    def causes(minutes: int, latest: int) -> list[str]:
        duration, end = timedelta(minutes=minutes), SIX + latest * HOUR
        plan = site(TWO, sw.ShiftableLoad("wash", power_kw=1, duration=duration, latest=end))
        return [cause.code for cause in plan.devices[0].wishes[0].causes]

    assert causes(180, 4) == ["no_price"]
    assert causes(300, 4) == ["own_limits"]
    assert causes(120, 2) == []


def test_export_prices_that_are_shorter_are_told() -> None:
    four = prices(0.1, 0.2, 0.3, 0.4)
    battery = store(four, export_prices=TWO)
    told = "Mon 20:00 to Mon 22:00: nothing is sold, because no export price is known."
    assert (battery.unpriced_hours, unpriced(battery)) == (2, [told])
    assert store(four, export_prices=TWO, discharge_max_kw=0).unpriced_hours == 0
    assert store(four).unpriced_hours == 0
    house = site(four, van(kwh=25), export_prices=TWO)
    assert house.unpriced_hours == 2
    assert [cause.code for cause in house.devices[0].wishes[0].causes] == ["no_price"]


def test_a_plan_without_any_price_still_gives_its_reason() -> None:
    none = sw.Prices.from_slots([], currency="EUR")
    for plan in (charge(none, 5), store(none), site(none, van(kwh=5))):
        assert plan.unpriced_hours == 4
        (reason,) = plan.explain()
        assert reason.code == "no_price"
        assert "4 h without a price" in repr(plan)


def test_estimates_are_told_by_plans_of_batteries() -> None:
    plan = store(GUESSED, 100, 3, export_prices=GUESSED)
    words = "4 kWh on estimates (last week)"
    assert f", {words}, optimal for these estimates)" in repr(plan)
    drawing = plan._repr_html_()
    assert words in drawing.partition("</strong>")[0]
    assert "proved optimal" not in drawing
    bought = [share.energy_kwh for share in plan.sources]
    assert bought == pytest.approx([6, 4])
    assert [share.is_estimate for share in plan.sources] == [False, True]
    marks = [" It rests on estimates (last week)." in each.sentence for each in plan.explain()]
    assert marks == [each.end > SIX + 2 * HOUR for each in plan.explain()] == [False, True]
    assert "estimated price" in legend(plan, 0)


def test_estimates_are_told_by_plans_of_devices_that_switch() -> None:
    target = [(SIX + 3 * HOUR, 5)]
    plan = sw.plan_switching(GUESSED, now=SIX, power_max_kw=10, power_min_kw=2, targets=target)
    words = "5 kWh on estimates (last week)"
    assert f", {words}, optimal for these estimates)" in repr(plan)
    assert f", {words}" in plan._repr_html_().partition("</strong>")[0]
    assert [share.is_estimate for share in plan.sources] == [False, True]


def test_energy_sold_at_estimates_is_told_apart() -> None:
    export = prices(0.1).with_estimates(prices(0.0, 0.9), source="a guess")
    plan = store(TWO, 0, 2, export_prices=export)
    words = ", 4 kWh sold on estimates (a guess), 8 kWh of stock used up, optimal for these"
    assert words in repr(plan)
    sales = [reason for reason in plan.explain() if reason.code != "stock_used"]
    assert sales[-1].sentence.endswith(" It rests on estimates (a guess).")
    assert [share.energy_kwh for share in plan.export_sources] == pytest.approx([4, 4])
    assert store(TWO, 50, 2).export_sources == []


def test_estimates_are_told_by_plans_of_sites() -> None:
    plan = site(GUESSED, van(by=3))
    words = "10 kWh on estimates (last week)"
    assert repr(plan).endswith(f", {words}, optimal for these estimates)")
    drawing = plan._repr_html_()
    assert words in drawing.partition("</strong>")[0]
    assert "proved optimal" not in drawing
    (guessed,) = plan.explain()
    assert guessed.sentence.endswith(" It rests on estimates (last week).")
    assert "estimated price" in legend(plan, 0)
    assert site(TWO, van(by=2)).export_sources == []


def legend(plan: Planned, panel: int) -> list[str]:
    found = plan.plot().axes[panel].get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_reasons_for_charging_name_their_estimates() -> None:
    plan = charge(GUESSED, 15, 3)
    marks = [" It rests on estimates (last week)." in each.sentence for each in plan.explain()]
    assert marks == [each.end > SIX + 2 * HOUR for each in plan.explain()] == [False, True]


def test_known_prices_speak_of_no_estimates() -> None:
    layered = TWO.with_estimates(prices(0.9, 0.9, 0.9), source="last week")
    for plan in (charge(layered, 5, 2), store(layered, 60, 2), site(layered, van(by=2, kwh=5))):
        assert "estimate" not in repr(plan)
        assert not any("estimate" in reason.sentence for reason in plan.explain())

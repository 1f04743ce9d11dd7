"""What a notebook shows of a plan."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

import slackwater as sw

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)


def page(
    values: Sequence[float],
    *targets: tuple[float, float],
    currency: str = "EUR",
    reserve_kwh: float = 0,
) -> ET.Element:
    """A plan at 10 kW for targets of (hours from six, kWh), as parsed markup."""
    prices = sw.Prices.from_values(SIX, values, currency=currency)
    wanted = [sw.Target(SIX + hours * HOUR, kwh) for hours, kwh in targets]
    plan = sw.plan_charge(prices, now=SIX, power_max_kw=10, targets=wanted, reserve_kwh=reserve_kwh)
    return ET.fromstring(plan._repr_html_())  # noqa: S314  our own markup


def text(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def every(element: ET.Element, tag: str) -> list[ET.Element]:
    return [found for found in element.iter() if local(found) == tag]


def test_it_tells_energy_cost_savings_and_proof() -> None:
    shown = text(page([0.3, 0.1, 0.2], (3, 14)))
    assert "14 kWh for 1.80 EUR, saves 1.60 EUR" in shown
    assert "next kWh at 0.200 EUR" in shown
    assert "proved optimal" in shown
    assert "✓ 14 kWh by Mon 5 Jan 21:00: met" in shown
    assert "short" not in shown


def test_a_missed_target_says_what_is_missing_and_when_it_is_reached() -> None:
    shown = text(page([0.3, 0.1, 0.2], (1, 12)))
    assert "✗ 2 kWh short of a target" in shown
    assert "✗ 12 kWh by Mon 5 Jan 19:00: missed, 2 kWh missing, reached Mon 5 Jan 19:12" in shown


def test_each_period_has_a_row_and_a_sentence() -> None:
    document = page([0.3, 0.1, 0.4, 0.2], (2, 12), (4, 18), reserve_kwh=1)
    (table,) = every(document, "table")
    assert [cell.get("scope") for cell in every(table, "th")] == ["col"] * 4 + ["row"] * 4
    rows = [text(row) for row in every(table, "tr")[1:]]
    assert rows == [
        "Mon 5 Jan 18:00 to 18:061.000.30 reserve, at once",
        "Mon 5 Jan 18:06 to 18:121.000.30 needed by a deadline",
        "Mon 5 Jan 19:00 to 20:0010.001.00 cheapest hours",
        "Mon 5 Jan 21:00 to 21:366.001.20 cheapest hours",
    ]
    (details,) = every(document, "details")
    assert len(every(details, "li")) == len(rows)


def test_long_plans_are_cut_and_say_so() -> None:
    targets = [(2 * (index + 1), 10.0 * (index + 1)) for index in range(20)]
    document = page([0.1, 0.2] * 20, *targets)
    shown = text(document)
    assert "and 8 more in plan.targets" in shown
    assert "and 8 more in plan.explain()" in shown
    assert len(every(document, "tr")) == 13


def test_the_timeline_has_words_for_those_who_cannot_see_it() -> None:
    drawings = every(page([0.3, -0.1, 0.2], (3, 14)), "svg")
    (drawing,) = (each for each in drawings if each.get("role") == "img")
    assert drawing.get("aria-label") == (
        "14 kWh for \N{MINUS SIGN}0.20 EUR, saves 2.80 EUR. Mon 5 Jan 2026 18:00 to 21:00, "
        "Time in UTC. Price (EUR/kWh); Energy (kWh); 1 of 1 targets met."
    )
    others = [each for each in drawings if each is not drawing]
    assert {each.get("aria-hidden") for each in others} == {"true"}


def test_a_gap_breaks_the_line_of_prices() -> None:
    slots = [(SIX, SIX + HOUR, 0.3), (SIX + 2 * HOUR, SIX + 3 * HOUR, 0.1)]
    prices = sw.Prices.from_slots(slots, currency="EUR")
    targets = [sw.Target(SIX + 3 * HOUR, 4)]
    plan = sw.plan_charge(prices, now=SIX, power_max_kw=10, targets=targets)
    drawing = plan._repr_html_()
    paths = re.findall(r'<path class="ink-ink" d="(M[^"]*)" stroke="currentColor"', drawing)
    assert sorted(path.count("M") for path in paths if "V" in path and "H" in path) == [2]
    assert "1 h without a price" in drawing


def test_names_from_outside_stay_text() -> None:
    currency = "<b onload='x'>&\"</b>"
    document = page([0.3, 0.1], (2, 5), currency=currency)
    assert every(document, "b") == []
    assert f"5 kWh for 0.50 {currency}" in text(document)
    assert all("onload" not in element.attrib for element in document.iter())


def test_nothing_is_loaded_and_no_colour_is_bound_to_a_theme() -> None:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1], currency="EUR")
    plan = sw.plan_charge(prices, now=SIX, power_max_kw=10, targets=[(SIX + HOUR, 30)])
    markup = plan._repr_html_()
    for word in ("<script", "<style", "src=", "href=", "url(", "@import", " id="):
        assert word not in markup
    for element in ET.fromstring(markup).iter():  # noqa: S314  our own markup
        if text(element) and local(element) == "text":
            colour = element.get("fill") or ""
            assert colour == "currentColor" or text(element) in {"✓", "✗"}


@pytest.mark.parametrize(
    ("values", "targets"),
    [([], []), ([], [(3, 5)]), ([0.1], []), ([0.0], [(1, 5)]), ([0.1] * 9000, [(8999, 5)])],
)
def test_every_plan_has_a_page(values: list[float], targets: list[tuple[float, float]]) -> None:
    assert text(page(values, *targets))
    assert len(ET.tostring(page(values, *targets))) < 60_000

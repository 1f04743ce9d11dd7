"""What a notebook shows of a plan."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape, unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw
from slackwater._palette import PAPER

from browser import browse

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


# ------------------------------------------------------------------------ pages


def charged() -> sw.Plan:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="EUR")
    targets = [sw.Target(SIX + 3 * HOUR, 14)]
    return sw.plan_charge(prices, now=SIX, power_max_kw=10, targets=targets)


def sited(count: int = 9) -> sw.SitePlan:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="EUR")
    vans = [
        sw.Vehicle(f"van {n}", power_max_kw=10, targets=[sw.Target(SIX + 3 * HOUR, 12)])
        for n in range(count)
    ]
    return sw.plan_site(prices, now=SIX, devices=vans, import_limit_kw=40)


def shared() -> sw.AreaPlan:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="EUR")
    vehicles = pa.table(
        {
            "id": ["a", "b"],
            "arrival": [SIX] * 2,
            "departure": [SIX + 3 * HOUR] * 2,
            "energy_kwh": [10.0, 10.0],
            "power_max_kw": [10.0, 10.0],
        }
    )
    return sw.plan_area(vehicles, prices, limit_kw=15)


def stored() -> sw.StoragePlan:
    prices = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2, 0.4], currency="EUR")
    battery = sw.Battery(capacity_kwh=20, soc_percent=50)
    return sw.plan_storage(prices, now=SIX, battery=battery, power_max_kw=5, discharge_max_kw=5)


PAGES = {"vehicle": charged(), "site": sited(), "area": shared(), "storage": stored()}
every_page = pytest.mark.parametrize("plan", PAGES.values(), ids=PAGES)


def tables(markup: str) -> list[dict[str, Any]]:
    """Values that the drawings of a page tell."""
    return [json.loads(unescape(found)) for found in re.findall(r'data-values="([^"]*)"', markup)]


@every_page
def test_a_page_loads_nothing(plan: Any) -> None:
    markup = plan.to_html(time_zone="Europe/Berlin")
    assert markup.startswith("<!DOCTYPE html>")
    for word in ("http:", "https:", "src=", "url(", "@import", '<link rel="style', "fetch("):
        assert word not in markup, word
    assert markup.count("<script>") == 1
    still = plan.to_html(interactive=False)
    assert "<script" not in still
    assert "data-values" not in still
    # The drawing itself needs no script.
    assert still.count("<svg role=") == markup.count("<svg role=") > 0


@every_page
def test_a_page_follows_the_theme_or_keeps_one(plan: Any) -> None:
    auto, light, dark = (plan.to_html(theme=theme) for theme in ("auto", "light", "dark"))
    assert "prefers-color-scheme:dark" in auto
    assert "prefers-color-scheme" not in light + dark
    assert f"--paper:{PAPER.dark}" in dark
    assert f"--paper:{PAPER.light}" in light
    with pytest.raises(sw.InputError, match="theme is 'sepia'"):
        plan.to_html(theme="sepia")
    with pytest.raises(sw.InputError, match="time_zone"):
        plan.to_html(time_zone="Mars/Olympus")


@every_page
def test_a_page_names_its_dates_and_its_zone(plan: Any) -> None:
    markup = plan.to_html(time_zone="Europe/Berlin")
    assert "Mon 5 Jan 2026 19:00 to " in markup
    assert "Time in Europe/Berlin" in markup
    assert "(EUR/kWh)" in markup


def test_a_page_tells_slot_price_power_and_reason() -> None:
    (data,) = tables(charged().to_html(time_zone="Europe/Berlin"))
    assert data["times"][1] == "Mon 5 Jan 20:00 to 21:00"
    rows = {name: (unit, values) for name, _, unit, values in data["rows"]}
    assert rows["price"] == ("EUR/kWh", [0.3, 0.1, 0.2, 0.4])
    assert rows["mean power"][0] == "kW"
    assert rows["mean power"][1][:3] == [0, 10, 4]
    ((start, end, sentence),) = data["reasons"]
    assert data["edges"][1][0] == start
    assert data["edges"][2][0] < end < data["edges"][2][1]
    assert sentence == charged().explain(time_zone="Europe/Berlin")[0].sentence


def test_a_page_of_a_fleet_is_a_heat_map() -> None:
    markup = sited().to_html()
    assert "9 vehicles by arrival" in markup
    (data,) = tables(markup)
    rows = {name: values for name, _, _, values in data["rows"]}
    assert max(rows["9 vehicles"]) == pytest.approx(40)
    assert max(rows["power at the meter"]) == pytest.approx(40)
    assert rows["import limit"] == [40] * len(data["times"])


def test_titles_of_pages_fill_nothing_else(tmp_path: Path) -> None:
    shared().report(tmp_path / "page.html", title="{{body}}")
    assert "<h1>{{body}}</h1>" in (tmp_path / "page.html").read_text()


POINT = """<script>
const chart = document.querySelector(".chart");
const drawn = [...chart.querySelectorAll("svg")].find((svg) => svg.clientWidth);
const box = drawn.getBoundingClientRect();
chart.dispatchEvent(new PointerEvent("pointermove", {
  clientX: box.left + box.width * 0.4, clientY: box.top + 20, bubbles: true,
}));
document.title = chart.querySelector(".tip").innerText.replaceAll("\\n", " | ");
chart.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
document.body.dataset.after = chart.querySelector(".tip strong").innerText;
</script>"""


def test_the_pointer_and_the_keys_tell_a_slot(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    page.write_text(
        charged().to_html(time_zone="Europe/Berlin").replace("</body>", f"{POINT}</body>")
    )
    text, console = browse(page)
    assert console == []
    title = re.search(r"<title>(.*?)</title>", text)
    assert title is not None
    told = " ".join(title[1].split())
    assert told.startswith("Mon 5 Jan 20:00 to 21:00")
    for words in ("0.1 EUR/kWh", "10 kW", "cheapest"):
        assert words in told
    assert 'data-after="Mon 5 Jan 21:00 to 22:00"' in text


@every_page
def test_nothing_is_wider_than_a_phone(plan: Any, tmp_path: Path) -> None:
    frame = tmp_path / "frame.html"
    markup = escape(plan.to_html(time_zone="Europe/Berlin"), quote=True)
    frame.write_text(
        f'<iframe width="360" height="900" srcdoc="{markup}"></iframe><script>'
        'const frame = document.querySelector("iframe");'
        "frame.onload = () => { const page = frame.contentDocument.documentElement;"
        "document.body.dataset.wide = page.scrollWidth <= page.clientWidth;"
        'const seen = [...page.querySelectorAll(".chart svg")].filter((svg) => svg.clientWidth);'
        "document.body.dataset.seen = seen.length / page.querySelectorAll('.chart').length;"
        "const left = (text) => text.getBoundingClientRect().left;"
        'document.body.dataset.clipped = seen.some((svg) => [...svg.querySelectorAll("text")]'
        ".some((text) => left(text) < left(svg) - 1 || text.getBoundingClientRect().right >"
        " svg.getBoundingClientRect().right + 1)); };</script>"
    )
    text, _ = browse(frame)
    assert 'data-wide="true"' in text
    assert 'data-seen="1"' in text
    assert 'data-clipped="false"' in text

"""Pictures of plans: what they show, never how their pixels lie."""

from __future__ import annotations

import io
import itertools
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Annotation, Text

import slackwater as sw
from slackwater._palette import PAPER
from slackwater.plot import instant_of, number_of
from slackwater.site_devices import Device

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")


def prices(values: Sequence[float], start: datetime = SIX, currency: str = "EUR") -> sw.Prices:
    return sw.Prices.from_values(start, values, currency=currency)


def charge(curve: sw.Prices, *targets: tuple[float, float], reserve_kwh: float = 0) -> sw.Plan:
    """A plan at 10 kW for targets of (hours from six, kWh)."""
    wanted = [sw.Target(SIX + hours * HOUR, kwh) for hours, kwh in targets]
    return sw.plan_charge(curve, now=SIX, power_max_kw=10, targets=wanted, reserve_kwh=reserve_kwh)


def draw(plan: sw.Plan, **options: Any) -> Figure:
    return plan.plot(**options)


def named(figure: Figure, prefix: str) -> list[Artist]:
    artists = figure.findobj(lambda artist: str(artist.get_gid() or "").startswith(prefix))
    return sorted(artists, key=lambda artist: str(artist.get_gid()))


def names(figure: Figure, prefix: str) -> list[str]:
    return [str(artist.get_gid()) for artist in named(figure, prefix)]


def steps(figure: Figure, name: str) -> tuple[list[float | None], list[float]]:
    """Values and edges of a step line or of blocks; ``None`` is a gap."""
    (patch,) = named(figure, name)
    assert isinstance(patch, StepPatch)
    values, edges, _ = patch.get_data()
    return [None if math.isnan(value) else value for value in values], list(edges)


def points(figure: Figure, name: str) -> list[tuple[float, float]]:
    """Corners of a line, or the place of a marker."""
    (line,) = named(figure, name)
    assert isinstance(line, Line2D)
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def texts(figure: Figure) -> str:
    figure.draw_without_rendering()
    found = figure.findobj(Text)
    return "\n".join(artist.get_text() for artist in found)


def png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def test_the_price_is_a_step_line_with_a_gap_as_a_gap() -> None:
    slots = [(SIX, SIX + HOUR, 0.3), (SIX + 2 * HOUR, SIX + 4 * HOUR, -0.1)]
    curve = sw.Prices.from_slots(slots, currency="EUR")
    figure = draw(charge(curve, (4, 8)))
    values, edges = steps(figure, "price")
    assert values == [0.3, None, -0.1]
    assert edges == [number_of(SIX + hours * HOUR) for hours in (0, 1, 2, 4)]
    assert names(figure, "zero") == ["zero"]
    low, high = figure.axes[0].get_ylim()
    assert low < -0.1
    assert high > 0.3
    assert "no price" in texts(figure)


def test_each_reason_has_blocks_of_its_own() -> None:
    plan = sw.plan_charge(
        prices([0.4, 0.3, 0.2, 0.5, 0.1, -0.1]),
        now=SIX,
        power_max_kw=10,
        targets=[(SIX + HOUR, 12), (SIX + 2 * HOUR, 15), (SIX + 5 * HOUR, 25)],
        reserve_kwh=2,
        energy_max_kwh=40,
    )
    codes = {reason.code for reason in plan.explain()}
    wanted = ["reserve", "missed_deadline", "deadline", "below_marginal_price", "negative_price"]
    assert codes == set(wanted)
    figure = draw(plan)
    assert set(names(figure, "charging-")) == {f"charging-{code}" for code in codes}
    patches = named(figure, "charging-")
    colours = {patch.get_facecolor() for patch in patches if isinstance(patch, StepPatch)}
    assert len(colours) == len(codes)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(codes) + 2
    assert any(label.startswith("next kWh at ") and label.endswith(" EUR") for label in labels)


def test_blocks_lie_where_the_plan_charges() -> None:
    figure = draw(charge(prices([0.3, 0.1, 0.2]), (3, 14)))
    values, edges = steps(figure, "charging-below_marginal_price")
    assert values == [0.1, 0.2]
    end = SIX + timedelta(hours=2, minutes=24)
    assert edges == [number_of(at) for at in (SIX + HOUR, SIX + 2 * HOUR, end)]


def test_deadlines_are_marked_as_met_or_missed() -> None:
    plan = charge(prices([0.3, 0.1, 0.2, 0.4]), (1, 12.5), (4, 20))
    figure = draw(plan)
    assert names(figure, "deadline-") == ["deadline-met-1", "deadline-missed-0"]
    met, missed = named(figure, "deadline-")
    assert isinstance(met, Line2D)
    assert isinstance(missed, Line2D)
    assert met.get_color() != missed.get_color()
    assert points(figure, "deadline-met") == [(number_of(SIX + 4 * HOUR), 20)]
    assert "2.5 kWh missing" in texts(figure)
    assert "2.5 kWh short of a target" in texts(figure)


def test_a_deadline_in_the_past_keeps_its_time() -> None:
    figure = draw(charge(prices([0.3, 0.1, 0.2]), (-5, 4)))
    assert names(figure, "deadline-") == ["deadline-missed-0"]
    assert "4 kWh missing, due Mon 13:00" in texts(figure)


def test_a_battery_shows_its_state_of_charge() -> None:
    plan = sw.plan_vehicle(
        prices([0.3, 0.1, 0.2]),
        now=SIX,
        power_max_kw=10,
        battery=sw.Battery(capacity_kwh=50, soc_percent=None, soc_fallback_percent=30),
        targets=[sw.SocTarget(SIX + 3 * HOUR, 60)],
    )
    figure = draw(plan)
    assert figure.axes[1].get_ylabel() == "State of charge (%)"
    levels = [level for _, level in points(figure, "soc")]
    assert levels == pytest.approx([30, 30, 60, 60])
    assert "60 %" in texts(figure)
    assert "state of charge assumed" in texts(figure)


def test_axes_and_title_name_units_zone_and_money() -> None:
    figure = draw(charge(prices([0.3, 0.1, 0.2]), (3, 14)), time_zone="Europe/Berlin")
    above, below = figure.axes
    assert above.get_ylabel() == "Price (EUR/kWh)"
    assert below.get_ylabel() == "Energy (kWh)"
    assert below.get_xlabel() == "Time in Europe/Berlin"
    assert above.get_title(loc="left") == "14 kWh for 1.80 EUR, saves 1.60 EUR"
    assert "19:00\nMon 5 Jan" in texts(figure)


def test_the_picture_ends_after_the_last_deadline_not_the_last_price() -> None:
    year = prices([0.1, 0.2, 0.3] * 2920)
    low, high = draw(charge(year, (10, 14))).axes[0].get_xlim()
    assert instant_of(low) > SIX - HOUR
    assert instant_of(high) < SIX + 11 * HOUR


def test_the_long_day_shows_its_hour_twice() -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    curve = prices([0.2, 0.1] * 13, start)
    plan = sw.plan_charge(curve, now=start, power_max_kw=10, targets=[(start + 9 * HOUR, 20)])
    figure = draw(plan, time_zone="Europe/Berlin")
    assert "clocks go back" in texts(figure)
    axis = figure.axes[1].xaxis
    shown = [label.get_text().strip().split("\n")[0] for label in axis.get_ticklabels()]
    assert shown[:6] == ["00:00", "01:00", "02:00", "02:00", "03:00", "04:00"]
    ticks = [instant_of(tick) for tick in axis.get_majorticklocs()]
    assert {later - earlier for earlier, later in itertools.pairwise(ticks)} == {HOUR}


def test_the_short_day_has_no_skipped_hour() -> None:
    start = datetime(2026, 3, 28, 23, tzinfo=UTC)
    plan = sw.plan_charge(
        prices([0.2] * 24, start), now=start, power_max_kw=10, targets=[(start + 6 * HOUR, 20)]
    )
    figure = draw(plan, time_zone="Europe/Berlin")
    assert "clocks go forward" in texts(figure)
    assert "01:00" in texts(figure)
    assert "02:00" not in texts(figure)
    assert "03:00" in texts(figure)


EMPTY = sw.Prices.from_slots([], currency="EUR")
WEEK = [(24 * day + 11, 8.0 * (day + 1)) for day in range(7)]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(charge(EMPTY), id="nothing at all"),
        pytest.param(charge(EMPTY, (5, 3)), id="no price"),
        pytest.param(charge(prices([0.1, 0.2])), id="no target"),
        pytest.param(charge(prices([0.1, 0.2]), (2, 0)), id="no need"),
        pytest.param(charge(prices([0.3]), (0.25, 1)), id="one slot"),
        pytest.param(charge(prices([0.0, 0.0]), (2, 5)), id="free"),
        pytest.param(charge(prices([-0.2, -0.1]), (2, 5)), id="negative only"),
        pytest.param(charge(prices([0.1, 0.2]), (60, 40)), id="deadline after the prices"),
        pytest.param(charge(prices([0.1, 0.2, 0.3] * 60), *WEEK), id="week"),
        pytest.param(
            sw.plan_charge(
                prices([0.1, 0.2] * 4380), now=SIX, power_max_kw=9, targets=[(None, 99)]
            ),
            id="a year to choose from",
        ),
    ],
)
def test_every_plan_can_be_drawn_the_same_way_twice(plan: sw.Plan) -> None:
    first, second = (draw(plan, time_zone="Asia/Kathmandu") for _ in range(2))
    assert png(first) == png(second)
    assert png(first).startswith(b"\x89PNG")


def test_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.png"
    charge(prices([0.3, 0.1]), (2, 5)).plot(time_zone="Europe/Oslo").savefig(path)
    assert path.stat().st_size > 5_000


def test_no_figure_is_left_in_pyplot() -> None:
    before = plt.get_fignums()
    charge(prices([0.3, 0.1]), (2, 5)).plot()
    assert plt.get_fignums() == before


def test_matplotlib_is_loaded_late_and_without_pyplot_or_a_display() -> None:
    program = """
import sys
from datetime import UTC, datetime
import slackwater as sw
others = {"matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "typer"}
assert not others & sys.modules.keys(), others & sys.modules.keys()
now = datetime(2026, 1, 5, tzinfo=UTC)
prices = sw.Prices.from_values(now, [0.1], currency="EUR")
figure = sw.plan_charge(prices, now=now, power_max_kw=1, targets=[(None, 1)]).plot()
png, size = figure._repr_png_()
assert png.startswith(b"\\x89PNG") and size == {"width": 900, "height": 585}
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=os.environ | {"MPLBACKEND": "agg"}
    )


def test_axes_of_the_caller_are_used() -> None:
    figure = Figure(figsize=(6, 6))
    above, below = figure.subplots(2, 1, sharex=True)
    answer = draw(charge(prices([0.3, 0.1]), (2, 5)), axes=(above, below))
    assert answer is figure
    assert above.get_ylabel() == "Price (EUR/kWh)"
    # The axis knows that it shows times.
    above.axvline(SIX + HOUR)
    assert png(figure)


def test_a_part_of_a_figure_is_enough() -> None:
    figure = Figure(figsize=(12, 6))
    part = figure.subfigures()
    assert isinstance(part, SubFigure)
    above, below = part.subplots(2, 1, sharex=True)
    assert draw(charge(prices([0.3, 0.1]), (2, 5)), axes=(above, below)) is figure
    assert png(figure)


def test_dollars_are_no_formula() -> None:
    figure = draw(charge(prices([0.3, 0.1, 0.2], currency="$"), (3, 14)))
    title = figure.axes[0].get_title(loc="left")
    assert title == r"14 kWh for 1.80 \$, saves 1.60 \$"
    assert png(figure)


def test_an_unknown_zone_is_refused_by_name() -> None:
    with pytest.raises(sw.InputError, match="Europe/Nowhere"):
        draw(charge(prices([0.3]), (1, 5)), time_zone="Europe/Nowhere")


# ------------------------------------------------------- all kinds of plans alike


def stored(curve: sw.Prices | None = None) -> sw.StoragePlan:
    curve = curve or prices([0.1, 0.4, 0.2, 0.5])
    battery = sw.Battery(capacity_kwh=20, soc_percent=50)
    return sw.plan_storage(
        curve,
        now=SIX,
        battery=battery,
        power_max_kw=5,
        discharge_max_kw=5,
        export_prices=curve,
        targets=[sw.SocTarget(SIX + 2 * HOUR, 60), sw.SocTarget(SIX + 3 * HOUR, 100)],
    )


def vans(count: int) -> list[sw.Vehicle]:
    """Vehicles that come an hour apart and leave at ten."""
    return [
        sw.Vehicle(
            f"van {number}",
            power_max_kw=10,
            battery=sw.Battery(capacity_kwh=60, soc_percent=20),
            arrival=SIX + number % 3 * HOUR,
            departure=SIX + 4 * HOUR,
            targets=[sw.SocTarget(SIX + 4 * HOUR, 40 if number else 100)],
        )
        for number in range(count)
    ]


def sited(*devices: Device, **options: Any) -> sw.SitePlan:
    curve = prices([0.3, 0.1, 0.2, 0.4, 0.3, 0.2])
    return sw.plan_site(curve, now=SIX, devices=devices, **options)


def switched() -> sw.SwitchingPlan:
    targets = [sw.Target(SIX + 3 * HOUR, 10)]
    return sw.plan_switching(
        prices([0.3, 0.1, 0.2]), now=SIX, power_max_kw=8, power_min_kw=4, targets=targets
    )


def shared(**options: Any) -> sw.AreaPlan:
    vehicles = pa.table(
        {
            "id": ["a", "b"],
            "arrival": [SIX] * 2,
            "departure": [SIX + 3 * HOUR] * 2,
            "energy_kwh": [10.0, 10.0],
            "power_max_kw": [10.0, 10.0],
            "node": ["west", "east"],
        }
    )
    nodes = [
        sw.Node(name="town", limit_kw=15),
        sw.Node(name="west", parent="town", limit_kw=8),
        sw.Node(name="east", parent="town"),
    ]
    return sw.plan_area(vehicles, prices([0.3, 0.1, 0.2]), nodes=nodes, **options)


PRICE, POWER, SOC = "Price (EUR/kWh)", "Power (kW)", "State of charge (%)"
KINDS: dict[str, tuple[Any, list[str]]] = {
    "vehicle": (charge(prices([0.3, 0.1]), (2, 5)), [PRICE, "Energy (kWh)"]),
    "storage": (stored(), [PRICE, POWER, SOC]),
    "site": (sited(*vans(2)), [POWER, "Price\n(EUR/kWh)", SOC.replace(" (", "\n(")]),
    "fleet": (sited(*vans(9)), [POWER, "Price\n(EUR/kWh)", "9 vehicles by arrival"]),
    "switching": (switched(), [PRICE, POWER]),
    "area": (
        shared(),
        ["Load (kW)", "Shadow price\n(EUR/kWh)", "Price\n(EUR/kWh)", "Nodes by load"],
    ),
}
every_kind = pytest.mark.parametrize(("plan", "labels"), KINDS.values(), ids=KINDS)


@every_kind
def test_every_picture_names_quantities_units_dates_and_the_zone(
    plan: Any, labels: list[str]
) -> None:
    figure = plan.plot(time_zone="Europe/Berlin")
    assert [axes.get_ylabel() for axes in figure.axes[: len(labels)]] == labels
    assert figure.axes[len(labels) - 1].get_xlabel() == "Time in Europe/Berlin"
    subtitles = [text.get_text() for text in named(figure, "subtitle") if isinstance(text, Text)]
    assert any(text.startswith("Mon 5 Jan 2026 19:00 to ") for text in subtitles)
    assert figure.axes[0].get_title(loc="left")


@every_kind
def test_every_picture_is_a_png_in_a_notebook(plan: Any, labels: list[str]) -> None:
    show = DisplayFormatter().format
    data, metadata = show(plan.plot())  # type: ignore[no-untyped-call]
    assert data["image/png"].startswith(b"\x89PNG")
    assert metadata["image/png"]["width"] == 900
    assert labels


@every_kind
def test_panels_go_into_axes_of_the_caller(plan: Any, labels: list[str]) -> None:
    whole = Figure(figsize=(6, 9))
    axes = whole.subplots(len(labels), 1, sharex=True)
    assert plan.plot(axes=axes) is whole
    assert [each.get_ylabel() for each in axes] == labels
    alone = Figure()
    assert plan.plot(ax=alone.subplots()) is alone
    assert alone.axes[0].get_ylabel() == labels[0]
    assert alone.axes[0].get_xlabel() == "Time in UTC"
    assert png(alone)


@every_kind
def test_themes_and_sizes(plan: Any, labels: list[str]) -> None:
    def face(**options: Any) -> str:
        return to_hex(plan.plot(**options).axes[0].get_facecolor())

    assert face() == face(theme="light") == PAPER.light
    assert face(theme="dark") == PAPER.dark
    with rc_context({"figure.facecolor": "black"}):
        assert face() == PAPER.dark
        assert face(theme="light") == PAPER.light
    assert tuple(plan.plot(figsize=(5, 4)).get_size_inches()) == (5, 4)
    assert labels


@every_kind
def test_zones_are_names_or_zone_infos(plan: Any, labels: list[str]) -> None:
    berlin = plan.plot(time_zone=BERLIN)
    assert berlin.axes[len(labels) - 1].get_xlabel() == "Time in Europe/Berlin"
    for zone in ("Berlin", "", "/etc/localtime", "Mars/Olympus"):
        with pytest.raises(sw.InputError, match="time_zone"):
            plan.plot(time_zone=zone)
    with pytest.raises(TypeError, match="time_zone"):
        plan.plot(time_zone=1)


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    plan = charge(prices([0.3, 0.1]), (2, 5))
    axes = Figure().subplots(3, 1)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"axes": axes}, "axes has 3 axes; the panels are price, level"),
        ({"axes": axes[:2], "ax": axes[0]}, "both ax and axes are given"),
        ({"ax": axes[0], "figsize": (4, 4)}, "figsize is given with axes"),
        ({"figsize": (0, 4)}, "figsize is \\(0, 4\\)"),
        ({"theme": "sepia"}, "theme is 'sepia'; it is one of"),
    ]
    for options, words in refused:
        with pytest.raises(sw.InputError, match=words):
            plan.plot(**options)


def test_a_fleet_is_a_heat_map_of_the_time_that_vehicles_are_there() -> None:
    figure = sited(*vans(9)).plot()
    (mesh,) = named(figure, "heat")
    assert isinstance(mesh, QuadMesh)
    powers = np.ma.masked_invalid(np.asarray(mesh.get_array(), dtype=float))
    assert powers.shape == (9, 6)
    # By arrival: three vehicles come at six, three at seven, three at eight; all leave at ten.
    away = np.ma.getmaskarray(powers)
    hours = [[hour < row // 3 or hour >= 4 for hour in range(6)] for row in range(9)]
    assert away.tolist() == hours
    assert names(figure, "deadline-missed") == ["deadline-missed-van 0"]
    assert len(names(figure, "deadline-met")) == 8
    assert names(figure, "soc-") == []
    assert "Power (kW)" in [axes.get_ylabel() for axes in figure.axes]


def test_states_of_charge_end_when_vehicles_leave() -> None:
    figure = sited(*vans(2)).plot()
    times = [at for at, _ in points(figure, "soc-van 1")]
    assert (times[0], times[-1]) == (number_of(SIX + HOUR), number_of(SIX + 4 * HOUR))
    assert names(figure, "deadline-") == ["deadline-met-van 1-0", "deadline-missed-van 0-0"]


def test_vehicles_of_an_area_are_a_heat_map_if_wanted() -> None:
    plan = shared()
    figure = plan.plot(vehicles=True)
    _, vehicles = named(figure, "heat")
    assert isinstance(vehicles, QuadMesh)
    powers = np.asarray(vehicles.get_array(), dtype=float)
    assert powers.sum(axis=0) == pytest.approx(plan.load_kw, abs=1e-6)
    nodes = named(plan.plot(), "heat")
    assert len(nodes) == 1


@pytest.mark.parametrize(("slots", "words", "most"), [(999, "", 1000), (1100, "daily means", 50)])
def test_long_horizons_are_means_of_days(slots: int, words: str, most: int) -> None:
    curve = prices([0.1, 0.4, 0.2] * (slots // 3))
    plan = sw.plan_storage(
        curve,
        now=SIX,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50),
        power_max_kw=5,
        discharge_max_kw=5,
        export_prices=curve,
    )
    figure = plan.plot()
    values, edges = steps(figure, "charging")
    assert len(values) <= most * 2
    charged = sum(
        (value or 0.0) * (end - start) * 24
        for value, (start, end) in zip(values, itertools.pairwise(edges), strict=True)
    )
    assert charged == pytest.approx(plan.charged_kwh)
    assert ("means" in texts(figure)) == bool(words)
    assert words in texts(figure)


def test_quarters_of_weeks_are_means_of_hours() -> None:
    curve = sw.Prices.from_values(SIX, [0.1, 0.4] * 600, currency="EUR", slot=HOUR / 4)
    plan = charge(curve, (290, 300))
    assert "hourly means · 1 of 1 targets met" in texts(plan.plot())
    values, _ = steps(plan.plot(), "price")
    assert {round(value, 9) for value in values if value is not None} >= {0.25}


def test_estimated_prices_are_dotted_and_missing_ones_hatched() -> None:
    known = sw.Prices.from_slots(
        [(SIX, SIX + HOUR, 0.3), (SIX + 2 * HOUR, SIX + 3 * HOUR, 0.2)], currency="EUR"
    )
    guess = prices([0.1], SIX + 3 * HOUR)
    figure = charge(known.with_estimates(guess, source="last week"), (4, 8)).plot()
    (solid,), (dotted,) = named(figure, "price"), named(figure, "estimated-price")
    assert isinstance(solid, StepPatch)
    assert isinstance(dotted, StepPatch)
    assert solid.get_linestyle() == "solid"
    assert dotted.get_linestyle() != "solid"
    missing = [patch for patch in named(figure, "no-price") if isinstance(patch, Rectangle)]
    assert all(patch.get_hatch() for patch in missing)
    lengths = {patch.get_x(): patch.get_width() * 24 for patch in missing}
    assert lengths[number_of(SIX + HOUR)] == pytest.approx(1)
    shown = {patch.get_x() for patch in named(figure, "estimate") if isinstance(patch, Rectangle)}
    assert number_of(SIX + 3 * HOUR) in shown


def test_no_state_of_charge_is_drawn_of_a_car_that_is_away() -> None:
    drive = sw.Consumption(SIX + 2 * HOUR, SIX + 4 * HOUR, energy_kwh=8)
    arguments: dict[str, Any] = {"power_max_kw": 4, "battery": sw.Battery(20, 50)}
    cars = [sw.Vehicle(f"car {row}", consumption=[drive], **arguments) for row in range(9)]
    figure = sited(cars[0]).plot()
    assert names(figure, "soc-") == ["soc-car 0", "soc-car 0-1"]
    lines = [line for line in named(figure, "soc-car 0") if isinstance(line, Line2D)]
    before, after = (np.asarray(line.get_xydata()) for line in lines)
    assert before[:, 0].tolist() == [number_of(SIX + hour * HOUR) for hour in range(3)]
    assert after[:, 0].tolist() == [number_of(SIX + hour * HOUR) for hour in range(4, 7)]
    assert (before[-1, 1], after[0, 1]) == (50, 10)
    # As a heat map it has no shade in these hours.
    (mesh,) = named(sited(*cars).plot(), "heat")
    assert isinstance(mesh, QuadMesh)
    away = np.ma.getmaskarray(np.ma.masked_invalid(np.asarray(mesh.get_array(), dtype=float)))
    assert away[0].tolist() == [False, False, True, True, False, False]


def test_curtailed_power_is_told() -> None:
    plan = sited(sw.Solar("roof", power_kw=9), sw.Load("house", power_kw=2), export_limit_kw=4)
    figure = plan.plot()
    (patch,) = named(figure, "curtailed")
    assert isinstance(patch, StepPatch)
    values, _, _ = patch.get_data()
    assert list(values) == pytest.approx([-9] * 6)
    assert patch.get_hatch()
    assert "curtailed" in texts(figure)


def test_words_of_missed_targets_that_crowd_have_rows_of_their_own() -> None:
    plan = charge(prices([0.3] * 24), *((hour, 10.0 * hour + 5) for hour in range(1, 4)), (24, 9))
    figure = plan.plot()
    found = [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Annotation) and text.get_text().endswith("missing")
    ]
    assert len(found) == 3
    rows = {(text.xy[1], text.xyann[1]) for text in found}
    assert len(rows) == 3


def test_rows_of_a_fleet_are_in_the_order_of_their_numbers() -> None:
    """Among vehicles that come and go together."""
    start = datetime(2026, 1, 5, 18, tzinfo=UTC)
    prices = sw.Prices.from_values(start, [0.3, 0.1], currency="EUR")
    names = [f"van {number}" for number in range(12)]
    vans = [
        sw.Vehicle(name, power_max_kw=7, targets=[sw.Target(None, 5)]) for name in reversed(names)
    ]
    picture = sw.plan_site(prices, now=start, devices=vans)._picture(ZoneInfo("UTC"))
    (heat,) = [panel.heat for panel in picture.panels if panel.heat is not None]
    assert list(heat.names) == names

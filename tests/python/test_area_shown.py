"""What pictures and pages of an area show: values of the node they name, money only as such."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import slackwater as sw
from command_line import price_file, run
from test_area import HOUR, PRICES, SIX, fleet
from test_area_loads import BASE_KW, streets

BASELINE = "baseline: full power at plug-in"
PRICE_ONLY = "price only: each at its own cheapest"
COORDINATED = "coordinated under the limit"
LOADS = (BASELINE, PRICE_ONLY, COORDINATED)


def drawn(figure: Figure, axes: int = 0) -> dict[str, list[float]]:
    """Read the values of each step line by its name in the legend."""
    patches = [patch for patch in figure.axes[axes].patches if isinstance(patch, StepPatch)]
    lines = {str(patch.get_label()): patch.get_data()[0] for patch in patches}
    return {
        name: [float(value) for value in values]
        for name, values in lines.items()
        if name and not name.startswith("_")
    }


def legend(figure: Figure) -> list[str]:
    """Read the names in the legend."""
    found = figure.axes[0].get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def page(plan: sw.AreaPlan, folder: Path) -> str:
    """Write the page of a plan."""
    plan.report(folder / "page.html")
    return (folder / "page.html").read_text()


def test_a_picture_draws_each_load_with_the_base_load() -> None:
    node = sw.Node(name="area", base_kw=BASE_KW, limit_kw=[15.0, None, 15.0, 15.0])
    plan = sw.plan_area(fleet(3), PRICES, nodes=[node])
    figure = plan.plot(time_zone="Europe/Oslo")
    assert legend(figure) == ["other load", *LOADS, "limit"]
    lines = drawn(figure)
    # 30 kWh: at once from six, all in the cheapest hour, and as far as the limit lets them.
    assert lines[BASELINE] == pytest.approx([33, 1, 2, 0])
    assert lines[PRICE_ONLY] == pytest.approx([3, 31, 2, 0])
    assert lines[COORDINATED] == pytest.approx(plan.nodes[0].load_kw)
    assert plan.nodes[0].load_kw == pytest.approx([3, 31, 2, 0])
    assert lines["limit"] == pytest.approx([15, float("nan"), 15, 15], nan_ok=True)
    (shadow,) = figure.axes[1].findobj(lambda artist: artist.get_gid() == "shadow-price")
    assert isinstance(shadow, StepPatch)
    assert list(shadow.get_data()[0]) == plan.nodes[0].congestion_price_per_kwh
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["Load (kW)", "Shadow price\n(EUR/kWh)", "Price\n(EUR/kWh)"]


def test_a_picture_draws_the_node_that_it_names() -> None:
    plan = streets(limit_kw=30)
    whole = plan.plot()
    assert whole.axes[0].get_title(loc="left").startswith("town: ")
    # Base load of the street counts in the town.
    assert drawn(whole)[BASELINE] == pytest.approx([34, 2, 3, 1])
    west = plan.plot(node="west")
    assert legend(west) == ["other load", COORDINATED]
    assert drawn(west)[COORDINATED] == pytest.approx([1, 11, 1, 1])
    assert west.axes[0].get_title(loc="left").startswith("west: part of an area with ")
    with pytest.raises(sw.InputError, match="node is 'moon'"):
        plan.plot(node="moon")
    with pytest.raises(sw.InputError, match="time_zone"):
        plan.plot(time_zone="Mars/Olympus")


def test_of_several_nodes_at_the_top_one_is_named(tmp_path: Path) -> None:
    nodes = [sw.Node(name="a", limit_kw=5), sw.Node(name="b", limit_kw=20)]
    plan = sw.plan_area(fleet(2, node=["a", "b"]), PRICES, nodes=nodes)
    with pytest.raises(sw.InputError, match="at the top are a, b: name one to draw"):
        plan.plot()
    figure = plan.plot(node="a")
    assert drawn(figure) == {
        COORDINATED: pytest.approx([0, 5, 5, 0]),
        "limit": pytest.approx([5, 5, 5, 5]),
    }
    text = page(plan, tmp_path)
    assert "Shows a alone, one of several top nodes" in text
    assert "Highest load of a" in text
    # What all vehicles would do does not compare with a limit of some.
    assert BASELINE not in text
    assert "exceeds the limit" not in text


def test_a_page_shows_loads_with_base_load_below_the_node(tmp_path: Path) -> None:
    text = page(streets(limit_kw=30), tmp_path)
    assert "baseline 34.0\N{NO-BREAK SPACE}kW" in text
    assert "Baseline" in text
    assert "exceeds the limit in 1 slot" in text


@pytest.mark.parametrize("limit_kw", [0.0, 2.0])
def test_in_a_shortage_nothing_is_called_a_saving(limit_kw: float, tmp_path: Path) -> None:
    plan = sw.plan_area(fleet(2), PRICES, limit_kw=limit_kw)
    withheld = 20 - 4 * limit_kw
    assert plan.withheld_kwh == pytest.approx(withheld, abs=2e-3)
    # The other two plans are of all that was asked for.
    assert (plan.baseline_cost, plan.price_only_cost) == pytest.approx((6, 2))
    text = page(plan, tmp_path)
    missing = f"{withheld:.1f}\N{NO-BREAK SPACE}kWh"
    assert f"without {missing} withheld by limits" in text
    assert f"delivers {missing} less. Its cost does not include this energy" in text
    for word in ("below the baseline", "adds no cost", "one more kWh is worth", "Saving by"):
        assert word not in text
    assert "Where capacity is short" in text
    below = plan.plot().axes[1]
    assert below.get_ylabel() == "Scarcity\n(a rank, no price)"
    assert not below.yaxis.get_tick_params()["labelleft"]


def test_a_stay_too_short_withholds_nothing(tmp_path: Path) -> None:
    plan = sw.plan_area(fleet(1, energy_kwh=[100.0]), PRICES, limit_kw=50)
    assert plan.shortfall_kwh == pytest.approx(60)
    assert plan.withheld_kwh == 0
    # Nobody could charge more: costs compare.
    assert "below the baseline" in page(plan, tmp_path)
    assert plan.plot().axes[1].get_ylabel() == "Shadow price\n(EUR/kWh)"


def test_a_vehicle_with_two_reasons_is_one_vehicle(tmp_path: Path) -> None:
    plan = sw.plan_area(fleet(2, energy_kwh=[100.0, 1.0]), PRICES, limit_kw=5)
    assert [(need.row, need.node) for need in plan.shortfalls][:2] == [(0, None), (0, "area")]
    assert plan.short_vehicles == len({need.row for need in plan.shortfalls}) < len(plan.shortfalls)
    text = page(plan, tmp_path)
    assert f"vehicles affected: {plan.short_vehicles}<" in text
    assert f"at departure or at a deadline: {plan.short_vehicles}.<" in text


def test_the_command_says_that_savings_are_unknown(tmp_path: Path) -> None:
    vehicles = tmp_path / "one.csv"
    vehicles.write_text(
        "id,arrival,departure,energy_kwh,power_max_kw\n"
        "van,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10\n"
    )
    words = ("area", vehicles, "--prices", price_file(tmp_path), "--limit-kw")

    def savings(limit: str) -> str:
        answer = run(*words, limit)
        assert answer.code == 0, answer.err
        return next(line for line in answer.out.splitlines() if line.startswith("savings"))

    assert savings("0").split() == (
        [
            "savings",
            "unknown",
            "10.00",
            "kWh",
            "withheld",
            "by",
            "limits",
            "are",
            "not",
            "in",
            "the",
            "cost",
        ]
    )
    assert savings("9").split()[1:] == ["1.90", "EUR"]


def test_the_line_of_an_area_counts_rows_that_are_not_planned() -> None:
    assert "errors" not in repr(sw.plan_area(fleet(2), PRICES, limit_kw=12))
    broken = sw.plan_area(fleet(2, energy_kwh=[-1.0, 6.0]), PRICES, limit_kw=12)
    assert repr(broken).startswith("AreaPlan(1 vehicle, ")
    assert repr(broken).endswith(", errors=1)")


def test_a_cost_that_rounds_to_nothing_has_no_sign() -> None:
    paid = sw.Prices.from_values(SIX, [-0.0001] * 4, currency="EUR")
    area = sw.plan_area(fleet(2, energy_kwh=[1.0, 1.0]), paid, limit_kw=12)
    _, cost, *_ = area.explain(0, time_zone="Europe/Oslo")
    assert cost == "It costs 0.00 EUR; at full power from arrival the cost would be 0.00 EUR."


def test_an_area_names_three_users_of_a_limit_below_its_node() -> None:
    count = 6
    cars = fleet(
        count,
        id=["asked", "small", "big", "elsewhere", "middle", "tiny"],
        departure=[SIX + HOUR] * count,
        energy_kwh=[9.0, 2.0, 6.0, 9.0, 4.0, 1.0],
        node=["a", "a", "b", "c", "a", "a"],
    )
    nodes = [
        sw.Node(name="top"),
        sw.Node(name="a", parent="top", limit_kw=12.0),
        sw.Node(name="b", parent="a"),
        sw.Node(name="c", parent="top"),
    ]
    area = sw.plan_area(cars, PRICES, nodes=nodes)
    intervals = {
        plan["id"]: sum(one["power_kw"] for one in plan["intervals"])
        for plan in pa.table(area.plans).to_pylist()
    }
    withheld = area.explain("asked")[1]
    names = withheld.rpartition("is used by ")[2].removesuffix(".").split(", ")
    assert [name.partition(" (")[0] for name in names] == ["big", "middle", "small"]
    assert names[0] == f"big ({intervals['big']:.3g} kW)"
    read = sw.AreaPlan.from_json(area.to_json())
    assert "is used by" not in read.explain("asked")[1]


def test_an_area_explains_what_one_vehicle_misses() -> None:
    cars = fleet(2, id=[621, 622], departure=[SIX + HOUR] * 2, energy_kwh=[20.0, 6.0])
    area = sw.plan_area(cars, PRICES, limit_kw=12)
    taken, own, withheld, cost = area.explain(621, time_zone="Europe/Oslo")
    assert taken == "It takes 7.5 kWh in 1 period; 12.5 kWh are missing."
    assert own.startswith("10 kWh are beyond its own stay, its charger")
    assert withheld.startswith(
        "2.5 kWh are withheld by the limit of area, which its load reaches in 1 of 4 slots, "
        "first from 2026-01-05 19:00 CET and last until 2026-01-05 20:00 CET"
    )
    assert withheld.endswith(" While it stays, most of the limit is used by 622 (4.5 kW).")
    assert cost.startswith("It costs ")
    sunk = sw.plan_area(cars, PRICES, limit_kw=12, sink=lambda _: None)
    for asked, vehicle, message in (
        (area, 623, "vehicle is 623, the id of no plans of this area"),
        (sunk, 621, "the plans of this area went to a sink; explain them where they were kept"),
    ):
        with pytest.raises(sw.InputError) as refused:
            asked.explain(vehicle)
        assert str(refused.value) == message

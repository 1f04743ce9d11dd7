"""Loads of nodes: base load counts at all nodes above, and every node has its load."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw
from test_area import HOUR, PRICES, SIX, fleet

BASE_KW = [3.0, 1.0, 2.0, 0.0]


def streets(**top: Any) -> sw.AreaPlan:
    """Three vehicles in two streets, only one of which has a limit."""
    nodes = [
        sw.Node(name="west", parent="town", base_kw=1.0),
        sw.Node(name="town", base_kw=BASE_KW, **top),
        sw.Node(name="east", parent="town", limit_kw=8),
    ]
    return sw.plan_area(fleet(3, node=["west", "east", "east"]), PRICES, nodes=nodes)


def test_every_node_has_a_load() -> None:
    plan = streets(limit_kw=30)
    west, town, east = plan.nodes
    assert (west.base_kw, town.base_kw, east.base_kw) == (
        [1.0] * 4,
        [base + 1.0 for base in BASE_KW],
        [0.0] * 4,
    )
    assert west.load_kw == pytest.approx([1, 11, 1, 1])
    assert east.load_kw == pytest.approx([4, 8, 8, 0])
    both = [a + b + base for a, b, base in zip(west.load_kw, east.load_kw, BASE_KW, strict=True)]
    assert town.load_kw == pytest.approx(both)
    # The same where no node on the way up has a limit, and after a plan was kept near another.
    free = streets()
    assert free.nodes[1].load_kw == pytest.approx(both)
    near = sw.plan_area(
        fleet(3, node=["west", "east", "east"]),
        PRICES,
        nodes=free._nodes,
        previous=pa.table(plan),
        stability_budget=1.0,
    )
    assert near.nodes[1].load_kw == pytest.approx(both)


# Limits of a town and of its street with 15 kW of other load; what two vehicles of the
# street that want 10 kWh each come to in the hours at 0.30, 0.10, 0.20 and 0.40.
@pytest.mark.parametrize(
    ("town", "loads", "breach_kw", "shortfall_kwh"),
    [
        # The town leaves 5 kW of its 20, the street 15 of its 30.
        ({"limit_kw": 20}, [20, 20, 20, 20], 0, 0),
        # The town's own 2 kW leave 3: 12 kWh of 20.
        ({"limit_kw": 20, "base_kw": 2}, [20, 20, 20, 20], 0, 8),
        # Base loads alone are beyond a limit: nobody charges, and the plan says by how much.
        ({"limit_kw": 12}, [15, 15, 15, 15], 3, 20),
        # What the street draws is there to be fed in by the town: no export of 2 kW is left over.
        ({"limit_kw": 30, "export_limit_kw": 0, "base_kw": -15}, [0, 15, 5, 0], 0, 0),
        # A peak that is paid for already is partly used by the street.
        ({"peak_price_per_kw": 9, "peak_incurred_kw": 20}, [20, 20, 20, 20], 0, 0),
        ({"blocks": [(20, 0.15)]}, [15, 30, 20, 15], 0, 0),
    ],
)
def test_base_load_counts_at_all_nodes_above(
    town: dict[str, Any], loads: list[float], breach_kw: float, shortfall_kwh: float
) -> None:
    nodes = [
        sw.Node(name="town", **town),
        sw.Node(name="street", parent="town", base_kw=15, limit_kw=30),
    ]
    plan = sw.plan_area(fleet(2, node=["street"] * 2), PRICES, nodes=nodes)
    assert plan.nodes[0].load_kw == pytest.approx(loads, abs=1e-3)
    assert plan.nodes[0].breach_kw == pytest.approx(breach_kw)
    assert plan.shortfall_kwh == pytest.approx(shortfall_kwh, abs=1e-3)
    assert plan.nodes[1].load_kw == pytest.approx(
        [load - town.get("base_kw", 0) for load in loads], abs=1e-3
    )


def test_a_vehicle_at_the_town_leaves_the_street_its_own_base_load() -> None:
    nodes = [
        sw.Node(name="town", limit_kw=20),
        sw.Node(name="street", parent="town", base_kw=15, limit_kw=30),
    ]
    rows = fleet(1, departure=[SIX + HOUR], node=["town"])
    plan = sw.plan_area(rows, PRICES, nodes=nodes)
    assert plan.energy_kwh == pytest.approx(5, abs=1e-6)
    assert [node.load_kw[0] for node in plan.nodes] == pytest.approx([20, 15])

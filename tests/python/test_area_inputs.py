"""What an area is made of: any kind of number is taken, and what says nothing is refused."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slackwater as sw
from command_line import price_file, run
from test_area import PRICES, fleet

ONE_VAN = (
    "id,arrival,departure,energy_kwh,power_max_kw\nvan,2026-01-05T18:00Z,2026-01-05T21:00Z,10,10\n"
)


def node(**fields: Any) -> list[sw.Node]:
    """Make an area of one node, named as in the messages."""
    return [sw.Node(name="a", **fields)]


@pytest.mark.parametrize(
    "five",
    [5, np.int64(5), np.float32(5), Decimal(5), [5] * 4, (5, None, 5, 5.0), np.full(4, 5)],
    ids=lambda five: type(five).__name__,
)
def test_any_number_is_a_limit_and_can_be_drawn(five: Any, tmp_path: Path) -> None:
    plan = sw.plan_area(fleet(1), PRICES, limit_kw=five)
    assert plan.load_kw[0] <= 5
    assert plan.plot().axes[0].get_ylabel() == "Load (kW)"
    plan.report(tmp_path / "page.html")
    assert "limit 5.00" in (tmp_path / "page.html").read_text()


def test_blocks_are_pairs_of_any_kind() -> None:
    def cost(blocks: Any) -> float:
        return sw.plan_area(fleet(1), PRICES, nodes=node(blocks=blocks)).cost

    expected = cost([(4, 0.02), (8, 0.2)])
    assert cost([[4, 0.02], [8, 0.2]]) == expected
    assert cost(np.array([[4, 0.02], [8, 0.2]])) == expected


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"limit_kw": "five"}, "limit_kw of node 'a' is 'five'; it is a number of kW"),
        ({"limit_kw": True}, "limit_kw of node 'a' is True; it is a number of kW"),
        ({"limit_kw": [5, np.True_, 5, 5]}, "limit_kw in slot 1 of node 'a' is np.True_"),
        ({"base_kw": [[1.0]]}, r"base_kw in slot 0 of node 'a' is \[1.0\]"),
        ({"limit_kw": math.nan}, 'limit_kw of node "a": NaN kW is not a finite number'),
        ({"limit_kw": 10**400}, "it is a number of kW"),
        ({"limit_kw": [1.0, 2.0]}, r'limit_kw of node "a" has 2 slots; the prices have \d'),
        ({"base_kw": [1.0]}, r'base_kw of node "a" has 1 slots; the prices have \d'),
        ({"peak_incurred_kw": None}, "peak_incurred_kw of node 'a' is None; it is a number of kW"),
        ({"peak_price_per_kw": "1"}, "peak_price_per_kw of node 'a' is '1'; it is a price of a kW"),
        ({"blocks": None}, "blocks of node 'a' is None; it is pairs"),
        ({"blocks": [(1, 2, 3)]}, "it is pairs"),
        ({"blocks": [(1, "x")]}, "price_per_kwh of blocks of node 'a' is 'x'"),
        ({"parent": 7}, "parent of node 'a' is 7"),
        ({"target_kw": 3}, "of use only with target_price_per_kwh or target_square_price"),
        ({"target_square_price": 3}, "target_square_price .* of use only with target_kw"),
        ({"target_price_per_kwh": 3}, "target_price_per_kwh .* of use only with target_kw"),
        ({"breach_price_per_kwh": 0.1}, "breach_price_per_kwh .* of use only with limit_kw"),
        ({"export_breach_price_per_kwh": 0.1}, "of use only with export_limit_kw"),
    ],
)
def test_a_field_that_makes_no_sense_is_refused_by_name(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(sw.InputError, match=text):
        sw.plan_area(fleet(1), PRICES, nodes=node(**fields))


def test_what_is_no_list_of_nodes_is_refused() -> None:
    nothing: list[tuple[Any, str]] = [
        (sw.Node(name="a"), "nodes is one Node; give a list of them"),
        ([{"name": "a"}], "nodes[0] has to be a Node, not a dict"),
    ]
    for nodes, text in nothing:
        with pytest.raises(TypeError, match=re.escape(text)):
            sw.plan_area(fleet(1), PRICES, nodes=nodes)
    with pytest.raises(sw.InputError, match="name of a node is 5"):
        sw.plan_area(fleet(1), PRICES, nodes=[sw.Node(name=5)])  # type: ignore[arg-type]


def test_rounds_below_zero_are_refused() -> None:
    with pytest.raises(sw.InputError, match="rounds_max is -1 rounds; it is a whole number from 0"):
        sw.plan_area(fleet(1), PRICES, limit_kw=5, rounds_max=-1)


@pytest.mark.parametrize(
    ("column", "values", "errors"),
    [
        (
            "priority",
            [0.0, -1.0, math.inf, 2.0, None],
            [f"priority is {at}; it is a number from 1e-12 to 1e12" for at in ("0", "-1", "inf")],
        ),
        (
            "power_min_kw",
            [-5.0, 20.0, math.inf, 10.0, None],
            [
                "power_min_kw is -5 kW; it is 0 kW or more",
                "power_min_kw is 20 kW, above power_max_kw, which is 10 kW",
                "power_min_kw is inf kW, above power_max_kw, which is 10 kW",
            ],
        ),
    ],
)
def test_a_number_that_was_passed_over_is_an_error_of_its_row(
    column: str, values: list[float | None], errors: list[str]
) -> None:
    rows = fleet(5).append_column(column, pa.array(values, pa.float64()))
    plan = sw.plan_area(rows, PRICES, limit_kw=30)
    assert pa.table(plan)["error"].to_pylist() == [*errors, None, None]
    assert (plan.errors, plan.vehicles) == (3, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'[{"name": "a", "limit_kw": "five"}]', "limit_kw of node 'a' is 'five'"),
        (b'[{"name": "a", "limit_kw": true}]', "limit_kw of node 'a' is True"),
        (b"[true, 5, 5]", "limit_kw[0] has to be a number, not a bool"),
        (b'[{"name": "a", "blocks": [[1, 2, 3]]}]', "blocks of node 'a' is [[1, 2, 3]]"),
        (b'[{"name": "a", "peak_incurred_kw": null}]', "peak_incurred_kw of node 'a' is None"),
        (b'[{"name": "a", "target_kw": 3}]', "target_kw of node 'a' is 3"),
        (b"[]", "neither a list of kW"),
        (b"\xff\xfe", "no text in UTF-8"),
    ],
)
def test_a_file_of_limits_names_the_field(tmp_path: Path, text: bytes, message: str) -> None:
    vehicles, limits = tmp_path / "one.csv", tmp_path / "limits.json"
    vehicles.write_text(ONE_VAN)
    limits.write_bytes(text)
    answer = run("area", vehicles, "--prices", price_file(tmp_path), "--limit-kw", limits)
    assert answer.error.startswith(f"{limits}: {message}")


def test_blocks_and_a_byte_order_mark_come_from_a_file(tmp_path: Path) -> None:
    vehicles, limits = tmp_path / "one.csv", tmp_path / "limits.json"
    vehicles.write_text(ONE_VAN)
    limits.write_text('\ufeff[{"name": "a", "blocks": [[4, 0.02], [8, 0.2]]}]', encoding="utf-8")
    answer = run("area", vehicles, "--prices", price_file(tmp_path), "--limit-kw", limits)
    assert answer.code == 0, answer.err
    # 4 kWh at 0.10, 4 at 0.12; the last 2 at 0.20 in the next hour.
    cost = next(line for line in answer.out.splitlines() if line.startswith("cost"))
    assert cost.split()[1] == "1.28"


def test_options_that_say_nothing_are_refused(tmp_path: Path) -> None:
    vehicles = tmp_path / "one.csv"
    vehicles.write_text(ONE_VAN)
    words = ("area", vehicles, "--prices", price_file(tmp_path), "--limit-kw", "5")
    assert "--stability-budget needs --previous" in run(*words, "--stability-budget", "1").error
    assert "--rounds-max" in run(*words, "--rounds-max", "-1").error


def test_nothing_that_is_read_is_written_over(tmp_path: Path) -> None:
    vehicles, limits = tmp_path / "one.csv", tmp_path / "limits.json"
    vehicles.write_text(ONE_VAN)
    limits.write_text("[5, 5, 5]")
    prices = price_file(tmp_path)
    words = ("area", vehicles, "--prices", prices, "--limit-kw", limits)
    link = tmp_path / "link.csv"
    link.symlink_to(vehicles)
    for option, file in (
        ("--out", vehicles),
        ("--out", link),
        ("--out", prices),
        ("--out", limits),
        ("--checkpoint", vehicles),
    ):
        before = file.read_bytes()
        assert f"{option} {file}: this file is read" in run(*words, option, file).error
        assert file.read_bytes() == before
    twice = tmp_path / "plans.csv"
    error = run(*words, "--out", twice, "--checkpoint", twice).error
    assert error == f"--checkpoint {twice}: --out is the same file"


def test_vehicles_name_their_node_where_there_are_several() -> None:
    nodes = [sw.Node(name="town", limit_kw=20), sw.Node(name="street", parent="town", limit_kw=5)]
    with pytest.raises(sw.InputError, match='there are 2 nodes and no column "node"'):
        sw.plan_area(fleet(2), PRICES, nodes=nodes)
    plan = sw.plan_area(fleet(2, node=["street", "town"]), PRICES, nodes=nodes)
    assert max(plan.load_kw) > 5

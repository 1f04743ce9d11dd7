"""An area in parts is the area of one process, to the last bit."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import dask
import dask.bag
import dask.dataframe
import pandas as pd
import pyarrow as pa
import pytest

import slackwater as sw
import slackwater.ray
from slackwater import parts
from slackwater.parts import AreaTerms, Request, answer_parts, open_part, plan_batches, plan_parts

import area_parts
import fleets
from area_parts import HereCrew, check_same, in_order

FOLDER = str(Path(__file__).parent)

SAMPLED_ROUNDS_MAX = 8
"""Most passes over all vehicles in a plan by a sample; other searches take dozens."""

LARGE_AREA = """
import hashlib
import fleets, slackwater as sw
from area_parts import bits
import pyarrow as pa
area = sw.plan_area(fleets.fleet(33_000), fleets.day_ahead(), limit_kw=60_000)
digest = hashlib.sha256("".join(bits(pa.table(area))).encode()).hexdigest()
print(area.cost.hex(), area.bound.hex(), digest)
"""


def compare(vehicles: pa.Table, prices: Any, crew: HereCrew, **options: Any) -> sw.AreaPlan:
    """Plan here and in parts."""
    local = sw.plan_area(vehicles, prices, **options)
    planned = parts.plan_area(vehicles, prices, crew=crew, **options)
    assert crew.questions > local.rounds
    check_same(local, planned, in_order(crew.plans(planned.request)))
    return local


@pytest.mark.parametrize(
    ("planner", "own"),
    [(parts.plan_area, {"crew"}), (slackwater.ray.plan_area, {"crew", "dataset"})],
)
def test_options_of_areas_are_the_same_wherever_they_are_planned(
    planner: Callable[..., object], own: set[str]
) -> None:
    """They are written out in each, where ``help`` and editors show them."""
    here, there = signature(sw.plan_area).parameters, signature(planner).parameters
    shared = here.keys() & there.keys()
    assert there.keys() - shared == own
    assert here.keys() - shared <= {"vehicles", "sink", "stability_budget", "carbon", "heat"}
    for name in shared:
        assert (there[name].default, there[name].kind) == (here[name].default, here[name].kind)
        # Only one process can stay near plans of its vehicles that come as a table.
        expected = str(here[name].annotation).replace("AreaPlan | ArrowTable", "AreaPlan")
        assert there[name].annotation == expected, name


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_any_number_of_parts_gives_the_same_bits(count: int) -> None:
    plan = compare(fleets.fleet(3_000), fleets.day_ahead(), HereCrew(count), limit_kw=5_000)
    assert plan.rounds > 5


@pytest.mark.parametrize("count", [1, 3])
def test_nodes_targets_tariffs_and_rows_in_error(count: int) -> None:
    vehicles, prices, nodes = area_parts.town(600)
    crew = HereCrew(count, per_partition=2)
    plan = compare(vehicles, prices, crew, nodes=nodes, relative_gap=1e-4, rounds_max=8)
    assert plan.errors == 6


def test_vehicles_one_by_one() -> None:
    vehicles, prices, nodes = area_parts.town(150)
    compare(vehicles, prices, HereCrew(4), nodes=nodes, rounds_max=12)


def test_a_shortage_is_shared_alike() -> None:
    vehicles, prices, nodes = area_parts.town(600)
    short = [sw.Node(name=node.name, parent=node.parent, limit_kw=120.0) for node in nodes]
    crew = HereCrew(3)
    plan = compare(vehicles, prices, crew, nodes=short, rounds_max=15)
    assert plan.shortfall_kwh > 100
    assert crew.changes > 0


def test_batteries_and_late_reserves() -> None:
    vehicles = area_parts.batteries(300)
    crew = HereCrew(3)
    prices, export = fleets.day_ahead(), fleets.day_ahead().times(0.9)
    plan = compare(vehicles, prices, crew, export_prices=export, limit_kw=600, rounds_max=30)
    assert plan.discharged_kwh > 0
    assert plan.late_reserves
    assert crew.changes > 0


def test_a_large_area_is_planned_by_a_sample_in_parts_and_from_a_plan_before() -> None:
    vehicles, prices = fleets.fleet(33_000), fleets.day_ahead()
    first = compare(vehicles, prices, HereCrew(2), limit_kw=60_000)
    assert first.rounds <= SAMPLED_ROUNDS_MAX
    assert first.relative_gap <= 1e-3
    again = compare(vehicles, prices, HereCrew(3), limit_kw=58_000, previous=first)
    assert again.rounds <= SAMPLED_ROUNDS_MAX
    assert again.relative_gap <= 1e-3


def test_a_large_area_has_the_same_bits_on_any_number_of_threads() -> None:
    made = [
        subprocess.run(
            [sys.executable, "-c", LARGE_AREA],
            env={**os.environ, "RAYON_NUM_THREADS": threads, "PYTHONPATH": FOLDER},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "3")
    ]
    assert made[0] == made[1]
    assert len(made[0].split()) == 3


def test_gaps_in_the_prices() -> None:
    whole = fleets.day_ahead()
    slots = [slot for at, slot in enumerate(whole.slots) if not 30 <= at < 40]
    prices = sw.Prices.from_slots(slots, currency="EUR")
    assert prices.gaps
    compare(fleets.fleet(400), prices, HereCrew(2), limit_kw=900)


@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_no_vehicle(rows: int) -> None:
    vehicles = fleets.fleet(1).slice(0, rows)
    crew = HereCrew(5)
    local = sw.plan_area(vehicles, fleets.day_ahead(), limit_kw=5)
    planned = parts.plan_area(vehicles, fleets.day_ahead(), crew=crew, limit_kw=5)
    assert area_parts.numbers(planned.area) == area_parts.numbers(local)


def test_an_earlier_plan_saves_rounds_in_parts_too() -> None:
    vehicles, prices = fleets.fleet(2_000), fleets.day_ahead()
    before = sw.plan_area(vehicles, prices, limit_kw=3_500)
    crew = HereCrew(2)
    plan = compare(vehicles, prices, crew, limit_kw=3_500, previous=before)
    assert plan.rounds < before.rounds


class Memory:
    """Keeps rounds in a list."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.kept: list[str] = []

    def recall(self) -> str | None:
        return self.lines.pop(0) if self.lines else None

    def keep(self, text: str) -> None:
        self.kept.append(text)


def test_rounds_that_are_remembered_are_not_asked_again() -> None:
    vehicles, prices = fleets.fleet(2_000), fleets.day_ahead()
    first, memory = HereCrew(3), Memory([])
    plan = parts.plan_area(vehicles, prices, crew=first, limit_kw=3_500, memory=memory)
    again, rest = HereCrew(2), Memory(memory.kept[:-2])
    same = parts.plan_area(vehicles, prices, crew=again, limit_kw=3_500, memory=rest)
    assert area_parts.numbers(same.area) == area_parts.numbers(plan.area)
    assert len(rest.kept) == 2
    assert first.questions - again.questions == len(memory.kept) - 2


class Broken(HereCrew):
    """Leaves out a part, or says what was asked of another."""

    def __init__(self, fault: str) -> None:
        super().__init__(3)
        self._fault = fault

    def answer(self, request: Request) -> list[pa.RecordBatch]:
        found = super().answer(request)
        if self._fault == "raises" and self.questions == 4:
            raise ConnectionError("the other machine is gone")
        if self._fault == "less":
            return found[1:]
        return [*found, found[0]] if self._fault == "twice" else found


def test_an_answer_that_is_missing_or_doubled_is_refused() -> None:
    vehicles, prices = fleets.fleet(900), fleets.day_ahead()
    for fault in ("less", "twice"):
        with pytest.raises(sw.InputError, match=r"part . did not answer what it was asked"):
            parts.plan_area(vehicles, prices, crew=Broken(fault), limit_kw=2_000)
    with pytest.raises(ConnectionError, match="is gone"):
        parts.plan_area(vehicles, prices, crew=Broken("raises"), limit_kw=2_000)
    with pytest.raises(sw.InputError, match="parts is 0; it is 1 or more"):
        parts.plan_area(vehicles, prices, crew=HereCrew(0), limit_kw=2_000)


class Listening(HereCrew):
    """Remembers a request and a partition."""

    heard: Request
    rows: list[pa.RecordBatch]

    def answer(self, request: Request) -> list[pa.RecordBatch]:
        self.heard, self.rows = request, next(self.partitions())
        return super().answer(request)


def test_rows_that_are_not_those_of_a_place_are_refused() -> None:
    crew = Listening(2)
    parts.plan_area(fleets.fleet(900), fleets.day_ahead(), crew=crew, limit_kw=2_000)
    rows = pa.Table.from_batches(crew.rows)
    with pytest.raises(sw.InputError, match="the part has 10 vehicles; its worker has"):
        open_part(rows.slice(0, 10), crew.heard.terms, crew.heard.places[0])
    other = AreaTerms(prices=fleets.day_ahead(48), nodes=crew.heard.terms.nodes)
    part = open_part(rows, other, crew.heard.places[0])
    with pytest.raises(sw.InputError, match="belongs to another area"):
        part.answer(crew.heard.question, crew.heard.own[0], None)


def test_a_request_travels_and_is_answered_again() -> None:
    crew = Listening(2)
    parts.plan_area(fleets.fleet(900), fleets.day_ahead(), crew=crew, limit_kw=2_000)
    there = pickle.loads(pickle.dumps(crew.heard))  # noqa: S301 - our own bytes
    first = pa.Table.from_batches(answer_parts(crew.rows, crew.heard))
    again = pa.Table.from_batches(answer_parts(crew.rows[::-1], there))
    assert first.equals(again)


class DaskCrew:
    """Parts as a Dask bag of record batches."""

    def __init__(self, parts: int, partitions: int) -> None:
        self.parts = parts
        self._partitions = partitions
        self._batches: list[pa.RecordBatch] = []

    def deal(self, part: int, vehicles: Any) -> None:
        del part
        self._batches += pa.table(vehicles).to_batches()

    def answer(self, request: Request) -> list[pa.RecordBatch]:
        return self.run(answer_parts, request)

    def run(self, function: Any, request: Request) -> list[pa.RecordBatch]:
        bag = dask.bag.from_sequence(self._batches, npartitions=self._partitions)
        with dask.config.set(scheduler="threads", num_workers=2):
            found: list[pa.RecordBatch] = bag.map_partitions(function, request).compute()
        return found


def test_dask_plans_the_same_area() -> None:
    vehicles, prices, nodes = area_parts.town(600)
    local = sw.plan_area(vehicles, prices, nodes=nodes, rounds_max=8)
    crew = DaskCrew(5, 3)
    planned = parts.plan_area(vehicles, prices, crew=crew, nodes=nodes, rounds_max=8)
    check_same(local, planned, in_order(crew.run(plan_parts, planned.request)))


def test_dask_plans_a_table_row_by_row() -> None:
    vehicles, prices = fleets.fleet(500), fleets.day_ahead()
    frame = dask.dataframe.from_pandas(vehicles.to_pandas(), npartitions=3)

    def planned(piece: pd.DataFrame) -> pd.DataFrame:
        batches = pa.Table.from_pandas(piece, preserve_index=False).to_batches()
        plans: pd.DataFrame = pa.Table.from_batches(plan_batches(batches, prices)).to_pandas()
        return plans

    meta = planned(vehicles.slice(0, 1).to_pandas()).iloc[:0]
    with dask.config.set(scheduler="sync"):
        found = frame.map_partitions(planned, meta=meta).compute()
    alone = pa.table(sw.plan_batch(vehicles, prices))
    assert found["cost"].tolist() == alone["cost"].to_pylist()
    assert found["status"].tolist() == alone["status"].to_pylist()


def test_the_functions_are_ready_for_partial() -> None:
    # `mapInArrow` gives the batches alone.
    crew = Listening(2)
    parts.plan_area(fleets.fleet(500), fleets.day_ahead(), crew=crew, limit_kw=1_500)
    answer = partial(answer_parts, request=crew.heard)
    assert pa.Table.from_batches(answer(iter(crew.rows))).num_rows > 0
    assert list(answer(iter([]))) == []

"""Areas on Ray: the same bits as one process, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import ray.data

import slackwater as sw
import slackwater.ray
from slackwater import parts
from slackwater.ray import RayCrew

import area_parts
import fleets
from area_parts import check_same, in_order


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    """Start Ray in processes of this machine."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_actors_gives_the_same_bits(count: int) -> None:
    vehicles, prices, nodes = area_parts.town(1_500)
    local = sw.plan_area(vehicles, prices, nodes=nodes, rounds_max=30)
    planned = slackwater.ray.plan_area(
        vehicles, prices, nodes=nodes, rounds_max=30, crew=RayCrew(parts=count)
    )
    assert len(planned.crew.pids()) == count
    assert area_parts.numbers(planned.area) == area_parts.numbers(local)
    assert area_parts.bits(planned.to_arrow()) == area_parts.bits(pa.table(local))
    planned.crew.close()


def test_a_dataset_of_ray(tmp_path: Path) -> None:
    vehicles, prices = fleets.fleet(3_000), fleets.day_ahead()
    dataset = ray.data.from_arrow([vehicles.slice(0, 1_000), vehicles.slice(1_000)])
    local = sw.plan_area(vehicles, prices, limit_kw=5_000)
    planned = slackwater.ray.plan_area(dataset, prices, limit_kw=5_000)
    assert area_parts.numbers(planned.area) == area_parts.numbers(local)
    files = planned.write(tmp_path / "plans")
    assert len(files) == len(planned.crew.pids()) == 4
    written = pa.concat_tables([pq.read_table(file) for file in files])
    assert area_parts.bits(in_order(written)) == area_parts.bits(pa.table(local))
    assert {path.suffix for path in (tmp_path / "plans").iterdir()} == {".parquet"}
    planned.crew.close()


def test_plans_of_parts_without_changes_are_written(tmp_path: Path) -> None:
    """A request need not say in what a part is no longer as it was dealt."""
    vehicles, prices = fleets.fleet(300), fleets.day_ahead()
    local = sw.plan_area(vehicles, prices, limit_kw=5_000)
    crew = RayCrew(parts=2)
    planned = parts.plan_area(vehicles, prices, crew=crew, limit_kw=5_000)
    files = crew.write(replace(planned.request, changes=None), tmp_path)
    written = pa.concat_tables([pq.read_table(file) for file in files])
    assert area_parts.bits(in_order(written)) == area_parts.bits(pa.table(local))
    crew.close()


class Killing(RayCrew):
    """Kills an actor while it has a question, in some rounds."""

    def __init__(self, rounds: Sequence[int]) -> None:
        super().__init__(parts=3)
        self._rounds = rounds
        self._asked = 0
        self.killed: list[int] = []

    def gather(self, references: list[Any]) -> Sequence[Any]:
        self._asked += 1
        if self._asked in self._rounds:
            pid = self.pids()[self._asked % 3]
            more = self.submit(self.last)
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)
            return super().gather(more)
        return super().gather(references)

    def answer(self, request: parts.Request) -> Sequence[Any]:
        self.last = request
        return super().answer(request)


@pytest.mark.parametrize("limit_kw", [5_000, 300])
def test_killed_workers_change_nothing(limit_kw: float) -> None:
    # The lower limit leaves a shortage, so that actors have changed needs to come back to.
    vehicles, prices = fleets.fleet(3_000), fleets.day_ahead()
    local = sw.plan_area(vehicles, prices, limit_kw=limit_kw, rounds_max=40)
    each_alone = sw.plan_area(vehicles, prices, limit_kw=1e6).shortfall_kwh
    assert (local.shortfall_kwh > each_alone + 100) == (limit_kw == 300)
    crew = Killing([2, 5, 9, local.rounds])
    planned = parts.plan_area(vehicles, prices, crew=crew, limit_kw=limit_kw, rounds_max=40)
    assert len(set(crew.killed)) == 4
    assert not set(crew.killed) & set(crew.pids())
    plans = pa.concat_tables(ray.get(crew.submit(planned.request, "plans")))
    check_same(local, planned, in_order(plans))
    crew.close()


def test_a_mistake_of_the_caller_is_told_as_elsewhere() -> None:
    vehicles = fleets.fleet(10).drop_columns(["power_max_kw"])
    with pytest.raises(sw.InputError, match="power_max_kw"):
        slackwater.ray.plan_area(vehicles, fleets.day_ahead(), limit_kw=10)

"""Areas on Spark, by ``mapInArrow``: the same bits as one process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import slackwater as sw
from slackwater import parts
from slackwater.parts import Request, answer_parts, plan_batches, plan_parts

import area_parts
import fleets
from area_parts import check_same, in_order

SUMS = (
    "area_part long, group long, node long, cost array<double>, shed_worth array<double>, "
    "slack array<double>, load array<long>, shed long, sold long, short array<long>"
)
INTERVALS = "intervals array<struct<start timestamp, end timestamp, power_kw double>>"
PLANS = (
    "id string, cost double, energy_kwh double, discharged_kwh double, shortfall_kwh double, "
    f"baseline_cost double, savings double, {INTERVALS}, error string, area_row long"
)
BATCH = (
    "id string, cost double, energy_kwh double, shortfall_kwh double, "
    "marginal_price_per_kwh double, baseline_cost double, "
    "savings double, gap double, unpriced_hours double, "
    f"{INTERVALS}, status string, error string"
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Start Spark in processes of this machine."""
    builder = SparkSession.builder.master("local[2]").appName("slackwater")
    builder = builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


class SparkCrew:
    """Parts as a data frame that is partitioned by part."""

    def __init__(self, spark: SparkSession, parts: int, partitions: int) -> None:
        self.parts = parts
        self._spark = spark
        self._partitions = partitions
        self._tables: list[pa.Table] = []
        self._frame: DataFrame | None = None

    def deal(self, part: int, vehicles: Any) -> None:
        del part
        self._tables.append(pa.table(vehicles))

    def frame(self) -> DataFrame:
        if self._frame is None:
            rows = self._spark.createDataFrame(pa.concat_tables(self._tables))
            self._frame = rows.repartition(self._partitions, "area_part").cache()
        return self._frame

    def answer(self, request: Request) -> list[pa.Table]:
        return [self.run(answer_parts, request, SUMS)]

    def run(self, function: Any, request: Request, columns: str) -> pa.Table:
        told = partial(function, request=request)
        table: pa.Table = self.frame().mapInArrow(told, columns).toArrow()
        return table


def test_spark_plans_the_same_area(spark: SparkSession) -> None:
    vehicles, prices, nodes = area_parts.town(1_200)
    local = sw.plan_area(vehicles, prices, nodes=nodes, rounds_max=8)
    crew = SparkCrew(spark, 4, 2)
    planned = parts.plan_area(vehicles, prices, crew=crew, nodes=nodes, rounds_max=8)
    check_same(local, planned, in_order(crew.run(plan_parts, planned.request, PLANS)))


def test_spark_plans_a_table_row_by_row(spark: SparkSession) -> None:
    vehicles, prices = fleets.fleet(500), fleets.day_ahead()
    rows = spark.createDataFrame(vehicles).repartition(3, "id")
    found = rows.mapInArrow(partial(plan_batches, prices=prices), BATCH).toArrow()
    alone = pa.table(sw.plan_batch(vehicles, prices)).sort_by("id")
    found = found.sort_by("id")
    for name in ("cost", "energy_kwh", "baseline_cost", "intervals"):
        assert found[name].to_pylist() == alone[name].to_pylist()

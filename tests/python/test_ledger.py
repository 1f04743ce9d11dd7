"""The ledger of savings, and pictures of it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slackwater as sw
from slackwater import statistics
from slackwater.statistics import Sample

from sample_tables import HOUR, MONDAY, aggregate, ledger_tables, prices_of, quarters


def test_many_sessions_are_frozen_as_each_alone() -> None:
    prices = prices_of([round(0.1 + (n * 7 % 11) / 50, 3) for n in range(72)])
    heads, rows = ledger_tables(60)
    ledger = statistics.freeze_sessions(heads, rows, prices)
    summary = pa.table(ledger.sessions).to_pylist()
    kept = Counter(pa.table(ledger.rows).column("session").to_pylist())
    for head, found in zip(heads.to_pylist(), summary, strict=True):
        own = [row for row in rows.to_pylist() if row["session"] == head["session"]]
        alone = statistics.freeze_session(
            [Sample(row["start"], row["end"], row["power_kw"]) for row in own],
            prices,
            plugged_in=head["plugged_in"],
            power_max_kw=head["power_max_kw"],
            is_smart=head["is_smart"],
        )
        assert found["savings"] == alone.savings
        assert found["session"] == head["session"]
        assert kept[head["session"]] == len(alone.samples)
        item = statistics.session(alone.samples)
        assert found["cost"] == (item.totals.cost if item else None)


@pytest.mark.parametrize("resolution", statistics.RESOLUTIONS)
@pytest.mark.parametrize("offset", [0, -13.75, 2])
def test_savings_of_buckets_are_those_of_sessions_to_the_last_digit(
    resolution: str, offset: float
) -> None:
    prices = prices_of([0.1 + (n * 13 % 17) / 30 for n in range(96)])
    ledger = statistics.freeze_sessions(*ledger_tables(80, seed=3), prices)
    sessions = pl.DataFrame(ledger.sessions)
    buckets = aggregate(ledger.rows, resolution=resolution, utc_offset_hours=offset)
    assert sessions["savings"].sum() != 0
    assert buckets["savings"].sum() == sessions["savings"].sum()
    assert buckets["cost"].sum() == sessions["cost"].sum()
    by_session = aggregate(ledger.rows, by="session", resolution="year")
    assert by_session["savings"].sum() == sessions["savings"].sum()


def test_sessions_may_have_prices_of_their_own() -> None:
    heads = pa.table(
        {
            "session": [1, 2],
            "plugged_in": [MONDAY] * 2,
            "power_max_kw": [10.0] * 2,
            "price_id": ["a", "b"],
        }
    )
    late = MONDAY + HOUR
    rows = pa.table(
        {"session": [2, 1], "start": [late] * 2, "end": [late + HOUR] * 2, "power_kw": [10.0] * 2}
    )
    prices = {"a": prices_of([0.3, 0.1]), "b": prices_of([0.2, 0.3])}
    ledger = statistics.freeze_sessions(heads, rows, prices)
    assert pa.table(ledger.sessions).column("savings").to_pylist() == [Decimal(2), Decimal(-1)]
    with pytest.raises(sw.InputError, match='there are no prices "b"'):
        statistics.freeze_sessions(heads, rows, {"a": prices["a"]})


def test_a_ledger_has_all_sessions_or_says_which_it_refuses() -> None:
    prices = prices_of([0.3, 0.1])
    heads = pa.table(
        {"session": ["a", "b"], "plugged_in": [MONDAY] * 2, "power_max_kw": [1.0, 0.0]}
    )
    row = {"start": [MONDAY], "end": [MONDAY + HOUR], "power_kw": [1.0]}

    def refused(heads: pa.Table, rows: pa.Table) -> str:
        with pytest.raises(sw.InputError) as caught:
            statistics.freeze_sessions(heads, rows, prices)
        return str(caught.value)

    known = pa.table({"session": ["b"]} | row)
    assert refused(heads, known).startswith("session in row 1: power_max_kw is 0 kW")
    unknown = pa.table({"session": ["c"]} | row)
    assert refused(heads, unknown) == "session of row 0 of the samples is no session"
    twice = pa.concat_tables([heads, heads])
    assert refused(twice, known) == "session of row 2 is there already"
    flags = heads.append_column("is_smart", pa.array([1, 0]))
    assert "not true or false" in refused(flags, known)
    assert 'no column "plugged_in"' in refused(heads.drop_columns(["plugged_in"]), known)
    empty = statistics.freeze_sessions(heads.slice(0, 0), known.slice(0, 0), prices)
    assert (len(empty.rows), len(empty.sessions)) == (0, 0)


def test_no_later_price_changes_the_ledger() -> None:
    heads, rows = ledger_tables(20, seed=8)
    ledger = statistics.freeze_sessions(heads, rows, prices_of([0.1, 0.4] * 48))
    savings = pl.DataFrame(ledger.sessions)["savings"].to_list()
    again = pa.table(ledger.rows)
    for session, expected in zip(heads.column("session").to_pylist(), savings, strict=True):
        own = again.filter(pc.equal(again.column("session"), session))
        kept = [Sample(*row.values()) for row in own.drop_columns(["session"]).to_pylist()]
        item = statistics.session(kept)
        found = item.totals.non_smart.savings if item and item.totals.non_smart else None
        assert found == (None if item is None else expected)


# ----------------------------------------------------------------- pictures


def test_a_year_is_drawn() -> None:
    prices = prices_of([0.1 + (n * 13 % 17) / 30 for n in range(96)])
    ledger = statistics.freeze_sessions(*ledger_tables(40), prices)
    figure = statistics.plot_year(ledger.rows, currency="EUR", time_zone="Europe/Berlin")
    above, below, _ = figure.axes
    assert above.get_ylabel() == "Cost (EUR)"
    assert "less than the baseline" in above.get_title(loc="left")
    assert below.get_xlabel() == "Hour in Europe/Berlin"
    week = statistics.hours_of_week(ledger.rows, time_zone="Europe/Berlin")
    drawn: Any = below.images[0].get_array()
    assert [list(row) for row in drawn] == week
    figure.canvas.draw()


def test_bars_are_the_columns_of_months_and_a_stream_is_read_once() -> None:
    prices = prices_of([0.1 + (n * 13 % 17) / 30 for n in range(96)])
    ledger = statistics.freeze_sessions(*ledger_tables(40, seed=5), prices)
    stream = pa.table(ledger.rows).to_reader(max_chunksize=7)
    figure = statistics.plot_year(stream, currency="EUR")
    months = aggregate(ledger.rows, resolution="month")
    patches: Any = figure.axes[0].patches
    heights = [bar.get_height() for bar in patches]
    bars = [*months["baseline_cost"].to_list(), *months["cost"].to_list()]
    assert heights == [float(bar) for bar in bars]
    # Some sessions are not smart: their cost is in either bar.
    assert (months["baseline_cost"] - months["cost"]).to_list() == months["savings"].to_list()
    assert months["non_smart_cost"].sum() < months["baseline_cost"].sum()


def test_pictures_of_nothing_and_of_no_smart_charging_are_drawn() -> None:
    plain = quarters(40).drop_columns(["non_smart_kw"])
    figure = statistics.plot_year(plain, currency="$US$")
    assert figure.axes[0].get_title(loc="left") == "Cost by month, Mar 2024"
    figure.canvas.draw()
    nothing = statistics.plot_year(plain.slice(0, 0), currency="EUR")
    assert nothing.axes[0].texts[0].get_text() == "nothing was measured"
    with pytest.raises(sw.InputError, match="no/where"):
        statistics.plot_year(plain, currency="EUR", time_zone="no/where")

"""Bills against Utilityrate5 of nrel-pysam, the bill calculator of the utility rate database.

Its year has 365 days, begins on a Monday and has no summer time: 2018 in UTC. Its amounts are not
rounded, so tariffs here keep six decimals in a line; totals of months have to be equal to the cent.
``make bills`` compares a thousand loads, the ordinary run a few of them.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from PySAM import Utilityrate5

import slackwater as sw

START = datetime(2018, 1, 1, tzinfo=UTC)
HOURS = 8760
UNBOUNDED = 1e38
LOADS = int(os.environ.get("BILL_LOADS", "8"))


def rates_of(random: np.random.Generator) -> dict[str, Any]:
    """Numbers of a tariff: prices by season and hour or by use, peaks, fees and exports."""
    first, last = sorted(random.choice(24, 2, replace=False).tolist())
    return {
        "summer": sorted((random.choice(12, 5, replace=False) + 1).tolist()),
        "peak_hours": (int(first), int(last) + 1),
        "price": [round(float(price), 5) for price in random.uniform(0.05, 0.6, 3)],
        "sell": round(float(random.uniform(0.01, 0.05)), 5),
        "block_kwh": int(random.integers(100, 900)) if random.random() < 0.4 else None,
        "peak_price": round(float(random.uniform(0, 18)), 2),
        "summer_peak_price": round(float(random.uniform(0, 9)), 2),
        "fee": round(float(random.uniform(0, 40)), 2),
        "steps": int(random.choice([1, 4])),
    }


def hours_text(rates: dict[str, Any]) -> str:
    """Peak hours as our calendars write them."""
    first, last = rates["peak_hours"]
    return f"{first:02}:00-{last % 24:02}:00"


def read(components: list[dict[str, Any]]) -> sw.BillingTariff:
    """Read a tariff of 2018 in UTC with six decimals in a line."""
    return sw.tariffs.read_tariff(
        {
            "name": "Random",
            "operator": "Test",
            "country": "US",
            "currency": "USD",
            "time_zone": "UTC",
            "valid_from": "2018-01-01",
            "vat": "excluded",
            "sources": [{"document": "Random numbers", "url": "https://example.org"}],
            "rounding": {"decimals": 6, "half": "away_from_zero"},
            "components": components,
        }
    )


def tariff_of(rates: dict[str, Any]) -> sw.BillingTariff:
    """Build the tariff in our format."""
    prices = [str(price) for price in rates["price"]]
    peak = {"months": rates["summer"], "weekdays": [0, 1, 2, 3, 4], "times": [hours_text(rates)]}
    energy = {"kind": "energy", "category": "energy", "direction": "import"}
    if rates["block_kwh"] is None:
        summer = {"months": rates["summer"]}
        components: list[dict[str, Any]] = [
            {
                **energy,
                "id": "energy",
                "rates": [
                    {"name": "summer peak", "price_per_kwh": prices[0], "when": peak},
                    {"name": "summer", "price_per_kwh": prices[1], "when": summer},
                    {"name": "winter", "price_per_kwh": prices[2]},
                ],
            }
        ]
    else:
        components = [
            {
                **energy,
                "id": f"energy {side}",
                "rates": [{"name": side, "price_per_kwh": price}],
                "allowance": {
                    "applies": side,
                    "per": "month",
                    "amounts": [{"kwh": str(rates["block_kwh"])}],
                },
            }
            for side, price in (("within", prices[0]), ("beyond", prices[1]))
        ]
    window = {1: "hour", 4: "quarter_hour"}[rates["steps"]]
    capacity = {"kind": "capacity", "category": "network"}
    weights = [{"factor": "1", "when": peak}, {"factor": "0"}]
    components += [
        {
            **energy,
            "id": "export",
            "direction": "export",
            "rates": [{"name": "all", "price_per_kwh": f"-{rates['sell']}"}],
        },
        {
            **capacity,
            "id": "peak",
            "demand": {"window": window, "highest": 1},
            "charge": {"per": "month", "price": str(rates["peak_price"])},
        },
        {
            **capacity,
            "id": "summer peak",
            "demand": {"window": window, "highest": 1, "weights": weights},
            "charge": {"per": "month", "price": str(rates["summer_peak_price"])},
        },
        {
            "kind": "fixed",
            "id": "fee",
            "category": "fee",
            "amount": str(rates["fee"]),
            "per": "month",
        },
    ]
    return read(components)


def schedule(rates: dict[str, Any], winter: int, summer: int, peak: int) -> list[list[int]]:
    """Periods of Utilityrate5 by month and hour."""
    first, last = rates["peak_hours"]
    return [
        [
            winter if month not in rates["summer"] else peak if first <= hour < last else summer
            for hour in range(24)
        ]
        for month in range(1, 13)
    ]


def peer_bills(rates: dict[str, Any], load: Any, generation: Any) -> list[float]:
    """Bill a year with Utilityrate5."""
    peer = Utilityrate5.new()
    price, sell = rates["price"], rates["sell"]
    if rates["block_kwh"] is None:
        energy = [[n + 1, 1, UNBOUNDED, 0, price[n], sell] for n in range(3)]
        weekday, weekend = schedule(rates, 3, 2, 1), schedule(rates, 3, 2, 2)
    else:
        energy = [
            [1, 1, rates["block_kwh"], 0, price[0], sell],
            [1, 2, UNBOUNDED, 0, price[1], sell],
        ]
        weekday = weekend = [[1] * 24] * 12
    peer.ElectricityRates.assign(
        {
            "en_electricity_rates": 1,
            "rate_escalation": [0],
            "ur_metering_option": 2,
            "ur_ec_tou_mat": energy,
            "ur_ec_sched_weekday": weekday,
            "ur_ec_sched_weekend": weekend,
            "ur_dc_enable": 1,
            "ur_dc_flat_mat": [[m, 1, UNBOUNDED, rates["peak_price"]] for m in range(12)],
            "ur_dc_tou_mat": [[1, 1, UNBOUNDED, 0], [2, 1, UNBOUNDED, rates["summer_peak_price"]]],
            "ur_dc_sched_weekday": schedule(rates, 1, 1, 2),
            "ur_dc_sched_weekend": [[1] * 24] * 12,
            "ur_monthly_fixed_charge": rates["fee"],
            "ur_monthly_min_charge": 0,
            "ur_annual_min_charge": 0,
            "ur_nm_yearend_sell_rate": 0,
            "ur_nm_credit_month": 0,
            "ur_nm_credit_rollover": 0,
        }
    )
    peer.Lifetime.assign(
        {"analysis_period": 1, "inflation_rate": 0, "system_use_lifetime_output": 0}
    )
    peer.SystemOutput.assign({"gen": generation.tolist(), "degradation": [0]})
    peer.Load.assign({"load": load.tolist(), "load_escalation": [0]})
    peer.execute(0)
    return list(peer.Outputs.year1_monthly_utility_bill_w_sys)


@pytest.mark.parametrize("seed", range(LOADS))
def test_bills_are_those_of_utilityrate5_to_the_cent(seed: int) -> None:
    random = np.random.default_rng(seed)
    rates = rates_of(random)
    count = HOURS * rates["steps"]
    # Multiples of 4 W: a quarter of an hour has whole milliwatt-hours.
    load = random.integers(0, 3000, count) / 250
    sunny = (np.arange(count) // rates["steps"] % 24 > 8) & (random.random(count) < 0.4)
    generation = sunny * random.integers(0, 2500, count) / 250
    slot = timedelta(hours=1) / rates["steps"]
    ours = sw.bill(load - generation, tariff_of(rates), start=START, slot=slot)
    theirs = peer_bills(rates, load, generation)
    amounts = [month.total for month in ours.months]
    assert amounts == [pytest.approx(round(amount, 2), abs=1e-9) for amount in theirs]

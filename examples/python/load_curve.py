"""Load of a thousand cars in a week, charged on arrival and planned."""

from datetime import date, timedelta

import polars as pl

import slackwater as sw

stays = pl.DataFrame(sw.sim.week_of_stays(1000, week_start=date(2026, 10, 19), seed=1))
prices = sw.sim.year_of_prices(2026)
for name, curve in {"on arrival": prices * 0, "planned": prices}.items():
    load = pl.DataFrame(sw.plan_batch(stays, curve).load(timedelta(minutes=15)))
    print(f"{name}: at most {load['power_kw'].max():.0f} kW, {load['energy_kwh'].sum():.0f} kWh")

"""A commuter's savings by month: home at 18:00, away at 07:00, 10 kWh a night."""

from datetime import date

import polars as pl

import slackwater as sw

days = pl.date_range(date(2026, 1, 1), date(2026, 12, 30), eager=True).alias("id").to_frame()
clock = [pl.col("id").cast(pl.Datetime).dt.offset_by(hours) for hours in ("18h", "31h")]
home, away = (time.dt.replace_time_zone("Europe/Berlin") for time in clock)
needs = {"energy_kwh": pl.lit(10.0), "power_max_kw": pl.lit(11.0)}
stays = days.with_columns(arrival=home, departure=away, **needs)
plans = pl.DataFrame(sw.plan_batch(stays, sw.sim.year_of_prices(2026).plus(0.12).times(1.19)))
print(plans.group_by_dynamic("id", every="1mo").agg(pl.col("cost", "savings").sum()))

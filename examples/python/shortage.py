"""Cars behind a transformer that is too small: who gets less, and behind which limit."""

from datetime import date

import polars as pl

import slackwater as sw

cars = pl.DataFrame(sw.sim.fleet(300, seed=4, day=date(2026, 1, 12))).with_row_index("row")
area = sw.plan_area(cars, sw.sim.year_of_prices(2026), limit_kw=40)
short = pl.DataFrame([need.to_dict() for need in area.shortfalls]).rename({"energy_kwh": "short"})
print(area, cars.join(short, on="row").select("id", "energy_kwh", "short", "node"), sep="\n")

"""Value of vehicle-to-grid for fifty cars in January, by the price of wear."""

import polars as pl

import slackwater as sw

market = sw.sim.year_of_prices(2026)
stays = pl.DataFrame(sw.sim.year_of_stays(50, 2026)).drop("energy_kwh")
cars = stays.filter(pl.col("arrival").dt.month() == 1).with_columns(target_percent=80.0)
for cents in range(0, 12, 2):
    worn = cars.with_columns(wear_price_per_kwh=cents / 100, discharge_max_kw="power_max_kw")
    tables = worn.with_columns(discharge_max_kw=0.0), worn
    plans = [pl.DataFrame(sw.plan_storage_batch(each, market, market)) for each in tables]
    print(f"{cents} ct/kWh: {plans[0]['cost'].sum() - plans[1]['cost'].sum():.2f} EUR")

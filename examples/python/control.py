"""A month re-planned every quarter of an hour, against hindsight."""

from datetime import timedelta

import polars as pl

import slackwater as sw

prices = sw.sim.year_of_prices(2026)
stays = pl.DataFrame(sw.sim.year_of_stays(20, 2026)).filter(pl.col("arrival").dt.month() == 10)
ends = stays["arrival"].min() - timedelta(days=9), stays["departure"].max() + timedelta(days=2)
settled = prices.between(*ends)
published = sw.publish_day_ahead(settled, at="13:00", time_zone="Europe/Berlin")
result = sw.simulate(sw.Replan(), stays, settled, published)
print(result, result.regret_parts, sep="\n")

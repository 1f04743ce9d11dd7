"""Cost against emissions of one night."""

from datetime import UTC, datetime, timedelta

import slackwater as sw

now = datetime(2026, 1, 12, 17, tzinfo=UTC)
prices = sw.sim.year_of_prices(2026).between(now, now + timedelta(hours=38))
grid = sw.Series.from_values(now, [450] * 14 + [180] * 8 + [400] * 16, unit="g/kWh")


def plan(carbon: sw.Carbon) -> sw.Plan:
    """Plan the night at a price of emissions."""
    return sw.plan_charge(prices, now=now, power_max_kw=11, targets=[(None, 40)], carbon=carbon)


for point in sw.pareto(plan, intensity=grid, prices_per_kg=[0, 0.05, 0.1, 0.2, 0.4]):
    print(f"{point.price_per_kg} EUR/kg: {point.cost:.2f} EUR, {point.carbon_kg:.1f} kg")

"""A heat pump that heats ahead of dear hours, with a cooler night."""

from datetime import UTC, datetime, timedelta

import slackwater as sw

now = datetime(2026, 1, 12, 17, tzinfo=UTC)
prices = sw.sim.year_of_prices(2026).between(now, now + timedelta(hours=24))
house = {"capacity_kwh_per_k": 8, "loss_kw_per_k": 0.2, "temperature_celsius": 21}
comfort = {"comfort_celsius": (20, 23), "set_backs": [("22:00", "06:00", 18, 23)]}
unit = {"power_max_kw": 3, "cop": [(-7, 2.4), (2, 3.2), (7, 4.0)], "outdoor_celsius": 2.0}
plan = sw.plan_heat(prices, now=now, time_zone="Europe/Oslo", **house, **comfort, **unit)
print(f"{plan.used_kwh:.1f} kWh for {plan.cost:.2f} EUR, thermostat {plan.baseline_cost:.2f} EUR")
print(*(reason.sentence for reason in plan.explain(time_zone="Europe/Oslo")[:3]), sep="\n")

"""What a plan may cost if prices turn out otherwise: normal errors of 5 ct/kWh."""

from datetime import UTC, datetime

import numpy as np

import slackwater as sw

now = datetime(2026, 1, 12, 17, tzinfo=UTC)
seven = sw.next_deadline("07:00", time_zone="Europe/Berlin", now=now)
prices = sw.sim.year_of_prices(2026).between(now, seven)
plan = sw.plan_charge(prices, now=now, power_max_kw=11, targets=[sw.Target(seven, 30)])
errors = np.random.default_rng(1).normal(0, 0.05, (500, len(prices)))
settled = [prices + sw.Prices.from_values(now, row, currency="EUR") for row in errors]
costs = [plan.evaluate(outcome).cost for outcome in settled]
print(f"{plan.cost:.2f} EUR planned, 90 % between", np.quantile(costs, [0.05, 0.95]).round(2))

"""Weeks later: what was decided, why, and the same again."""

from datetime import UTC, datetime, timedelta

import slackwater as sw

now = datetime(2026, 1, 12, 17, tzinfo=UTC)
prices = sw.sim.year_of_prices(2026).between(now, now + timedelta(hours=14))
sw.plan_charge(prices, now=now, power_max_kw=11, targets=[(None, 40)]).save("plan.json")
plan = sw.load_plan("plan.json")
print(plan, *(reason.sentence for reason in plan.explain()), sw.replay("plan.json"), sep="\n")

"""Ctrl-C in an area: the plan so far, whatever Python does at that moment."""

from __future__ import annotations

from typing import Any

import pytest

import slackwater as sw
from test_area import PRICES, fleet


@pytest.mark.parametrize("call", ["recall", "keep", "progress"])
def test_ctrl_c_while_python_is_called_gives_the_plan_so_far(call: str) -> None:
    calls: list[str] = []

    class Memory:
        def recall(self) -> str | None:
            interrupted("recall")
            return None

        def keep(self, text: str) -> None:
            interrupted("keep", text)

    def interrupted(name: str, _: object = None) -> None:
        calls.append(name)
        if name == call and calls.count(name) == 3:
            raise KeyboardInterrupt

    vehicles = fleet(50, energy_kwh=[1.0 + i % 17 for i in range(50)])
    watched: dict[str, Any] = {"progress": lambda at: interrupted("progress", at)}
    plan = sw.plan_area(vehicles, PRICES, limit_kw=90, relative_gap=0, memory=Memory(), **watched)
    assert (plan.status, plan.is_reproducible) == ("stopped", False)
    assert max(plan.load_kw) <= 90 + 1e-9

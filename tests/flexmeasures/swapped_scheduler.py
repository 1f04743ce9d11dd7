"""A plug-in of pytest: tests of FlexMeasures get our scheduler as ``StorageScheduler``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from slackwater import _flexmeasures
from slackwater.flexmeasures import SlackwaterScheduler

TESTS = "flexmeasures.data.models.planning.tests"
OWN_SOLVE = _flexmeasures.solve
calls = 0


def solve(*problem: Any, **named: Any) -> Any:
    """Solve a problem, and count it."""
    global calls  # noqa: PLW0603  one process, one thread
    calls += 1
    return OWN_SOLVE(*problem, **named)


def pytest_collection_finish() -> None:
    """Put the scheduler into the modules that have imported the other one."""
    _flexmeasures.solve = solve
    for name, module in list(sys.modules.items()):
        if name.startswith(TESTS) and hasattr(module, "StorageScheduler"):
            vars(module)["StorageScheduler"] = SlackwaterScheduler


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note in the report how often a test has solved a problem."""
    before = calls
    try:
        return (yield)
    finally:
        item.user_properties.append(("solved", calls - before))

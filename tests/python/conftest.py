"""What tests of several files need."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import hypothesis
import pytest

# Before pytest collects the examples of a module: it imports a module whose package is new to it a
# second time, and objects of such a copy have classes that pickle does not know.
import slackwater  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator

# The same cases on every run, and no clock that ends one on a busy machine.
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("fixed")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as at a terminal: a job in the background is started with it switched off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

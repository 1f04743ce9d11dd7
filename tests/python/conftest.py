"""What tests of several files need."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import hypothesis
import pytest

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

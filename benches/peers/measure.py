"""Clock and memory of a measuring process."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_CLEAR: Final = Path("/proc/self/clear_refs")
_RESET_PEAK: Final = "5"


def repeat(call: Callable[[], object], times: int) -> list[float]:
    """Wall time of each of ``times`` calls. An answer is dropped, unclocked, before the next."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        answer = call()
        seconds.append(time.perf_counter() - began)
        del answer
    return seconds


def each(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Wall time of each call, over ``rounds`` rounds of all of them."""
    return [seconds for _ in range(rounds) for call in calls for seconds in repeat(call, 1)]


def resident_bytes() -> int:
    """Memory of this process now."""
    return _status_bytes("VmRSS")


def peak_bytes() -> int:
    """Most memory of this process since :func:`forget_peak`."""
    return _status_bytes("VmHWM")


def forget_peak() -> None:
    """Gives unused memory back and restarts the count of the peak.

    Freed memory that the allocator keeps would otherwise hide what the next call allocates.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR.write_text(_RESET_PEAK)


def _status_bytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024
    message = f"{_STATUS} has no {name}"
    raise RuntimeError(message)

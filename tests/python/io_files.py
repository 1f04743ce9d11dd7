"""What the tests of the importers share."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias
from zoneinfo import ZoneInfo

import pytest

from slackwater import InputError, io

HOUR = timedelta(hours=1)
BRUSSELS = "Europe/Brussels"

PLAIN = "time,price (EUR/kWh)\n2026-01-05 18:00,0.25\n2026-01-05 19:00,-0.5\n"

Write: TypeAlias = Callable[[str], Path]


def writer(folder: Path) -> Write:
    """Writes text to a file whose name is short in messages."""

    def to_file(text: str) -> Path:
        path = folder / "prices"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def values(read: io.PriceImport) -> list[float]:
    return [round(price, 6) for _, _, price in read.prices.slots]


def starts(read: io.PriceImport) -> list[str]:
    return [f"{start:%d %H:%M}" for start, _, _ in read.prices.slots]


def hours_a_day(read: io.PriceImport, zone: str) -> dict[str, float]:
    """Hours with a price for each local date."""
    hours: dict[str, float] = {}
    for start, end, _ in read.prices.slots:
        date = start.astimezone(ZoneInfo(zone)).date().isoformat()
        hours[date] = hours.get(date, 0) + (end - start) / HOUR
    return hours


def refusal(call: Callable[[], object]) -> str:
    """What an importer says, without the folder of the file."""
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    head, mark, tail = text.partition("/prices")
    return f"prices{tail}" if mark and head.startswith("/") else text

"""Content of each dated version of the service, and its life."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, cast

from slackwater import _engine, _public
from slackwater._record import Record

VERSIONS: tuple[str, ...] = tuple(_engine.version_dates())
"""All dated versions, oldest first."""

LATEST: str = VERSIONS[-1]
"""The version that new clients get."""

StageName = Literal["unreleased", "current", "deprecated", "legacy", "legacy_brownouts", "upgraded"]


class _StageFields(NamedTuple):
    stage: StageName
    may_be_chosen: bool
    served: str | None


class Stage(_StageFields, Record):
    """Where a version stands.

    Attributes:
        stage: One of six words.
        may_be_chosen: Whether new clients may choose it.
        served: The version that a client pinned to it is served; ``None``
            before the first release.
    """

    __slots__ = ()


def fields(version: str) -> dict[str, bool]:
    """Tell which members and habits a version has, of those that not all have.

    Raises:
        InputError: There is no version of that date.

    Example:
        >>> fields("2023-05-01")["series_non_smart_cost_sum"]
        True
        >>> [version for version in VERSIONS if fields(version)["battery_idle"]]
        ['2024-10-01']
    """
    return dict(_engine.version_fields(version))


def stage(version: str, *, releases: Iterable[tuple[str, datetime]], now: datetime) -> Stage:
    """Tell where a version stands at an instant.

    Deprecated when its successor comes, legacy six calendar months later,
    with random rejections after four weeks more, and upgraded after eight.

    Args:
        version: Its date.
        releases: Versions with the aware times of their release, oldest first.
        now: The instant, aware.

    Raises:
        InputError: A version is unknown, or the releases are empty or out of order.
        TypeError: A time has no zone.

    Example:
        >>> from datetime import UTC, datetime
        >>> releases = [
        ...     ("2024-01-01", datetime(2024, 1, 1, tzinfo=UTC)),
        ...     ("2024-10-01", datetime(2024, 10, 1, tzinfo=UTC)),
        ... ]
        >>> stage("2024-01-01", releases=releases, now=datetime(2025, 4, 1, tzinfo=UTC))
        Stage(stage='legacy', may_be_chosen=False, served='2024-01-01')
    """
    name, may_be_chosen, served = _engine.version_stage(version, releases=list(releases), now=now)
    return Stage(cast("StageName", name), may_be_chosen, served)


_public.guard(__name__)

"""Plans as files: saved, loaded, planned again and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from slackwater import _engine
from slackwater._engine import Difference, InputError, Replay
from slackwater.capacity import CapacityPlan
from slackwater.coordinate import AreaPlan
from slackwater.heat import HeatPlan
from slackwater.plan import Plan
from slackwater.prices import Prices
from slackwater.site import SitePlan
from slackwater.storage import StoragePlan
from slackwater.switching import SwitchingPlan

__all__ = [
    "AnyPlan",
    "Difference",
    "Replay",
    "differences",
    "load_area",
    "load_plan",
    "plan_from_json",
    "replay",
]

AnyPlan = Plan | StoragePlan | HeatPlan | SwitchingPlan | SitePlan | CapacityPlan


# The public class of each native one.
_PUBLIC: Mapping[type, Callable[..., AnyPlan]] = MappingProxyType(
    {
        _engine.Plan: Plan,
        _engine.StoragePlan: StoragePlan,
        _engine.HeatPlan: HeatPlan,
        _engine.SwitchingPlan: SwitchingPlan,
        _engine.SitePlan: SitePlan,
        _engine.CapacityPlan: CapacityPlan,
    }
)


def plan_from_json(text: str) -> AnyPlan:
    """Read a plan from the text that ``to_json`` wrote.

    Args:
        text: A saved plan of any kind.

    Returns:
        The plan as it was saved. It is not planned again.

    Raises:
        InputError: The text is no saved plan, is cut off, or has a value that
            no plan can have; the message names its place. Areas are read by
            :func:`load_area`.
    """
    _refuse_area(text)
    try:
        native = _engine.plan_from_json(text)
    except InputError as error:
        raise _no_plan(text, error) from None
    return _PUBLIC[type(native)](native, Prices._wrap(native._import_prices))


def load_plan(path: str | PathLike[str]) -> AnyPlan:
    """Read a plan from the file that ``save`` wrote.

    Args:
        path: File with a saved plan of any kind.

    Returns:
        The plan as it was saved, of its class, with its prices: ``explain``, ``plot`` and
        all the rest work as on the day it was made.

    Raises:
        InputError: As :func:`plan_from_json`; the message begins with the path.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan.save(f"{folder}/plan.json")
        ...     loaded = sw.load_plan(f"{folder}/plan.json")
        >>> loaded == plan, loaded.prices == prices
        (True, True)
    """
    with _Named(path):
        return plan_from_json(_text_of(path))


def load_area(path: str | PathLike[str]) -> AreaPlan:
    """Read the plan of an area from the file that ``save`` wrote.

    Args:
        path: The file.

    Returns:
        The plan as it was saved: ``explain``, ``plot`` and ``plan_area(previous=...)`` work as
        on the day it was made. It has the plans of the vehicles, but not their table.

    Raises:
        InputError: The text is no saved area, is damaged, or of a later version.
        OSError: The file cannot be read.
    """
    with _Named(path):
        return AreaPlan.from_json(_text_of(path))


def replay(plan: str | PathLike[str]) -> Replay:
    """Plan a saved plan again and compare.

    The answer of this engine is written as :meth:`~slackwater.Plan.to_json`
    writes it and compared byte by byte with the saved answer. White space in
    the file and the spelling of its numbers (``7`` or ``7.0``) do not count.

    Args:
        plan: Path of a file, or the text of one. A string is text if it has
            a line break or begins with a brace.

    Returns:
        Whether the plan is the same, and each place in which it is not.

    Raises:
        InputError: As :func:`load_plan`.
        OSError: The file cannot be read.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.5, 0.25], currency="EUR")
        >>> plan = sw.plan_charge(prices, now=six, power_max_kw=8, targets=[(None, 8)])
        >>> sw.replay(plan.to_json()).same
        True
        >>> tampered = plan.to_json().replace('"cost": 2.0,', '"cost": 1.5,', 1)
        >>> [(each.path, each.before, each.after) for each in sw.replay(tampered).differences]
        [('plan.cost', 1.5, 2.0)]
    """
    if isinstance(plan, str) and ("\n" in plan or plan.startswith("{")):
        return _replayed(plan)
    with _Named(plan):
        return _replayed(_text_of(plan))


def _replayed(text: str) -> Replay:
    _refuse_area(text)
    try:
        return _engine.replay(text)
    except InputError as error:
        raise _no_plan(text, error) from None


def _no_plan(text: str, error: InputError) -> InputError:
    """Error for a text that is no saved plan, or for one that is damaged."""
    if text.lstrip().startswith("{"):
        return error
    return InputError(f"this is no saved plan, which is JSON: {error}")


def differences(before: AnyPlan, after: AnyPlan) -> list[Difference]:
    """List what differs between two plans: versions, prices, request, answer.

    Entries of a list are named by their start where they have one, so that a
    day of prices that begins an hour later differs in one hour, not in all.

    Args:
        before: A plan of any kind.
        after: Another, best of the same kind.

    Returns:
        Each place that differs, with both values; ``None`` where a plan has
        no value. Empty if the plans and all their inputs are equal.

    Example:
        >>> from datetime import UTC, datetime
        >>> import slackwater as sw
        >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
        >>> plans = [
        ...     sw.plan_charge(prices, now=six, power_max_kw=8, targets=[(None, kwh)])
        ...     for kwh in (8, 6)
        ... ]
        >>> for each in differences(*plans)[:2]:
        ...     print(each.path, each.before, each.after)
        request.targets[0].energy_kwh 8.0 6.0
        plan.intervals[2026-01-05T19:00:00Z].end 2026-01-05T20:00:00Z 2026-01-05T19:45:00Z
    """
    return _engine.saved_differences(before.to_json(), after.to_json())


def _refuse_area(text: str) -> None:
    if text.startswith('{"format": "slackwater_area"'):
        raise InputError(
            "this is a saved area; load_area reads it, and plan_area plans its vehicles again"
        )


class _Named:
    """Puts the name of a file in front of what is wrong with its text."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Name the file in an error of its content."""
        if isinstance(error, InputError):
            raise InputError(f"{self._path}: {error}") from None


def _text_of(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8; this is no saved plan") from None

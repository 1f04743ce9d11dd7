"""Every public function, method and constructor, with arguments made up from its annotations."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from os import PathLike
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import pyarrow as pa

import slackwater as sw
import slackwater.io
import slackwater.sim
import slackwater.statistics
from slackwater import _public
from slackwater.typing import ArrowTable

SIX = datetime(2026, 1, 5, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
BY = SIX + 3 * HOUR
PRICES: Any = sw.Prices.from_values(SIX, [0.3, 0.1, 0.2], currency="EUR")
BATTERY: Any = sw.Battery(50, 30)
PLAN: Any = sw.plan_charge(PRICES, now=SIX, power_max_kw=7, targets=[(BY, 7)])
STORAGE: Any = sw.plan_storage(
    PRICES, now=SIX, battery=BATTERY, power_max_kw=4, discharge_max_kw=4, targets=[]
)
SITE: Any = sw.plan_site(
    PRICES, now=SIX, devices=[sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(BY, 7)])]
)
SWITCHING: Any = sw.plan_switching(
    PRICES, now=SIX, power_max_kw=7, power_min_kw=1, targets=[sw.Target(BY, 7)]
)
POLICY: Any = sw.plan_policy(
    sw.MarkovPrices(states=[PRICES, PRICES.plus(0.1)], transitions=[[0.5, 0.5]] * 2, first=[1, 0]),
    now=SIX,
    power_max_kw=7,
    energy_kwh=9,
    shortfall_price_per_kwh=1,
)
CARS: Any = pa.table(
    {
        "id": [1],
        "arrival": [SIX],
        "departure": [BY],
        "power_max_kw": [7.0],
        "energy_kwh": [9.0],
    }
)
AREA: Any = sw.plan_area(CARS, PRICES, limit_kw=7)
SCENARIOS: Any = sw.plan_area_scenarios(
    CARS,
    [sw.AreaScenario(probability=1, prices=PRICES, limit_kw=7)],
    known_from=SIX,
    shortfall_price_per_kwh=1,
)

MADE: dict[object, Any] = {
    float: 1.0,
    int: 1,
    bool: True,
    str: "UTC",
    datetime: SIX,
    time: time(7, 0),
    timedelta: HOUR,
    sw.Prices: PRICES,
    sw.Plan: PLAN,
    sw.StoragePlan: STORAGE,
    sw.SitePlan: SITE,
    sw.SwitchingPlan: SWITCHING,
    sw.Battery: BATTERY,
    sw.Vehicle: sw.Vehicle("van", power_max_kw=7, targets=[sw.Target(BY, 7)]),
    ArrowTable: CARS,
    sw.Series: sw.Series.from_values(SIX, [0.4, 0.1], unit="kg/kWh"),
    None: None,
    type(None): None,
}
OBJECTS = {sw.Plan: PLAN, sw.StoragePlan: STORAGE, sw.SitePlan: SITE, sw.SwitchingPlan: SWITCHING}
OBJECTS |= {sw.AreaPlan: AREA, sw.Prices: PRICES, sw.ChargePolicy: POLICY}
OBJECTS |= {sw.AreaScenarioPlan: SCENARIOS}
# What draws, writes files or starts a cluster has tests of its own.
LEFT_OUT = {"plot", "plot_year", "save", "report", "write", "fleet"}


class Call(NamedTuple):
    """A public function with arguments for each of its parameters."""

    name: str
    function: Callable[..., object]
    arguments: dict[str, Any]
    in_place: tuple[str, ...]

    def run(self, **changed: object) -> object:
        """Call with some arguments changed."""
        given = self.arguments | changed
        in_place = [given.pop(name) for name in self.in_place]
        return self.function(*in_place, **given)


def made(hint: Any) -> Any:
    """A value for an annotation."""
    if isinstance(hint, typing.TypeVar):
        return None
    if hint in MADE:
        return MADE[hint]
    if get_origin(hint) is not None:
        return made_generic(get_origin(hint), get_args(hint))
    if isinstance(hint, type) and (hasattr(hint, "_fields") or dataclasses.is_dataclass(hint)):
        kind: Any = hint
        hints = hints_of(kind)
        given = kind._fields if hasattr(kind, "_fields") else required_fields(kind)
        return kind(**{name: made(hints[name]) for name in given})
    return None


def made_generic(origin: Any, inner: tuple[Any, ...]) -> Any:
    found: Any = None
    if origin is Literal:
        found = inner[0]
    elif origin in {Union, types.UnionType}:
        found = made(next(each for each in inner if each is not type(None)))
    elif origin is tuple:
        found = tuple(made(each) for each in inner if each is not Ellipsis)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        found = {made(inner[0]): made(inner[1])}
    elif isinstance(origin, type) and issubclass(origin, PathLike):
        found = "no-such-file"
    elif isinstance(origin, type) and issubclass(origin, Iterable):
        found = [made(inner[0])]
    return found


def required_fields(kind: Any) -> list[str]:
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is missing and field.default_factory is missing
    ]


def hints_of(annotated: Any) -> dict[str, Any]:
    names = _public._names_of(annotated.__module__)
    hints: dict[str, Any] = {}
    for name, hint in annotated.__annotations__.items():
        if name == "return" or name.startswith("_"):
            continue

        def holder() -> None: ...

        holder.__annotations__ = {name: hint}
        try:
            hints |= typing.get_type_hints(holder, globalns=names)
        except NameError:
            hints[name] = object
    return hints


def call_of(name: str, function: Any, annotated: Any, skipped: int) -> Call:
    parameters = list(inspect.signature(function).parameters.values())[skipped:]
    hints = hints_of(annotated)
    arguments = {each.name: made(hints.get(each.name, object)) for each in parameters}
    in_place = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return Call(name, function, arguments, tuple(in_place))


def public_calls() -> Iterator[Call]:
    """All public functions, methods of plans and prices, and constructors."""
    exported = [getattr(sw, name) for name in sw.__all__]
    below = [value for value in exported if inspect.ismodule(value)]
    modules = [sw, *below, slackwater.io, slackwater.sim]
    seen = set()
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_") or id(value) in seen or name in LEFT_OUT:
                continue
            where = getattr(value, "__module__", "")
            if not isinstance(where, str) or not where.startswith("slackwater") or "._r" in where:
                continue
            seen.add(id(value))
            label = f"{module.__name__.removeprefix('slackwater.')}.{name}"
            if inspect.isfunction(value) or (
                dataclasses.is_dataclass(value) and isinstance(value, type)
            ):
                yield call_of(label, value, value, 0)
    yield from method_calls()


def method_calls() -> Iterator[Call]:
    """Methods of plans and prices."""
    for kind, one in OBJECTS.items():
        for name in dir(kind):
            method = inspect.getattr_static(kind, name)
            if name.startswith("_") or name in LEFT_OUT or isinstance(method, property):
                continue
            bound = getattr(one, name)
            if inspect.ismethod(bound):
                annotated = inspect.unwrap(bound.__func__)
                if inspect.isfunction(annotated):
                    yield call_of(f"{kind.__name__}.{name}", bound, annotated, 0)
                else:
                    # What takes arguments has a signature in Python, which converts them.
                    assert list(inspect.signature(annotated).parameters) == ["self"], name

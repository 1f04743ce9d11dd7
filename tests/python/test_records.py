"""Records of results: what holds for every one of them."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import slackwater as sw
import test_area_heat
import test_area_scenarios
import test_bill
import test_capacity
import test_heat
import test_policy
import test_rolling_intrinsic
import test_site_rooms
from slackwater import _engine
from slackwater._record import Record
from slackwater.io.simbev import VehicleStay

import fleets
import saved_plans
import site_model
from fleets import NOON
from saved_plans import HOUR, pickled

RECORDS = {name: kind for name, kind in vars(_engine).items() if hasattr(kind, "__match_args__")}


def areas() -> list[sw.AreaPlan]:
    """An area with needs that its limit leaves unmet, planned twice."""
    table, prices = fleets.fleet(12), fleets.day_ahead()
    first = sw.plan_area(table, prices, limit_kw=20)
    below_zero = sw.plan_area(table, prices - 1.0, limit_kw=200)
    again = sw.plan_area(table, prices, limit_kw=20, previous=first, stability_budget=1)
    return [first, again, below_zero]


def results() -> Iterator[object]:
    """Values that hold a record of every class."""
    for kind in saved_plans.KINDS:
        plan = kind()
        assert isinstance(plan, sw.Plan | sw.StoragePlan | sw.SwitchingPlan | sw.SitePlan)
        yield from (plan, plan.certificate, plan.explain(), plan.prices)
        if isinstance(plan, sw.Plan | sw.StoragePlan):
            yield plan.certificate.verify()
        if isinstance(plan, sw.SitePlan | sw.StoragePlan):
            yield plan.export_sources
    plan = saved_plans.kept()
    yield from (plan.stability, plan.sources, plan.soc_by_time(), plan.wish_costs())
    yield plan.diff(saved_plans.vehicle())
    yield plan.energy_at_risk([(NOON + 6 * HOUR, 1), (NOON + 12 * HOUR, 3)])
    yield sw.insurance_frontier(saved_plans.charge(), at=NOON + 3 * HOUR).points
    yield sw.replay(plan.to_json())
    # The last cost is one of the results, not of the request.
    yield sw.replay('"cost": 1'.join(plan.to_json().rsplit('"cost": ', 1)))
    yield _unmet_switching().unmet
    evaluated = plan.evaluate(fleets.day_ahead().between(NOON + 2 * HOUR, NOON + 4 * HOUR))
    yield (evaluated, evaluated.missing)
    verified = areas()[0].verify()
    yield (verified, verified.vehicles_table())
    site = saved_plans.site()
    yield site.diff(site.what_if(import_limit_kw=22).plan)
    heated = test_area_heat.planned()
    yield (heated.heat, heated.heat[0].reasons, heated.heat_intervals(), heated.verify().heat)
    warm = test_site_rooms.prices(0.1, 0.2)
    yield sw.plan_site(warm, now=site_model.START, devices=[test_site_rooms.pump()]).devices
    heat = test_heat.plan()
    yield (heat.slots, heat.certificate, heat.explain(), heat.baseline)
    compressor = test_heat.plan(on_off=True, running_since=test_heat.SIX - timedelta(minutes=10))
    yield compressor.certificate.on_off
    yield sw.identify_heat(**test_heat.course(0.05))
    policy = test_policy.policy()
    yield (policy.slots, policy.explain(), policy.certificate, policy.certificate.slots)
    yield policy.decide(at=test_policy.SIX, wanted_kwh=7)
    yield list(policy.bid_curve(at=test_policy.SIX, wanted_kwh=7))
    scenarios = test_area_scenarios.plan()
    yield (scenarios.intervals, scenarios.energies, scenarios.scenarios)
    yield (scenarios.explain(), scenarios.compare())
    bill = sw.bill(test_bill.flat(), test_bill.ELVIA)
    yield (bill.months, bill.lines, bill.tariff.sources, bill.tariff.components)
    yield sw.tariffs.list_tariffs(country="BE")
    yield test_rolling_intrinsic.trade(test_rolling_intrinsic.PAIR)
    under_tariff = test_capacity.plan()
    yield (under_tariff.slots, under_tariff.reasons, under_tariff.cost, under_tariff.certificate)
    for area in areas():
        yield from (_numbers(area), area.nodes, area.shortfalls, area.change)


def _numbers(area: sw.AreaPlan) -> sw.AreaNumbers:
    """The numbers alone, which the class of an area has as a base."""
    fields: dict[str, Any] = area.__getnewargs_ex__()[1]
    return sw.AreaNumbers(**fields)


def _unmet_switching() -> sw.SwitchingPlan:
    return sw.plan_switching(
        fleets.day_ahead(),
        now=NOON,
        power_max_kw=11,
        power_min_kw=4.1,
        targets=[(NOON + HOUR, 41)],
        on_min=timedelta(hours=2),
        until=NOON + HOUR,
    )


def walk(value: object) -> Iterator[Any]:
    """All records in a value, the value included."""
    if type(value).__name__ in RECORDS:
        yield value
        for name in type(value).__match_args__:  # type: ignore[attr-defined]
            yield from walk(getattr(value, name))
    elif isinstance(value, list | tuple) or type(value).__name__.endswith(("s", "Plan")):
        parts = value if hasattr(value, "__iter__") else _members(value)
        for part in parts:
            yield from walk(part)


def _members(value: object) -> list[object]:
    names = [name for name in dir(value) if not name.startswith("_")]
    members = [getattr(value, name) for name in names]
    return [member for member in members if not callable(member)]


FOUND: dict[str, Any] = {}
for each in walk(list(results())):
    FOUND.setdefault(type(each).__name__, each)


def test_there_is_one_of_every_class() -> None:
    assert len(RECORDS) > 40
    assert sorted(FOUND) == sorted(RECORDS)


def fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in type(record).__match_args__}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_is_copied_and_pickled(name: str) -> None:
    record = FOUND[name]
    copies = [
        copy.copy(record),
        copy.deepcopy(record),
        *(pickled(record, protocol) for protocol in range(2, 6)),
        type(record)(**fields(record)),
    ]
    for twin in copies:
        assert type(twin) is type(record)
        assert twin == record
        assert hash(twin) == hash(record)
        assert repr(twin) == repr(record)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_differs_from_one_with_another_number(name: str) -> None:
    values = fields(FOUND[name])
    numbers = [field for field, value in values.items() if isinstance(value, float)]
    for field in numbers:
        assert type(FOUND[name])(**values | {field: values[field] + 1}) != FOUND[name]
    assert FOUND[name] != "a text"


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_cannot_be_changed(name: str) -> None:
    for field in fields(FOUND[name]):
        with pytest.raises(AttributeError):
            setattr(FOUND[name], field, None)


def is_plain(value: object) -> bool:
    """Nothing is left of records: texts, numbers, times, and containers of them."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return type(value).__name__ not in RECORDS


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_becomes_a_dictionary(name: str) -> None:
    record = FOUND[name]
    plain = record.to_dict()
    assert list(plain) == list(type(record).__match_args__)
    assert is_plain(plain)
    assert json.dumps(plain, default=str)
    for field, value in fields(record).items():
        if isinstance(value, str | float | int | None):
            assert plain[field] == value


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_record_shows_every_field(name: str) -> None:
    record = FOUND[name]
    text = repr(record)
    assert text.startswith(f"{name}(")
    for field, value in fields(record).items():
        assert f"{field}=" in text
        if not isinstance(value, list):
            assert f"{field}={value!r}" in text


def test_long_lists_are_shortened() -> None:
    limit = sw.SiteLimit(
        name="import",
        phase=None,
        limit_kw=[11.0] * 6,
        power_kw=[float(kw) for kw in range(7)],
        shadow_price_per_kwh=[],
    )
    assert repr(limit) == (
        "SiteLimit(name='import', phase=None, limit_kw=[11.0, 11.0, 11.0, 11.0, 11.0, 11.0], "
        "power_kw=[0.0, 1.0, 2.0, ... 4 more], shadow_price_per_kwh=[])"
    )


def test_a_record_can_be_matched() -> None:
    match saved_plans.charge().intervals[0]:
        case sw.Interval(start, end, power_kw):
            assert start < end
            assert power_kw > 0
        case _:
            pytest.fail("an interval is an Interval")


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_attribute_is_documented(name: str) -> None:
    kind = RECORDS[name]
    assert inspect.getdoc(kind)
    for field in kind.__match_args__:
        doc = inspect.getattr_static(kind, field).__doc__
        assert doc, field
        assert doc.endswith("."), field
    assert kind.to_dict.__doc__


def test_examples_of_native_docstrings() -> None:
    """``--doctest-modules`` does not look into native classes."""
    ran = 0
    for name, value in vars(_engine).items():
        if inspect.isclass(value):
            members = [value, *vars(value).values()]
            for member in members:
                ran += _run_examples(f"{name}.{getattr(member, '__name__', '')}", member)
    assert ran >= 4


def _run_examples(name: str, value: object) -> int:
    doc = inspect.getdoc(value)
    if not doc or ">>>" not in doc or isinstance(value, str):
        return 0
    examples = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples)
    assert result.failed == 0, name
    return 1


# Modules that need an extra.
OPTIONAL = {"cli", "flexmeasures", "gym", "html", "plot", "ray"}


def rows() -> dict[str, Any]:
    """Named tuples that users make or get, by module and name."""
    names = [info.name for info in pkgutil.walk_packages(sw.__path__, "slackwater.")]
    modules = [sw, *(importlib.import_module(name) for name in names if is_public(name))]
    kinds = {value for module in modules for value in vars(module).values() if is_row(value)}
    return {f"{kind.__module__}.{kind.__name__}": kind for kind in kinds}


def is_public(module: str) -> bool:
    parts = module.split(".")
    return not any(part.startswith("_") or part in OPTIONAL for part in parts)


def is_row(value: object) -> bool:
    return (
        inspect.isclass(value)
        and issubclass(value, tuple)
        and hasattr(value, "_fields")
        and value.__module__.startswith("slackwater")
        and not value.__name__.startswith("_")
        and (value.__module__ == "slackwater._pareto" or is_public(value.__module__))
    )


ROWS = rows()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_named_tuple_becomes_a_dictionary_and_is_copied(name: str) -> None:
    kind = ROWS[name]
    values = [f"value {index}" for index, _ in enumerate(kind._fields)]
    record = kind(*values)
    assert issubclass(kind, Record)
    assert record.to_dict() == dict(zip(kind._fields, values, strict=True))
    assert list(record.to_dict()) == list(kind.__match_args__)
    assert not hasattr(record, "__dict__")
    for twin in (
        copy.copy(record),
        copy.deepcopy(record),
        pickled(record),
        kind(**record.to_dict()),
    ):
        assert type(twin) is kind
        assert twin == record
        assert hash(twin) == hash(record)
    assert kind(*["another", *values[1:]]) != record
    assert repr(record).startswith(f"{kind.__name__}({kind._fields[0]}=")
    # A keyword that is none of the fields is refused by the name of the class that users know.
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\(\) takes no 'no_such_field'"):
        kind(*values, no_such_field=1)
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__new__\(\) takes "):
        kind(*values, "one too many")


def test_there_are_as_many_named_tuples_as_before() -> None:
    assert len(ROWS) >= 70


INPUTS = [
    sw.Vehicle(
        "van",
        power_max_kw=11,
        targets=[sw.Target(NOON, 7)],
        discharge=sw.Discharge(discharge_max_kw=5),
    ),
    sw.StationaryBattery("store", capacity_kwh=10, soc_percent=50, power_max_kw=4),
    sw.Solar("roof", power_kw=[1.0]),
    sw.Load("house", power_kw=0.5),
    sw.Group("garage", limit_kw=11),
    sw.DemandCharge(peak_price_per_kw=5),
    sw.Carbon(price_per_kg=0.1, intensity=[(NOON, NOON + HOUR, 0.3)]),
    sw.Node(name="street", limit_kw=400.0),
    sw.Replan(),
    sw.Persistence(),
    sw.SeasonalNaive(time_zone="Europe/Oslo"),
    VehicleStay("blue/1", "blue", "home", NOON, NOON + HOUR, 1.0, 2.0, 50.0, None),
]


@pytest.mark.parametrize("record", INPUTS, ids=lambda record: type(record).__name__)
def test_an_input_becomes_a_dictionary_and_is_copied(record: Any) -> None:
    plain = record.to_dict()
    names = [field.name for field in dataclasses.fields(record) if field.name[0] != "_"]
    assert list(plain) == names
    for twin in (copy.copy(record), copy.deepcopy(record), pickled(record)):
        assert twin == record


# Classes that no value is kept of.
PASSING = {
    "HomeView": "a view of a policy, which ends with its call",
    "View": "a view of a policy, which ends with its call",
    "RoundMemory": "keeps the rounds of an area while it is planned",
}


def exported() -> dict[str, type]:
    """All classes of the package but exceptions, by name."""
    values = {name: getattr(sw, name) for name in sw.__all__}
    return {
        name: value
        for name, value in values.items()
        if inspect.isclass(value) and not issubclass(value, BaseException)
    }


def hold(value: object, found: dict[type, Any]) -> None:
    """Keep one value of each class of the package that is met in a value."""
    if isinstance(value, list | tuple):
        for part in value:
            hold(part, found)
    if not type(value).__module__.startswith("slackwater") or type(value) in found:
        return
    found[type(value)] = value
    for member in _members(value):
        hold(member, found)


def example_values() -> dict[type, Any]:
    """One value of each class of the package, from results and inputs."""
    found: dict[type, Any] = {}
    for value in [*results(), *INPUTS, *_other_values()]:
        hold(value, found)
    for record in FOUND.values():
        found.setdefault(type(record), record)
    for kind in ROWS.values():
        found.setdefault(kind, kind(*[f"value {index}" for index, _ in enumerate(kind._fields)]))
    return found


def _other_values() -> Iterator[object]:
    prices = fleets.day_ahead()
    table = fleets.fleet(3)
    yield (prices, sw.Forecast(prices, known_at=NOON, quantiles={0.9: prices * 2}))
    yield sw.Series.from_values(NOON, [1.0, 2.0], unit="kW")
    yield sw.plan_batch(table, prices)
    yield areas()[0]
    yield sw.simulate(sw.Replan(), table, prices, [sw.Forecast(prices, known_at=NOON)])
    batteries = {
        "home": [1],
        "capacity_kwh": [10.0],
        "soc_percent": [50.0],
        "power_max_kw": [4.0],
        "discharge_max_kw": [4.0],
    }
    yield sw.simulate_homes(sw.Replan(), pa.table(batteries), prices)
    yield saved_plans.charge().diff(saved_plans.kept())
    yield saved_plans.storage().diff(saved_plans.storage().what_if(discharge_max_kw=1).plan)
    policy = test_policy.policy()
    yield (policy, policy.bid_curve(at=test_policy.SIX, wanted_kwh=7), test_policy.tree())
    yield sw.MarkovPrices(states=[prices], transitions=[[1]], first=[1])
    yield (test_capacity.plan(), test_heat.plan(), test_site_rooms.pump())
    yield sw.insurance_frontier(saved_plans.charge(), at=NOON + 3 * HOUR)
    yield sw.ShiftableLoad("dishes", power_kw=2, duration=HOUR)
    yield sw.SoftBound(price_per_kwh_hour=0.1, soc_min_percent=20)
    yield sw.Tiers(blocks=[(10, 0.0), (None, 0.1)])
    yield (test_area_scenarios.plan(), test_area_scenarios.scenario(0))
    yield sw.bill(test_bill.flat(), test_bill.ELVIA)
    cuts = pa.table({"start": [NOON], "power_kw": [2.0]})
    yield sw.statistics.aggregate(cuts, resolution="day", sample_length=HOUR)


EXAMPLES = example_values()


@pytest.mark.parametrize("name", sorted(exported()))
def test_every_class_of_the_package_is_copied_pickled_and_compared(name: str) -> None:
    kind = exported()[name]
    if name in PASSING or getattr(kind, "_is_protocol", False):
        assert kind not in EXAMPLES
        return
    assert kind in EXAMPLES, f"the test knows no value of {name}"
    value = EXAMPLES[kind]
    for twin in (copy.copy(value), copy.deepcopy(value), pickled(value)):
        assert type(twin) is kind
        assert twin == value
    assert value != "a text"
    if issubclass(kind, Record):
        assert list(value.to_dict()) == [field for field in _fields(kind) if field[0] != "_"]


def _fields(kind: Any) -> list[str]:
    """Names of the fields of a named tuple or a data class."""
    if issubclass(kind, tuple):
        return list(kind._fields)
    return [field.name for field in dataclasses.fields(kind)]


def test_records_within_records_become_dictionaries() -> None:
    van = sw.Vehicle("van", power_max_kw=11, targets=[sw.Target(NOON, 7)])
    (target,) = van.to_dict()["targets"]
    assert target == {"by": NOON, "energy_kwh": 7}
    answer = saved_plans.charge().what_if(more_kwh=1)
    assert answer.to_dict()["plan"] is answer.plan
    facts = sw.devices.Pairing(*[None] * len(sw.devices.Pairing._fields))
    assert facts.to_dict() == facts._asdict()

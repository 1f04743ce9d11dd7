"""Certificates checked by their own numbers, honest and tampered with."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
import test_policy

import saved_plans
from fleets import NOON
from saved_plans import HOUR

CENTS = st.lists(st.integers(-40, 60), min_size=4, max_size=12)


def charge(cents: list[int]) -> sw.Plan:
    """A reserve, two deadlines, and energy that is bought because it is paid for."""
    return sw.plan_charge(
        sw.Prices.from_values(NOON, [cent / 100 for cent in cents], currency="EUR"),
        now=NOON,
        power_max_kw=10,
        targets=[(NOON + 2 * HOUR, 8), (NOON + 4 * HOUR, 25)],
        reserve_kwh=3,
        energy_max_kwh=42,
    )


def storage(cents: list[int]) -> sw.StoragePlan:
    """A battery that trades, wears out and values what is left."""
    prices = sw.Prices.from_values(NOON, [cent / 100 for cent in cents], currency="EUR")
    return sw.plan_storage(
        prices,
        export_prices=prices,
        now=NOON,
        battery=sw.Battery(capacity_kwh=10, soc_percent=50, efficiency=0.9),
        power_max_kw=4,
        discharge_max_kw=4,
        discharge_efficiency=0.95,
        wear_price_per_kwh=0.01,
        end_value_per_kwh=0.15,
    )


CHARGE = charge([50, 30, 20, 25, -5, -7, -9]).certificate
STORAGE = storage([10, 40, 20]).certificate


def changed(certificate: Any, **changes: Any) -> Any:
    """The certificate with other numbers."""
    fields = {name: getattr(certificate, name) for name in type(certificate).__match_args__}
    return type(certificate)(**fields | changes)


@pytest.mark.parametrize("kind", [*saved_plans.CHARGING, saved_plans.storage])
def test_plans_of_every_kind_hold(kind: Any) -> None:
    verified = kind().certificate.verify()
    assert verified.failed == []
    assert verified.holds
    assert {"cost", "bound", "gap", "is_proved"} <= {check.line for check in verified.checks}


@given(cents=CENTS)
@settings(max_examples=40, deadline=None)
def test_honest_certificates_hold(cents: list[int]) -> None:
    for plan in (charge(cents), storage(cents)):
        assert plan.certificate.verify().failed == []


CHARGE_NUMBERS = [
    "at_once_kwh",
    "bound",
    "cost",
    "energy_max_kwh",
    "gap",
    "surplus_price_per_kwh",
]
STORAGE_NUMBERS = [
    "bound",
    "bound_by_values",
    "cost",
    "discharge_efficiency",
    "efficiency",
    "end_value_per_kwh",
    "gap",
    "stored_start_kwh",
    "wear_price_per_kwh",
]


@pytest.mark.parametrize("step", [-0.01, 0.01])
@pytest.mark.parametrize(
    ("certificate", "name"),
    [(CHARGE, name) for name in CHARGE_NUMBERS] + [(STORAGE, name) for name in STORAGE_NUMBERS],
)
def test_each_number_counts(certificate: Any, name: str, step: float) -> None:
    verified = changed(certificate, **{name: getattr(certificate, name) + step}).verify()
    assert not verified.holds
    assert verified.failed


def test_numbers_that_are_tampered_with_are_all() -> None:
    """A new number of a certificate has to be added to the lists above."""
    for certificate, names in ((CHARGE, CHARGE_NUMBERS), (STORAGE, STORAGE_NUMBERS)):
        values = {name: getattr(certificate, name) for name in type(certificate).__match_args__}
        numbers = [name for name, value in values.items() if isinstance(value, float)]
        assert sorted(numbers) == names


def test_the_line_that_fails_is_named() -> None:
    assert changed(CHARGE, gap=0.5).verify().failed == ["gap"]
    assert changed(CHARGE, is_proved=False).verify().failed == ["is_proved"]
    assert changed(CHARGE, bound=CHARGE.bound - 1).verify().failed == ["bound", "gap", "is_proved"]
    check = next(c for c in changed(CHARGE, cost=9.0).verify().checks if c.line == "cost")
    assert (check.stated, check.computed) == (9.0, pytest.approx(CHARGE.cost))
    assert check.difference == pytest.approx(CHARGE.cost - 9)
    assert not check.holds


@pytest.mark.parametrize("index", range(len(CHARGE.requirements)))
@pytest.mark.parametrize("name", ["energy_kwh", "marginal_price_per_kwh"])
@pytest.mark.parametrize("step", [-0.01, 0.01])
def test_each_requirement_counts(index: int, name: str, step: float) -> None:
    requirements = CHARGE.requirements
    value = getattr(requirements[index], name)
    requirements[index] = changed(requirements[index], **{name: value + step})
    assert not changed(CHARGE, requirements=requirements).verify().holds


@pytest.mark.parametrize("name", ["energy_kwh", "price_per_kwh", "power_max_kw"])
def test_slots_count(name: str) -> None:
    slots = CHARGE.slots
    slots[2] = changed(slots[2], **{name: getattr(slots[2], name) + 0.5})
    assert not changed(CHARGE, slots=slots).verify().holds


@pytest.mark.parametrize(
    "name",
    ["charged_kwh", "import_price_per_kwh", "marginal_value_per_kwh", "stored_kwh", "driven_kwh"],
)
def test_slots_of_a_battery_count(name: str) -> None:
    slots = STORAGE.slots
    slots[0] = changed(slots[0], **{name: getattr(slots[0], name) + 0.5})
    assert not changed(STORAGE, slots=slots).verify().holds


@pytest.mark.parametrize("certificate", [CHARGE, STORAGE])
def test_a_number_that_is_none_is_refused(certificate: Any) -> None:
    name = "at_once_kwh" if certificate is CHARGE else "stored_start_kwh"
    with pytest.raises(sw.InputError, match=name):
        changed(certificate, **{name: math.nan}).verify()


POLICY = test_policy.policy().certificate
POLICY_NUMBERS = [
    "bound",
    "energy_kwh",
    "expected_cost",
    "expected_shortfall_kwh",
    "gap",
    "shortfall_price_per_kwh",
]


def test_a_policy_holds() -> None:
    verified = test_policy.policy().verify()
    assert verified.failed == []
    assert verified.holds
    assert verified == POLICY.verify()
    numbers = [name for name in type(POLICY).__match_args__ if type(getattr(POLICY, name)) is float]
    assert sorted(numbers) == POLICY_NUMBERS


@pytest.mark.parametrize("step", [-0.01, 0.01])
@pytest.mark.parametrize("name", POLICY_NUMBERS)
def test_each_number_of_a_policy_counts(name: str, step: float) -> None:
    assert not changed(POLICY, **{name: getattr(POLICY, name) + step}).verify().holds


def test_slots_of_a_policy_count() -> None:
    step = POLICY.slots[0]
    costs = step.marginal_costs_per_kwh
    changes: list[dict[str, Any]] = [
        {"energy_max_kwh": step.energy_max_kwh + 0.5},
        {"departure_probability": step.departure_probability + 0.01},
        {"prices_per_kwh": [price + 0.01 for price in step.prices_per_kwh]},
        {"transitions": [[(0, 1.0)] for _ in step.transitions]},
        {"marginal_costs_per_kwh": [[cost + 0.01 for cost in row] for row in costs]},
        {"marginal_costs_per_kwh": [list(reversed(row)) for row in costs]},
        {"segment_ends_kwh": [end / 2 for end in step.segment_ends_kwh]},
    ]
    for change in changes:
        other = changed(POLICY, slots=[changed(step, **change), *POLICY.slots[1:]])
        assert not other.verify().holds, change
    # Lists that do not fit together are named, and nothing is computed from them.
    short = changed(POLICY, slots=[changed(step, prices_per_kwh=[0.1, 0.2]), *POLICY.slots[1:]])
    assert short.verify().failed == ["slots[0].lists"]
    nowhere = changed(step, transitions=[[(9, 1.0)] for _ in step.transitions])
    lost = changed(POLICY, slots=[nowhere, *POLICY.slots[1:]])
    assert lost.verify().failed == ["slots[0].lists"]
    assert changed(POLICY, slots=[]).verify().failed == ["order of slots"]
    with pytest.raises(sw.InputError, match="energy_kwh"):
        changed(POLICY, energy_kwh=float("nan")).verify()

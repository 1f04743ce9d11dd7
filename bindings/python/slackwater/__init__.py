"""Optimal smart charging, with a proof and a reason for every plan.

>>> import slackwater as sw
>>> from datetime import UTC, datetime, timedelta
>>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
>>> hour = timedelta(hours=1)
>>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
>>> plan = sw.plan_charge(
...     prices, now=six, power_max_kw=7, targets=[sw.Target(by=six + 3 * hour, energy_kwh=10)]
... )
>>> round(plan.cost, 4), plan.shortfall_kwh, plan.certificate.is_proved
(1.3, 0.0, True)
"""

from slackwater import (
    _arguments,
    _engine,
    _public,
    actions,
    devices,
    flex,
    paging,
    policies,
    schedule,
    signals,
    statistics,
    tariffs,
    versions,
)
from slackwater._engine import (
    Certificate,
    DepartureOutcome,
    DevicePlan,
    Difference,
    EnergyAtRisk,
    InputError,
    InsurancePoint,
    Interval,
    PlanChange,
    PlannedSlot,
    PlausibilityWarning,
    Reason,
    Replay,
    Requirement,
    Session,
    SiteBaseline,
    SiteBreach,
    SiteCause,
    SiteCertificate,
    SiteCosts,
    SiteLimit,
    SiteReason,
    SiteSlot,
    SiteWish,
    SocPoint,
    SourceShare,
    Stability,
    StorageCertificate,
    StorageOutcome,
    StorageReason,
    StorageSlot,
    SwitchingCertificate,
    SwitchingInterval,
    SwitchingReason,
    TargetOutcome,
    UnmetSwitchingWish,
    __version__,
)
from slackwater.area import PlanTable, plan_batch
from slackwater.area_node import Node
from slackwater.area_types import AreaChange, AreaProgress, NodeLoad, RoundMemory, Shortfall
from slackwater.coordinate import AreaPlan, plan_area
from slackwater.plan import (
    Battery,
    Plan,
    PowerLimit,
    SocTarget,
    Target,
    plan_charge,
    plan_duration,
    plan_vehicle,
)
from slackwater.prices import Prices
from slackwater.questions import Departure, InsuranceFrontier, WhatIf, insurance_frontier
from slackwater.saved import load_plan, replay
from slackwater.site import SitePlan, plan_site
from slackwater.site_devices import (
    Carbon,
    DemandCharge,
    Discharge,
    Group,
    Load,
    ShiftableLoad,
    Solar,
    StationaryBattery,
    Tiers,
    Vehicle,
)
from slackwater.storage import (
    Consumption,
    StorageLimit,
    StoragePlan,
    plan_storage,
    plan_storage_batch,
)
from slackwater.switching import SwitchingPlan, plan_switching
from slackwater.time import TIME_ZONE_VERSION, next_deadline

_arguments.guard(_engine)
_public.guard(__name__)


def __getattr__(name: str) -> object:
    """Tell the name that something has today.

    Raises:
        AttributeError: The package has no such name.
    """
    today = None if name.startswith("_") else _public.tell_renamed("slackwater", name, __all__)
    text = f"module 'slackwater' has no attribute {name!r}"
    if today is not None:
        text = f"slackwater.{name} is called slackwater.{today}"
    raise AttributeError(text)


__all__ = [
    "TIME_ZONE_VERSION",
    "AreaChange",
    "AreaPlan",
    "AreaProgress",
    "Battery",
    "Carbon",
    "Certificate",
    "Consumption",
    "DemandCharge",
    "Departure",
    "DepartureOutcome",
    "DevicePlan",
    "Difference",
    "Discharge",
    "EnergyAtRisk",
    "Group",
    "InputError",
    "InsuranceFrontier",
    "InsurancePoint",
    "Interval",
    "Load",
    "Node",
    "NodeLoad",
    "Plan",
    "PlanChange",
    "PlanTable",
    "PlannedSlot",
    "PlausibilityWarning",
    "PowerLimit",
    "Prices",
    "Reason",
    "Replay",
    "Requirement",
    "RoundMemory",
    "Session",
    "ShiftableLoad",
    "Shortfall",
    "SiteBaseline",
    "SiteBreach",
    "SiteCause",
    "SiteCertificate",
    "SiteCosts",
    "SiteLimit",
    "SitePlan",
    "SiteReason",
    "SiteSlot",
    "SiteWish",
    "SocPoint",
    "SocTarget",
    "Solar",
    "SourceShare",
    "Stability",
    "StationaryBattery",
    "StorageCertificate",
    "StorageLimit",
    "StorageOutcome",
    "StoragePlan",
    "StorageReason",
    "StorageSlot",
    "SwitchingCertificate",
    "SwitchingInterval",
    "SwitchingPlan",
    "SwitchingReason",
    "Target",
    "TargetOutcome",
    "Tiers",
    "UnmetSwitchingWish",
    "Vehicle",
    "WhatIf",
    "__version__",
    "actions",
    "devices",
    "flex",
    "insurance_frontier",
    "load_plan",
    "next_deadline",
    "paging",
    "plan_area",
    "plan_batch",
    "plan_charge",
    "plan_duration",
    "plan_site",
    "plan_storage",
    "plan_storage_batch",
    "plan_switching",
    "plan_vehicle",
    "policies",
    "replay",
    "schedule",
    "signals",
    "statistics",
    "tariffs",
    "versions",
]

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

from importlib import import_module
from typing import TYPE_CHECKING

from slackwater import _arguments, _engine, _public
from slackwater._engine import (
    AreaChange,
    AreaHeat,
    AreaHeatCertificate,
    AreaHeatInterval,
    AreaHeatIntervals,
    AreaHeatReason,
    AreaNumbers,
    AreaScenarioComparison,
    AreaScenarioEnergies,
    AreaScenarioEnergy,
    AreaScenarioInterval,
    AreaScenarioIntervals,
    AreaScenarioOutcome,
    AreaScenarioReason,
    AreaScenarioReasons,
    AreaVerification,
    BidCurve,
    BidStep,
    BillingTariff,
    BillLine,
    BillLines,
    CapacityCertificate,
    CapacityCost,
    CapacityReason,
    CapacityReasons,
    CapacitySlot,
    CapacitySlots,
    Certificate,
    CertificateCheck,
    DepartureOutcome,
    DevicePlan,
    Difference,
    EnergyAtRisk,
    Estimate,
    Evaluation,
    ForgoneEnergy,
    HeatBaseline,
    HeatCertificate,
    HeatFit,
    HeatOnOff,
    HeatOutcome,
    HeatReason,
    HeatReasons,
    HeatSlot,
    InputError,
    InsurancePoint,
    Interval,
    Intervals,
    IntradayPosition,
    IntradayPositions,
    IntradayTrade,
    IntradayTrades,
    IntradayUpdate,
    IntradayUpdates,
    LookAheadError,
    MissingFact,
    MonthBill,
    MonthBills,
    MonthPower,
    NodeLoad,
    PlanChange,
    PlannedSlot,
    PlanTable,
    PlausibilityWarning,
    PolicyCertificate,
    PolicyDecision,
    PolicyReason,
    PolicyReasons,
    PolicySlot,
    PolicySlots,
    PolicyStep,
    PowerChange,
    PowerChanges,
    PowerCharge,
    PowerGroup,
    Reason,
    Reasons,
    Replay,
    Requirement,
    RollingIntrinsicTrading,
    RoomSlot,
    Session,
    Shortfall,
    SimulationTable,
    SiteBaseline,
    SiteBreach,
    SiteCause,
    SiteCertificate,
    SiteCosts,
    SiteLimit,
    SiteReason,
    SiteReasons,
    SiteSlot,
    SiteWish,
    SocPoint,
    SourceShare,
    Stability,
    StorageCertificate,
    StorageOutcome,
    StorageReason,
    StorageReasons,
    StorageSlot,
    SwitchingCertificate,
    SwitchingInterval,
    SwitchingIntervals,
    SwitchingReason,
    SwitchingReasons,
    Table,
    TargetOutcome,
    TariffComponent,
    TariffEntries,
    TariffEntry,
    TariffSource,
    UnmetSwitchingWish,
    VehicleCertificate,
    VehicleCertificates,
    Verification,
    __version__,
)
from slackwater._pareto import ParetoPoint, pareto
from slackwater.area import plan_batch, plan_row
from slackwater.area_node import Node
from slackwater.area_scenarios import AreaScenario, AreaScenarioPlan, plan_area_scenarios
from slackwater.area_types import AreaProgress, RoundMemory
from slackwater.bills import Bill, bill
from slackwater.capacity import CapacityPlan, plan_capacity
from slackwater.coordinate import AreaPlan, plan_area
from slackwater.forecasts import (
    Forecast,
    Persistence,
    SeasonalNaive,
    issue_forecasts,
    publish_day_ahead,
)
from slackwater.heat import (
    HeatPlan,
    SetBack,
    identify_heat,
    plan_heat,
    plan_heat_batch,
    plan_heat_row,
)
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
from slackwater.policy import ChargePolicy, MarkovPrices, PriceTree, plan_policy
from slackwater.prices import Prices, PriceSlot
from slackwater.questions import Departure, InsuranceFrontier, WhatIf, insurance_frontier
from slackwater.rolling_intrinsic import trade_rolling_intrinsic
from slackwater.saved import load_area, load_plan, replay
from slackwater.series import Series, SeriesSlot
from slackwater.simulation import (
    HomeCommand,
    HomeSimulation,
    HomeStay,
    HomeView,
    Replan,
    Simulation,
    View,
    simulate,
    simulate_homes,
)
from slackwater.site import SitePlan, plan_site
from slackwater.site_devices import (
    Carbon,
    DemandCharge,
    Discharge,
    Group,
    HeatUnit,
    Load,
    ShiftableLoad,
    SoftBound,
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
    plan_storage_row,
)
from slackwater.switching import SwitchingPlan, plan_switching
from slackwater.time import TIME_ZONE_VERSION, next_deadline

if TYPE_CHECKING:
    from slackwater import actions as actions
    from slackwater import devices as devices
    from slackwater import flex as flex
    from slackwater import io as io
    from slackwater import paging as paging
    from slackwater import parts as parts
    from slackwater import policies as policies
    from slackwater import samples as samples
    from slackwater import schedule as schedule
    from slackwater import signals as signals
    from slackwater import sim as sim
    from slackwater import statistics as statistics
    from slackwater import tariffs as tariffs
    from slackwater import versions as versions

# Modules that are imported when they are first used; each guards itself at its end. Some
# are not in `__all__`: a star import would load them, and hide `io` of the standard library.
_ON_DEMAND = frozenset(
    {
        "actions",
        "devices",
        "flex",
        "io",
        "paging",
        "parts",
        "policies",
        "samples",
        "schedule",
        "signals",
        "sim",
        "statistics",
        "tariffs",
        "versions",
    }
)


def _import_on_demand(name: str) -> object:
    """Import a module of `_ON_DEMAND`; of other names tell what they are called today.

    Raises:
        AttributeError: The package has no such name.
    """
    if name in _ON_DEMAND:
        return import_module(f"slackwater.{name}")
    today = None if name.startswith("_") else _public.tell_renamed("slackwater", name, __all__)
    text = f"module 'slackwater' has no attribute {name!r}"
    if today is not None:
        text = f"slackwater.{name} is called slackwater.{today}"
    raise AttributeError(text)


def __dir__() -> list[str]:
    return sorted(globals().keys() | _ON_DEMAND)


if not TYPE_CHECKING:
    # Hidden from type checkers, for which each name would exist otherwise.
    __getattr__ = _import_on_demand

__all__ = [
    "TIME_ZONE_VERSION",
    "AreaChange",
    "AreaHeat",
    "AreaHeatCertificate",
    "AreaHeatInterval",
    "AreaHeatIntervals",
    "AreaHeatReason",
    "AreaNumbers",
    "AreaPlan",
    "AreaProgress",
    "AreaScenario",
    "AreaScenarioComparison",
    "AreaScenarioEnergies",
    "AreaScenarioEnergy",
    "AreaScenarioInterval",
    "AreaScenarioIntervals",
    "AreaScenarioOutcome",
    "AreaScenarioPlan",
    "AreaScenarioReason",
    "AreaScenarioReasons",
    "AreaVerification",
    "Battery",
    "BidCurve",
    "BidStep",
    "Bill",
    "BillLine",
    "BillLines",
    "BillingTariff",
    "CapacityCertificate",
    "CapacityCost",
    "CapacityPlan",
    "CapacityReason",
    "CapacityReasons",
    "CapacitySlot",
    "CapacitySlots",
    "Carbon",
    "Certificate",
    "CertificateCheck",
    "ChargePolicy",
    "Consumption",
    "DemandCharge",
    "Departure",
    "DepartureOutcome",
    "DevicePlan",
    "Difference",
    "Discharge",
    "EnergyAtRisk",
    "Estimate",
    "Evaluation",
    "Forecast",
    "ForgoneEnergy",
    "Group",
    "HeatBaseline",
    "HeatCertificate",
    "HeatFit",
    "HeatOnOff",
    "HeatOutcome",
    "HeatPlan",
    "HeatReason",
    "HeatReasons",
    "HeatSlot",
    "HeatUnit",
    "HomeCommand",
    "HomeSimulation",
    "HomeStay",
    "HomeView",
    "InputError",
    "InsuranceFrontier",
    "InsurancePoint",
    "Interval",
    "Intervals",
    "IntradayPosition",
    "IntradayPositions",
    "IntradayTrade",
    "IntradayTrades",
    "IntradayUpdate",
    "IntradayUpdates",
    "Load",
    "LookAheadError",
    "MarkovPrices",
    "MissingFact",
    "MonthBill",
    "MonthBills",
    "MonthPower",
    "Node",
    "NodeLoad",
    "ParetoPoint",
    "Persistence",
    "Plan",
    "PlanChange",
    "PlanTable",
    "PlannedSlot",
    "PlausibilityWarning",
    "PolicyCertificate",
    "PolicyDecision",
    "PolicyReason",
    "PolicyReasons",
    "PolicySlot",
    "PolicySlots",
    "PolicyStep",
    "PowerChange",
    "PowerChanges",
    "PowerCharge",
    "PowerGroup",
    "PowerLimit",
    "PriceSlot",
    "PriceTree",
    "Prices",
    "Reason",
    "Reasons",
    "Replan",
    "Replay",
    "Requirement",
    "RollingIntrinsicTrading",
    "RoomSlot",
    "RoundMemory",
    "SeasonalNaive",
    "Series",
    "SeriesSlot",
    "Session",
    "SetBack",
    "ShiftableLoad",
    "Shortfall",
    "Simulation",
    "SimulationTable",
    "SiteBaseline",
    "SiteBreach",
    "SiteCause",
    "SiteCertificate",
    "SiteCosts",
    "SiteLimit",
    "SitePlan",
    "SiteReason",
    "SiteReasons",
    "SiteSlot",
    "SiteWish",
    "SocPoint",
    "SocTarget",
    "SoftBound",
    "Solar",
    "SourceShare",
    "Stability",
    "StationaryBattery",
    "StorageCertificate",
    "StorageLimit",
    "StorageOutcome",
    "StoragePlan",
    "StorageReason",
    "StorageReasons",
    "StorageSlot",
    "SwitchingCertificate",
    "SwitchingInterval",
    "SwitchingIntervals",
    "SwitchingPlan",
    "SwitchingReason",
    "SwitchingReasons",
    "Table",
    "Target",
    "TargetOutcome",
    "TariffComponent",
    "TariffEntries",
    "TariffEntry",
    "TariffSource",
    "Tiers",
    "UnmetSwitchingWish",
    "Vehicle",
    "VehicleCertificate",
    "VehicleCertificates",
    "Verification",
    "View",
    "WhatIf",
    "__version__",
    "actions",
    "bill",
    "devices",
    "flex",
    "identify_heat",
    "insurance_frontier",
    "issue_forecasts",
    "load_area",
    "load_plan",
    "next_deadline",
    "paging",
    "pareto",
    "plan_area",
    "plan_area_scenarios",
    "plan_batch",
    "plan_capacity",
    "plan_charge",
    "plan_duration",
    "plan_heat",
    "plan_heat_batch",
    "plan_heat_row",
    "plan_policy",
    "plan_row",
    "plan_site",
    "plan_storage",
    "plan_storage_batch",
    "plan_storage_row",
    "plan_switching",
    "plan_vehicle",
    "policies",
    "publish_day_ahead",
    "replay",
    "schedule",
    "signals",
    "simulate",
    "simulate_homes",
    "statistics",
    "tariffs",
    "trade_rolling_intrinsic",
    "versions",
]

_arguments.guard(_engine)
_public.guard(__name__)

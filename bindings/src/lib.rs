//! The engine as a Python extension module: convert, release the interpreter
//! lock, call, convert. Whatever decides anything is in the engine.
#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]
#![expect(clippy::too_many_arguments, reason = "records are made of all their fields")]
#![expect(clippy::doc_markdown, reason = "documentation of classes is that of Python")]
#![expect(clippy::doc_link_with_quotes, reason = "documentation of classes is that of Python")]

#[macro_use]
mod record;

mod action;
mod answer;
mod area;
mod area_crew;
mod area_heat;
mod area_input;
mod area_part;
mod area_questions;
mod area_scenarios;
mod area_table;
mod area_watch;
mod arrow;
mod batch;
mod bill;
mod capacity;
mod carbon;
mod charged;
mod device;
mod doubts;
mod error;
mod evaluate;
mod flex;
mod forecast;
mod heat;
mod heat_batch;
mod import;
mod interrupt;
mod keys;
mod ledger;
mod measurements;
mod names;
mod page;
mod plan;
mod plan_table;
mod policies;
mod policy;
mod power;
mod prices;
mod provenance;
mod questions;
mod rolling_intrinsic;
mod row_fields;
mod saved;
mod schedule;
mod series;
mod signals;
mod simulate;
mod simulate_homes;
mod simulate_view;
mod site;
mod site_request;
mod statistics;
mod statistics_columns;
mod steady;
mod storage;
mod storage_batch;
mod switching;
mod tariffs;
mod time;
mod verification;
mod work;

/// Native part of `slackwater`; use the package, not this module.
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use crate::action::{action_next_step, replay_actions, replay_overrides};
    #[pymodule_export]
    use crate::area::{AreaChange, AreaNumbers, ForgoneEnergy, NodeLoad, Shortfall, plan_area};
    #[pymodule_export]
    use crate::area_heat::{
        AreaHeat, AreaHeatCertificate, AreaHeatInterval, AreaHeatIntervals, AreaHeatReason,
    };
    #[pymodule_export]
    use crate::area_part::AreaPart;
    #[pymodule_export]
    use crate::area_questions::{
        AreaVerification, VehicleCertificate, VehicleCertificates, area_power_changes,
        change_vehicle, hold_table, verify_area,
    };
    #[pymodule_export]
    use crate::area_scenarios::{
        AreaScenarioComparison, AreaScenarioEnergies, AreaScenarioEnergy, AreaScenarioInterval,
        AreaScenarioIntervals, AreaScenarioOutcome, AreaScenarioPlan, AreaScenarioReason,
        AreaScenarioReasons, plan_area_scenarios,
    };
    #[pymodule_export]
    use crate::arrow::Table;
    #[pymodule_export]
    use crate::batch::{plan_batch, plan_batch_own, plan_row};
    #[pymodule_export]
    use crate::bill::{
        Bill, BillLine, BillLines, BillingTariff, MonthBill, MonthBills, TariffComponent,
        TariffEntries, TariffEntry, TariffSource, bill_load, energy_prices, list_tariffs,
        load_tariff,
    };
    #[pymodule_export]
    use crate::capacity::{
        CapacityCertificate, CapacityCost, CapacityPlan, CapacityReason, CapacityReasons,
        CapacitySlot, CapacitySlots, MonthPower, PowerCharge, PowerGroup, plan_capacity,
    };
    #[pymodule_export]
    use crate::carbon::{
        EmissionPrice, capacity_emissions, charge_emissions, heat_emissions, storage_emissions,
        table_emissions,
    };
    #[pymodule_export]
    use crate::device::{
        device_are_paired, device_capabilities, device_charge_state, device_check_command,
        device_check_hold, device_is_reached, device_last_seen, device_serial_number,
        device_shown_consumption, device_whereabouts,
    };
    #[pymodule_export]
    use crate::doubts::{PlausibilityWarning, doubt};
    #[pymodule_export]
    use crate::error::{InputError, LookAheadError};
    #[pymodule_export]
    use crate::evaluate::{Evaluation, MissingFact, evaluate};
    #[pymodule_export]
    use crate::flex::{
        flex_check, flex_deadlines, flex_intent, flex_observe, flex_patch, flex_plan, state,
    };
    #[pymodule_export]
    use crate::forecast::{Forecast, known_prices, naive_quantiles, published_day_ahead};
    #[pymodule_export]
    use crate::heat::{
        Estimate, HeatBaseline, HeatCertificate, HeatFit, HeatOnOff, HeatPlan, HeatReason,
        HeatReasons, HeatSlot, identify_heat, plan_heat,
    };
    #[pymodule_export]
    use crate::heat_batch::{heat_row, plan_heat_batch};
    #[pymodule_export]
    use crate::import::{
        prices_from_civil_rows, prices_from_entsoe, prices_from_instant_rows, prices_from_nordpool,
        stays_from_events, stays_to_table,
    };
    #[pymodule_export]
    use crate::ledger::freeze_sessions;
    #[pymodule_export]
    use crate::measurements::{samples_from_meter, samples_from_power, samples_from_sessions};
    #[pymodule_export]
    use crate::names::{meant_name, renamed_names};
    #[pymodule_export]
    use crate::page::{list_page, version_dates, version_fields, version_stage};
    #[pymodule_export]
    use crate::plan::{
        Certificate, Interval, Intervals, Plan, PlannedSlot, Reason, Reasons, Requirement,
        TargetOutcome, plan_charge, plan_duration, plan_vehicle,
    };
    #[pymodule_export]
    use crate::plan_table::{PlanTable, limit_users};
    #[pymodule_export]
    use crate::policies::{
        charger_deadline, charger_status, policy_charger_state, policy_plan_charger,
        policy_plan_vehicle, vehicle_policy_check, vehicle_policy_deadline,
    };
    #[pymodule_export]
    use crate::policy::{
        BidCurve, BidStep, ChargePolicy, PolicyCertificate, PolicyDecision, PolicyReason,
        PolicyReasons, PolicySlot, PolicySlots, PolicyStep, ScenarioPrices, plan_policy,
    };
    #[pymodule_export]
    use crate::power::{PowerChange, PowerChanges, plan_load, plan_power_changes, site_intervals};
    #[pymodule_export]
    use crate::prices::{PriceCurves, Prices};
    #[pymodule_export]
    use crate::provenance::SourceShare;
    #[pymodule_export]
    use crate::questions::{
        DepartureOutcome, EnergyAtRisk, InsuranceFrontier, InsurancePoint, SocPoint,
        compare_totals, costs, energy_at_risk, insurance_frontier, what_if,
    };
    #[pymodule_export]
    use crate::rolling_intrinsic::{
        IntradayPosition, IntradayPositions, IntradayTrade, IntradayTrades, IntradayUpdate,
        IntradayUpdates, RollingIntrinsicTrading, trade_rolling_intrinsic,
    };
    #[pymodule_export]
    use crate::saved::{
        Difference, Replay, plan_from_json, plan_to_json, replay, saved_differences,
    };
    #[pymodule_export]
    use crate::schedule::{
        schedule_changed_at, schedule_controller, schedule_is_away, schedule_should_charge,
        schedule_status, schedule_time_zone, schedule_transitions,
    };
    #[pymodule_export]
    use crate::series::{Series, series_unit};
    #[pymodule_export]
    use crate::signals::{check_signal, replace_signal};
    #[pymodule_export]
    use crate::simulate::{SimulationResult, SimulationTable, simulate};
    #[pymodule_export]
    use crate::simulate_homes::{HomeView, simulate_homes};
    #[pymodule_export]
    use crate::simulate_view::{Episode, View, count_stays};
    #[pymodule_export]
    use crate::site::{
        DevicePlan, HeatOutcome, RoomSlot, SiteBaseline, SiteBreach, SiteCause, SiteCertificate,
        SiteCosts, SiteLimit, SitePlan, SiteReason, SiteReasons, SiteSlot, SiteWish, plan_site,
    };
    #[pymodule_export]
    use crate::statistics::{
        available_range, bucket_label, freeze_session, hem_battery_level, hem_flow,
        statistics_members, statistics_series, statistics_session, utc_offset_minutes,
    };
    #[pymodule_export]
    use crate::statistics_columns::{statistics_aggregate, statistics_week, statistics_year};
    #[pymodule_export]
    use crate::steady::{PlanChange, Stability, close_to, plan_diff, plan_near};
    #[pymodule_export]
    use crate::storage::{
        StorageCertificate, StorageOutcome, StoragePlan, StorageReason, StorageReasons,
        StorageSlot, find_breach_price, plan_storage,
    };
    #[pymodule_export]
    use crate::storage_batch::{plan_storage_batch, storage_row};
    #[pymodule_export]
    use crate::switching::{
        Session, SwitchingCertificate, SwitchingInterval, SwitchingIntervals, SwitchingPlan,
        SwitchingReason, SwitchingReasons, UnmetSwitchingWish, plan_switching,
    };
    #[pymodule_export]
    use crate::tariffs::{
        check_intervals, check_rates, resolve_price, resolve_prices, tariff_prices,
    };
    #[pymodule_export]
    use crate::time::{next_deadline, time_zone_version};
    #[pymodule_export]
    use crate::verification::{CertificateCheck, Verification};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("PanicException", crate::error::soften_panics(module.py())?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

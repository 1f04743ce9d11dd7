//! Plans for a room or tank with loss: heat pumps, heaters, hot water, air conditioning.
//!
//! # The problem
//!
//! The state is the stored energy above 0 °C, `e = C·T`, of one heat capacity with one loss (a
//! first-order RC model). A unit that cools stores `e = −C·T`: the same problem with other signs.
//!
//! ```text
//! minimise    1. Σ_t h_t·( max(0, L_t − e_t) + max(0, e_t − H_t) )/C      degree-hours
//!             2. Σ_t p_t·x_t − v·(e_T − e_0)                              cost
//! subject to  e_t = a_t·e_{t−1} + η_t·x_t + g_t                           balance
//!             0 ≤ x_t ≤ X_t                                               power
//! ```
//!
//! Degree-hours come first: a band that can be held is held at any price, and of the plans with the
//! least degree-hours the cheapest is made.
//!
//! | Symbol | Meaning | Field |
//! |---|---|---|
//! | `x_t` | electrical energy, kWh | `HeatSlot::used` |
//! | `e_0` | stored energy at the start | `ThermalProgramme::stored_kwh` |
//! | `e_t` | stored energy after slot `t` | `HeatBuffers::levels`; as temperature `HeatSlot::temperature` |
//! | `C` | heat capacity | `ThermalStore::capacity` |
//! | `UA` | heat loss | `ThermalStore::loss` |
//! | `a_t` | share of the energy that remains, `exp(−h_t·UA/C)` | `ThermalStep::decay` |
//! | `η_t` | stored energy per electrical energy | `ThermalStep::stored_per_kwh` |
//! | `g_t` | energy from outdoors and gains | `ThermalStep::drift_kwh` |
//! | `X_t` | most electrical energy | `ThermalStep::power_kwh` |
//! | `L_t`, `H_t` | edges of the band at the end of the slot | `ThermalStep::low_kwh`, `high_kwh` |
//! | `h_t` | length in hours | `ThermalStep::hours` |
//! | `p_t` | price of electricity | `ThermalStep::price` |
//! | `v` | value of a kWh stored at the end | `ThermalProgramme::end_value` |
//! | `λ_t` | value of a stored kWh, in money and degree-hours | `HeatBuffers::values` |
//!
//! # The method
//!
//! | Step | Formula | Code |
//! |---|---|---|
//! | from temperatures to energies | exact for inputs that are constant within a slot | `slots` |
//! | path of least cost | segments by slope, in a unit of energy that decays with the store | `dynamic_programme` |
//! | where degree-hours are traded | the same with pairs as slopes | `soft_band` |
//! | price of a degree-hour | least `M` at which `cost + M·D` has the same plan | `degree_hour_price` |
//! | dual bounds | weak duality with `λ_t`, for degree-hours and for `cost + M·D` | `certificate` |
//!
//! # Units that are on or off
//!
//! A unit that runs at full power or not at all, with least times on and off (`on_off`), has
//! `x_t ∈ {0, X_t}`. The modulating unit is its relaxation, and gives the marginal values. A schedule
//! is searched by forward dynamic programming (`on_off_search`), and a lower bound by a shortest path
//! through intervals of energy with those values (`on_off_bound`). The gap between the two is stated.
//!
//! # Effort
//!
//! A modulating unit takes `O(T·k)` for `T` slots and at most `k` segments between the edges of the band, and
//! `O(T²)` where degree-hours are traded. A unit that is on or off takes `O(T·b·n)` beside that, for
//! `b` slots in the least times and at most 1,000 cells `n`.
pub(crate) mod baseline;
pub(crate) mod certificate;
pub(crate) mod degree_hour_price;
pub(crate) mod dynamic_programme;
pub(crate) mod energy_cells;
pub(crate) mod explain;
pub(crate) mod identify;
pub(crate) mod least_squares;
pub(crate) mod on_off;
pub(crate) mod on_off_bound;
pub(crate) mod on_off_search;
pub(crate) mod plan;
pub(crate) mod planned_slot;
pub(crate) mod planner;
pub(crate) mod request;
pub(crate) mod slots;
pub(crate) mod soft_band;
pub(crate) mod thermostat;
pub(crate) mod verify;
pub(crate) mod worth;

pub use baseline::emissions;
pub use certificate::{
    HeatCertificate, HeatCertificateError, HeatEvidence, OnOffEvidence, certify,
};
pub use dynamic_programme::HeatBuffers;
pub use explain::{HeatReason, HeatReasonCode, explain};
pub use identify::{Estimate, HeatFit, HeatReadings, IdentifyError, READINGS_MIN, identify_heat};
pub use on_off::{LEAST_TIME_MAX, OnOff};
pub use plan::{HeatBaseline, HeatPlan};
pub use planned_slot::{DegreeHours, HeatSlot};
pub use planner::{plan_heat, plan_heat_in};
pub use request::{
    CELSIUS_RANGE, ComfortBand, CopPoint, HeatError, HeatGain, HeatMode, HeatProblem, HeatRequest,
    OutdoorPeriod, SetBack, ThermalStore,
};
pub use verify::{StatedDegreeHours, verify};

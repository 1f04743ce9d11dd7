//! Plans of one vehicle that only charges: the cheapest energy before every deadline.
pub(crate) mod baseline;
pub(crate) mod certificate;
pub(crate) mod duration;
pub(crate) mod explain;
pub(crate) mod gaps;
pub(crate) mod greedy;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod selection;
pub(crate) mod single_target;
pub(crate) mod sub_slots;
pub(crate) mod vehicle;

pub use baseline::unmanaged_cost;
pub use certificate::{
    Certificate, CertificateError, ChargeEvidence, GAP_MAX, Requirement, certify,
};
pub use duration::{DurationError, DurationRequest};
pub use explain::{ChargeReasonCode, Reason, RunnerUp, explain};
pub use gaps::{Gap, MissedTarget, MissingPrice, gaps};
pub use greedy::plan_charge;
pub use plan::{Plan, PlannedSlot, Purchase, Purpose, TargetOutcome};
pub use request::{
    AfterDeadline, ChargeProblem, ChargeRequest, ChargeRequestError, PowerLimit, Target,
};
pub use selection::slot_selection::{SlotSelection, SlotSet};
pub use vehicle::{Battery, CAPACITY_MIN_KWH, SocTarget, VehicleError, VehicleRequest};

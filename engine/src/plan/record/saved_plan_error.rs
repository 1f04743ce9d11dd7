//! Why a plan from a file cannot be read: its parts do not fit together.
use crate::plan::charge::plan::{Plan, Purpose};
use crate::plan::charge::request::ChargeRequestError;
use crate::time::horizon::{Horizon, HorizonError};
use crate::units::{Energy, Power};

/// Why the parts of a plan from a file do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SavedPlanError {
    /// The slots overlap, have no length or are out of order.
    #[error("slots: {0}")]
    Slots(#[from] HorizonError),
    /// A slot with less than no power or no energy.
    #[error("slots[{index}] has {} kWh at {} kW; both are 0 or more", energy.as_kwh(), power.as_kw())]
    NegativeSlot {
        /// Position of the slot.
        index: usize,
        /// Energy as given.
        energy: Energy,
        /// Power as given.
        power: Power,
    },
    /// The periods of charging overlap, have no length or are out of order.
    #[error("intervals: {0}")]
    Intervals(HorizonError),
    /// A purchase of less than nothing.
    #[error("purchases[{index}].energy_kwh is {} kWh; it is 0 kWh or more", energy.as_kwh())]
    NegativePurchase {
        /// Position of the purchase.
        index: usize,
        /// Energy as given.
        energy: Energy,
    },
    /// A position in a list that has no such entry.
    #[error("{field}[{index}].{name} is {position}; the plan has {entries} {name}s")]
    NoSuchEntry {
        /// The list of what names the entry.
        field: &'static str,
        /// Position of what names it.
        index: usize,
        /// What is named: a slot or a target.
        name: &'static str,
        /// The position it names.
        position: usize,
        /// Entries that there are.
        entries: usize,
    },
    /// The position of a top-off that is no slot.
    #[error("top_off is {slot}; the plan has {slots} slots")]
    NoTopOff {
        /// The slot it names.
        slot: usize,
        /// Slots that there are.
        slots: usize,
    },
    /// The sessions overlap, have no length or are out of order.
    #[error("sessions: {0}")]
    Sessions(HorizonError),
    /// The request without limits on switching makes no sense.
    #[error("free_request: {0}")]
    FreeRequest(ChargeRequestError),
    /// A list with an entry for each slot that has fewer or more.
    #[error("{field}[{index}].{name} has {entries} entries; the plan has {slots} slots")]
    Entries {
        /// The list of lists.
        field: &'static str,
        /// Position in it.
        index: usize,
        /// The list.
        name: &'static str,
        /// Its entries.
        entries: usize,
        /// Slots that there are.
        slots: usize,
    },
    /// A plan for more or fewer devices than the site has.
    #[error("devices has {devices} entries; the site has {wanted} devices")]
    Devices {
        /// Devices of the plan.
        devices: usize,
        /// Devices of the site.
        wanted: usize,
    },
}

/// Checks that periods follow each other.
pub(crate) fn check_periods<T>(
    entries: &[T],
    period: impl Fn(&T) -> (chrono::DateTime<chrono::Utc>, chrono::DateTime<chrono::Utc>),
) -> Result<(), HorizonError> {
    Horizon::new(entries.iter().map(period)).map(|_| ())
}

/// Checks that a position is in a list of so many entries.
pub(crate) fn check_entry(
    (field, index): (&'static str, usize),
    name: &'static str,
    position: usize,
    entries: usize,
) -> Result<(), SavedPlanError> {
    if position < entries {
        return Ok(());
    }
    Err(SavedPlanError::NoSuchEntry { field, index, name, position, entries })
}

/// Checks that a slot has neither energy nor power below zero.
pub(crate) fn check_slot(index: usize, energy: Energy, power: Power) -> Result<(), SavedPlanError> {
    if energy < Energy::ZERO || power < Power::ZERO {
        return Err(SavedPlanError::NegativeSlot { index, energy, power });
    }
    Ok(())
}

/// Checks a plan for charging.
pub(crate) fn check_plan(plan: &Plan) -> Result<(), SavedPlanError> {
    check_periods(&plan.slots, |slot| (slot.start, slot.end))?;
    check_periods(&plan.intervals, |interval| (interval.start, interval.end))
        .map_err(SavedPlanError::Intervals)?;
    for (index, slot) in plan.slots.iter().enumerate() {
        check_slot(index, slot.energy, slot.power_max)?;
    }
    for (index, purchase) in plan.purchases.iter().enumerate() {
        if purchase.energy < Energy::ZERO {
            return Err(SavedPlanError::NegativePurchase { index, energy: purchase.energy });
        }
        check_entry(("purchases", index), "slot", purchase.slot, plan.slots.len())?;
        if let Purpose::Deadline { target } | Purpose::MissedDeadline { target } = purchase.purpose
        {
            check_entry(("purchases", index), "target", target, plan.targets.len())?;
        }
    }
    Ok(())
}

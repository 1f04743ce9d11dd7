//! Error of a plan from a file whose parts do not fit together, and the checks for it.
use chrono::{DateTime, Utc};

use crate::plan::charge::plan::{Plan, PlannedSlot, Purpose};
use crate::plan::charge::request::ChargeRequestError;
use crate::time::horizon::{Horizon, HorizonError};
use crate::units::{Energy, Power};

/// Reason why the parts of a plan from a file do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The slots overlap, have no length or are out of order.
    #[error("slots: {0}")]
    Slots(#[from] HorizonError),
    /// A slot has a power or an energy below zero.
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
    /// A period of charging is not covered by slots.
    #[error("intervals[{index}] is outside of the slots")]
    OutsideSlots {
        /// Position of the period.
        index: usize,
    },
    /// A purchase has an energy below zero.
    #[error("purchases[{index}].energy_kwh is {} kWh; it is 0 kWh or more", energy.as_kwh())]
    NegativePurchase {
        /// Position of the purchase.
        index: usize,
        /// Energy as given.
        energy: Energy,
    },
    /// A position does not exist in its list.
    #[error("{field}[{index}].{name} is {position}; the plan has {entries} {name}s")]
    NoSuchEntry {
        /// List of the entry that holds the position.
        field: &'static str,
        /// Position of that entry.
        index: usize,
        /// Kind of entry that the position refers to: `slot` or `target`.
        name: &'static str,
        /// The position as given.
        position: usize,
        /// Number of entries of the list.
        entries: usize,
    },
    /// The position of the top-off is not a slot.
    #[error("top_off is {slot}; the plan has {slots} slots")]
    NoTopOff {
        /// The position as given.
        slot: usize,
        /// Number of slots.
        slots: usize,
    },
    /// The sessions overlap, have no length or are out of order.
    #[error("sessions: {0}")]
    Sessions(HorizonError),
    /// The request without limits on switching is invalid.
    #[error("free_request: {0}")]
    FreeRequest(ChargeRequestError),
    /// A list has more or fewer entries than there are slots.
    #[error("{field}[{index}].{name} has {entries} entries; the plan has {slots} slots")]
    Entries {
        /// List of the entry that holds the list.
        field: &'static str,
        /// Position of that entry.
        index: usize,
        /// Name of the list.
        name: &'static str,
        /// Number of its entries.
        entries: usize,
        /// Number of slots.
        slots: usize,
    },
    /// The plan has more or fewer devices than the site.
    #[error("devices has {devices} entries; the site has {wanted} devices")]
    Devices {
        /// Number of devices of the plan.
        devices: usize,
        /// Number of devices of the site.
        wanted: usize,
    },
}

/// Checks that the periods of charging are in time order, and that the slots of the plan cover them.
pub(crate) fn check_intervals(
    slots: &Horizon,
    intervals: impl IntoIterator<Item = (DateTime<Utc>, DateTime<Utc>)>,
) -> Result<(), SavedPlanError> {
    // A horizon refuses intervals that overlap or are out of order.
    let intervals = Horizon::new(intervals).map_err(SavedPlanError::Intervals)?;
    for (index, (&from, &to)) in intervals.starts().iter().zip(intervals.ends()).enumerate() {
        if slots.covered(from, to) < to - from {
            return Err(SavedPlanError::OutsideSlots { index });
        }
    }
    Ok(())
}

/// Checks that a position lies in a list of `entries` entries. `(field, index)` is the entry that
/// holds the position, `name` the kind of entry it refers to.
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

/// Checks slots and periods of a plan that only charges.
pub(crate) fn check_charging(
    slots: &[PlannedSlot],
    intervals: impl IntoIterator<Item = (DateTime<Utc>, DateTime<Utc>)>,
) -> Result<(), SavedPlanError> {
    check_intervals(&Horizon::new(slots.iter().map(|slot| (slot.start, slot.end)))?, intervals)?;
    let mut slots = slots.iter().enumerate();
    slots.try_for_each(|(index, slot)| check_slot(index, slot.energy, slot.power_max))
}

/// Checks periods, energies and positions of a charging plan.
pub(crate) fn check_plan(plan: &Plan) -> Result<(), SavedPlanError> {
    check_charging(&plan.slots, plan.intervals.iter().map(|i| (i.start, i.end)))?;
    for (index, purchase) in plan.purchases.iter().enumerate() {
        if purchase.energy < Energy::ZERO {
            return Err(SavedPlanError::NegativePurchase { index, energy: purchase.energy });
        }
        // Reasons are looked up by these positions, so they must exist.
        check_entry(("purchases", index), "slot", purchase.slot, plan.slots.len())?;
        match purchase.purpose {
            Purpose::Deadline { target }
            | Purpose::MissedDeadline { target }
            | Purpose::Kept { target } => {
                check_entry(("purchases", index), "target", target, plan.targets.len())?;
            }
            Purpose::Reserve | Purpose::NegativePrice => {}
        }
    }
    Ok(())
}

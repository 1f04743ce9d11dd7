//! Reasons of a plan under a price of power.
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::capacity::plan::CapacityPlan;
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::time::civil::local_of;
use crate::tolerance::POWER_ROUNDING_KW;
use crate::units::{Energy, Power};
use crate::words::words;

words! {
    /// Cause of a period in which the battery runs, or may not run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum CapacityReasonCode {
        /// It charges, below the level.
        Charge = "charge",
        /// It charges as much as the level allows.
        ChargeAtLevel = "charge_at_level",
        /// It discharges, below the level.
        Discharge = "discharge",
        /// It discharges so that the meter stays at the level.
        DischargeAtLevel = "discharge_at_level",
        /// It is idle, because no price to buy at is known.
        NoPrice = "no_price",
    }
}

/// Reason of a period in which the battery runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityReason {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// Kind of reason.
    pub code: CapacityReasonCode,
    /// Energy into the battery, at the plug; negative out of it.
    pub energy: Energy,
    /// Level of the power through the meter, weighted; none if the windows do not count.
    pub level: Option<Power>,
    /// The reason in a sentence, on the clocks that were asked for.
    pub sentence: String,
}

/// Gives a reason for each period in which the battery runs or no price is known, in time order.
#[must_use]
pub fn explain(plan: &CapacityPlan, time_zone: Tz) -> Vec<CapacityReason> {
    let mut reasons: Vec<CapacityReason> = Vec::new();
    for slot in &plan.slots {
        let Some(code) = code_of(slot) else { continue };
        let energy = slot.charged - slot.discharged;
        match reasons.last_mut() {
            Some(last)
                if last.end == slot.start && last.code == code && last.level == slot.level =>
            {
                last.end = slot.end;
                last.energy = last.energy + energy;
            }
            _ => reasons.push(CapacityReason {
                start: slot.start,
                end: slot.end,
                code,
                energy,
                level: slot.level,
                sentence: String::new(),
            }),
        }
    }
    for reason in &mut reasons {
        reason.sentence = write_sentence(reason, time_zone);
    }
    reasons
}

fn code_of(slot: &CapacitySlot) -> Option<CapacityReasonCode> {
    if slot.import_price.is_none() {
        return Some(CapacityReasonCode::NoPrice);
    }
    let power = slot.power().as_kw();
    let is_at_level = slot.level.is_some_and(|level| power >= level.as_kw() - POWER_ROUNDING_KW);
    let is_charging = slot.charged > Energy::ZERO;
    if !is_charging && slot.discharged == Energy::ZERO {
        return None;
    }
    Some(match (is_charging, is_at_level) {
        (true, true) => CapacityReasonCode::ChargeAtLevel,
        (true, false) => CapacityReasonCode::Charge,
        (false, true) => CapacityReasonCode::DischargeAtLevel,
        (false, false) => CapacityReasonCode::Discharge,
    })
}

fn write_sentence(reason: &CapacityReason, time_zone: Tz) -> String {
    let clock = |at: DateTime<Utc>| local_of(at, time_zone).format("%a %H:%M");
    let (start, end) = (clock(reason.start), clock(reason.end));
    let energy = reason.energy.as_kwh().abs();
    let level = reason.level.map_or(0.0, Power::as_kw);
    let text = match reason.code {
        CapacityReasonCode::Charge => format!("charges {energy:.2} kWh, where energy is cheapest"),
        CapacityReasonCode::ChargeAtLevel => {
            format!("charges {energy:.2} kWh, as much as fits below the power of {level:.2} kW")
        }
        CapacityReasonCode::Discharge => {
            format!("discharges {energy:.2} kWh, where energy is dearest")
        }
        CapacityReasonCode::DischargeAtLevel => {
            format!("discharges {energy:.2} kWh, so that the meter stays at {level:.2} kW")
        }
        CapacityReasonCode::NoPrice => "nothing is planned, because no price is known".to_owned(),
    };
    format!("{start} to {end}: {text}.")
}

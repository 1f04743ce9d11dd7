//! What the same battery would cost without a plan.
use crate::plan::storage::dynamic_programme::DynamicProgramme;
use crate::plan::storage::plan::StorageSlot;
use crate::plan::storage::slots::Layout;

/// Cost of charging at full power from plug-in, without discharging.
///
/// So much is charged as targets, reserve and driving need, or as the plan
/// takes in and does not sell, if that is more: both then do at least what
/// was asked. Energy left at the end counts at the end value in both. The
/// baseline is itself a plan for the same wishes, so an optimal plan never
/// costs more; where a search was stopped, savings may be negative and are
/// not clipped.
pub(crate) fn baseline(layout: &Layout, slots: &[StorageSlot]) -> f64 {
    let end_kwh = slots.last().map_or(layout.kernel.stored_kwh, |slot| slot.stored.as_kwh());
    baseline_of(&layout.kernel, &layout.import, end_kwh)
}

/// The same from a kernel, its prices to buy at, and the level at the end of
/// the plan.
pub(crate) fn baseline_of(kernel: &DynamicProgramme, import: &[f64], end_kwh: f64) -> f64 {
    let mut driven = 0.0;
    let mut needed: f64 = 0.0;
    for slot in &kernel.slots {
        driven += slot.driving_kwh;
        needed = needed.max(slot.least_kwh + driven - kernel.stored_kwh);
    }
    needed = needed.max(end_kwh + driven - kernel.stored_kwh);

    let mut cost = 0.0;
    let mut missing = needed;
    let mut level = kernel.stored_kwh;
    for (slot, &price) in kernel.slots.iter().zip(import) {
        if missing <= 0.0 {
            level -= slot.driving_kwh;
            continue;
        }
        let room = (slot.limit_kwh + slot.driving_kwh - level).max(0.0);
        let taken = slot.charge_kwh.min(room).min(missing);
        if taken > 0.0 {
            cost += kernel.charge_price(price) * taken;
            missing -= taken;
        }
        level += taken - slot.driving_kwh;
    }
    cost - kernel.end_value_per_kwh * (level - kernel.stored_kwh)
}

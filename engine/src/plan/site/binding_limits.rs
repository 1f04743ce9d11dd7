//! Limits that bind where a device misses energy, as causes of its shortfall.
use std::ops::Range;

use crate::plan::site::accounting::{Account, Books, name_of};
use crate::plan::site::model::SiteModel;
use crate::plan::site::plan::Cause;
use crate::plan::site::request::SiteRequest;
use crate::tolerance::{SITE_MIN_KWH, SOLVER_AGREEMENT};

/// Limits that bound the charging of a device in some slots, as causes. A limit binds in a slot if it has no residual capacity, or less than the least power of an idle device; with
/// `at_full_power`, less than the device needs for its full power. [`Cause::Priority`] is added if
/// a device of higher priority charges in such a slot.
pub(crate) fn find_binding_limits(
    request: &SiteRequest,
    model: &SiteModel,
    accounts: &[Account],
    books: &Books,
    device: usize,
    slots: Range<usize>,
    at_full_power: bool,
) -> Vec<Cause> {
    let Some(storage) = &model.storages[device] else { return Vec::new() };
    let mut causes = Vec::new();
    let mut goes_last = false;
    for (limit, load) in model.limits.iter().zip(&books.loads) {
        if limit.shares[device] == 0.0 {
            continue;
        }
        let binds = |slot: usize| {
            let most = limit.limit_kw[slot].unwrap_or(f64::INFINITY);
            let index = slot - storage.stay.start;
            let drawn = accounts[device].drawn[slot];
            // What has a least power is held back by less room than that.
            let step = match (at_full_power, drawn <= SITE_MIN_KWH) {
                (true, _) => storage.charge_max[index] - drawn,
                (false, true) => storage.charge_min[index],
                (false, false) => 0.0,
            };
            let next = load[slot] + limit.shares[device] * step / model.grid.hours[slot];
            drawn < storage.charge_max[index] - SITE_MIN_KWH
                && next >= most - SOLVER_AGREEMENT * most.max(1.0)
        };
        let held: Vec<usize> = slots.clone().filter(|&slot| binds(slot)).collect();
        if held.is_empty() {
            continue;
        }
        let (name, phase) = name_of(request, limit.kind);
        causes.push(Cause::Limit { name, phase });
        // Devices of higher priority that draw in one of these slots, under the same limit.
        goes_last |=
            model.storages.iter().zip(accounts).zip(&limit.shares).any(|((s, a), &share)| {
                let weighs_more = s.as_ref().is_some_and(|s| s.priority > storage.priority);
                weighs_more && share > 0.0 && held.iter().any(|&slot| a.drawn[slot] > SITE_MIN_KWH)
            });
    }
    if goes_last {
        causes.push(Cause::Priority);
    }
    causes
}

//! Rows of the limits: import, export, groups and phases of groups.
//!
//! In slot `t` of `h_t` hours a limit of `limit_t` kW on flows `f` with shares `s` is
//!
//! ```text
//! Σ_f s_f·weight_f·x_f + fixed_t − b_t ≤ h_t·limit_t,    b_t ≥ 0
//! ```
//!
//! The column of the breach `b_t` exists only if the limit has a price, or if the fixed energy
//! alone exceeds a hard limit. A group has a second row with the opposite sign, so that the limit
//! holds in both directions. Rows that cannot bind are left out.
use crate::plan::site::device::{Device, Phase};
use crate::plan::site::model::{LimitKind, LimitRows, SiteModel};
use crate::plan::site::request::SiteRequest;
use crate::units::Price;

impl SiteModel {
    /// Adds the rows of all limits that can bind.
    pub(crate) fn add_limits(&mut self, request: &SiteRequest) {
        let count = request.devices.len();
        if let Some(limit) = &request.import_limit {
            let limit_kw = self.grid.powers(&limit.power);
            let price = limit.breach_price.map(Price::as_per_kwh);
            self.add_limit(LimitKind::Import, limit_kw, vec![1.0; count], price);
        }
        if let Some(limit) = &request.export_limit {
            let limit_kw = self.grid.powers(&limit.power);
            let price = limit.breach_price.map(Price::as_per_kwh);
            self.add_limit(LimitKind::Export, limit_kw, vec![1.0; count], price);
        }
        for (index, group) in request.groups.iter().enumerate() {
            let members: Vec<bool> =
                request.devices.iter().map(|device| is_member(request, device, index)).collect();
            if let Some(limit) = &group.limit {
                let shares = members.iter().map(|&is_in| f64::from(u8::from(is_in))).collect();
                let price = limit.breach_price.map(Price::as_per_kwh);
                let kind = LimitKind::Group(index, None);
                self.add_limit(kind, self.grid.powers(&limit.power), shares, price);
            }
            if let Some(limit) = &group.phase_limit {
                let price = limit.breach_price.map(Price::as_per_kwh);
                for phase in Phase::ALL {
                    // A device loads its phases in equal parts.
                    let share = |(device, &is_in): (&Device, &bool)| {
                        let on = device.phases();
                        let is_on = is_in && on.contains(&phase);
                        if is_on { 1.0 / on.len() as f64 } else { 0.0 }
                    };
                    let shares: Vec<f64> =
                        request.devices.iter().zip(&members).map(share).collect();
                    let kind = LimitKind::Group(index, Some(phase));
                    self.add_limit(kind, self.grid.powers(&limit.power), shares, price);
                }
            }
        }
    }

    /// Adds the rows of one limit in all slots, in kWh.
    fn add_limit(
        &mut self,
        kind: LimitKind,
        limit_kw: Vec<Option<f64>>,
        shares: Vec<f64>,
        breach_price: Option<f64>,
    ) {
        let mut rows = Vec::with_capacity(limit_kw.len());
        for (slot, limit) in limit_kw.iter().enumerate() {
            let most = limit.map_or(f64::INFINITY, |limit| limit * self.grid.hours[slot]);
            rows.push(match kind {
                LimitKind::Import => [self.bound_import(slot, most, breach_price), None],
                LimitKind::Export => [self.bound_export(slot, most, breach_price), None],
                LimitKind::Group(..) => self.bound_group(slot, most, &shares, breach_price),
            });
        }
        self.limits.push(LimitRows { kind, limit_kw, rows, shares, breach_price });
    }

    /// Adds the row of the import limit of `most` kWh in a slot.
    fn bound_import(&mut self, slot: usize, most: f64, price: Option<f64>) -> Option<usize> {
        let (terms, known) = self.import_terms(slot);
        let highest = self.most_import(slot);
        let idle = self.fixed_in(slot, None);
        self.bound(terms, (known, idle, highest), most, price)
    }

    /// Adds the row of the export limit of `most` kWh in a slot; none if the slot cannot export.
    fn bound_export(&mut self, slot: usize, most: f64, price: Option<f64>) -> Option<usize> {
        let export = self.meters[slot]?.export;
        let idle = -self.fixed_in(slot, None);
        let highest = self.program.columns[export].upper;
        self.bound(vec![(export, 1.0)], (0.0, idle, highest), most, price)
    }

    /// Adds the rows of a group's limit of `most` kWh in a slot, for drawing and for feeding.
    fn bound_group(
        &mut self,
        slot: usize,
        most: f64,
        shares: &[f64],
        price: Option<f64>,
    ) -> [Option<usize>; 2] {
        let fixed = self.fixed_in(slot, Some(shares));
        let (least, highest) = self.choice(slot, Some(shares));
        let terms = self.draws(slot, Some(shares));
        let back: Vec<(usize, f64)> = terms.iter().map(|&(c, weight)| (c, -weight)).collect();
        let forward = self.bound(terms, (fixed, fixed, fixed + highest), most, price);
        [forward, self.bound(back, (-fixed, -fixed, -(fixed + least)), most, price)]
    }

    /// Adds the row `terms + known <= most`, unless `highest <= most`. The tuple is `(known, idle,
    /// highest)` in kWh: the constant of the sum, its value if all devices are idle, and its
    /// largest value. A column of the breach is added if it has a `price` or if `idle > most`.
    fn bound(
        &mut self,
        mut terms: Vec<(usize, f64)>,
        (known, idle, highest): (f64, f64, f64),
        most: f64,
        price: Option<f64>,
    ) -> Option<usize> {
        if highest <= most {
            return None;
        }
        if price.is_some() || idle > most {
            let breach = self.add_column(price.unwrap_or(0.0), 0.0, highest - most);
            if price.is_none() {
                self.breaches.push(breach);
            }
            terms.push((breach, -1.0));
        }
        Some(self.add_row(f64::NEG_INFINITY, most - known, terms))
    }
}

/// True if a device is in a group, directly or through a subgroup.
pub(crate) fn is_member(request: &SiteRequest, device: &Device, group: usize) -> bool {
    let mut at = device.group();
    while let Some(name) = at {
        if request.groups[group].name == name {
            return true;
        }
        let above = request.groups.iter().find(|above| above.name == name);
        at = above.and_then(|above| above.parent.as_deref());
    }
    false
}

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
            // A limit that is not known in a slot does not bind in it.
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
        // Feeding is drawing with the opposite sign, within the same limit.
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
            // A breach without a price comes before money.
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
    // Groups without a cycle form trees, so the walk to the root ends.
    while let Some(name) = at {
        if request.groups[group].name == name {
            return true;
        }
        let above = request.groups.iter().find(|above| above.name == name);
        at = above.and_then(|above| above.parent.as_deref());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::request::tests::{group, hard, home, house, powers, site, sun, van};
    use crate::units::per_kwh;

    fn charger(name: &str) -> Device {
        Device::Vehicle(van(name, 5.0, 4.0))
    }

    fn model(request: &SiteRequest) -> SiteModel {
        SiteModel::new(request, false)
    }

    #[test]
    fn only_a_limit_that_can_bind_has_a_row() {
        let mut request = site(&[10, 20], &[charger("van"), house(&[1.0, 2.0])]);
        request.import_limit = Some(hard(6.0));
        let model = model(&request);
        // 5 + 1 kW are within the limit, 5 + 2 are not.
        let limit = &model.limits[0];
        assert_eq!(limit.rows[0], [None, None]);
        let row = &model.program.rows[limit.rows[1][0].unwrap()];
        assert_eq!((row.upper, &row.terms), (4.0, &vec![(model.columns[0].charge[1], 1.0)]));
        assert!(model.breaches.is_empty());
    }

    #[test]
    fn what_is_fixed_may_break_a_hard_limit_at_its_least() {
        let mut request = site(&[10, 20], &[charger("van"), house(&[1.0, 7.0])]);
        request.import_limit = Some(hard(4.0));
        let hard = model(&request);
        // The first hour is a choice; in the second one up to 7 + 5 − 4 are above the limit.
        assert_eq!(hard.breaches.len(), 1);
        let breach = hard.program.columns[hard.breaches[0]];
        assert_eq!((breach.cost, breach.lower, breach.upper), (0.0, 0.0, 8.0));
        let row = &hard.program.rows[hard.limits[0].rows[1][0].unwrap()];
        assert_eq!((row.upper, row.terms.last()), (-3.0, Some(&(hard.breaches[0], -1.0))));
        request.import_limit.as_mut().unwrap().breach_price = Some(per_kwh(0.5));
        let soft = model(&request);
        assert!(soft.breaches.is_empty());
        let priced =
            soft.program.columns.iter().filter(|c| (c.cost * soft.unit - 0.5).abs() < 1e-12);
        assert_eq!(priced.map(|c| c.upper).collect::<Vec<_>>(), [2.0, 8.0]);
    }

    #[test]
    fn an_export_limit_bounds_the_export_and_not_what_is_turned_down() {
        let export = |is_curtailable: bool| {
            let mut request = site(&[10], &[sun(&[5.0], is_curtailable)]);
            request.export_limit = Some(hard(3.0));
            let model = model(&request);
            let row = &model.program.rows[model.limits[0].rows[0][0].unwrap()];
            assert_eq!((row.terms[0], row.upper), ((model.meters[0].unwrap().export, 1.0), 3.0));
            model.breaches.len()
        };
        assert_eq!((export(true), export(false)), (0, 1));
    }

    #[test]
    fn a_group_counts_in_both_directions() {
        let mut home = home(5.0, 10.0, 50.0);
        home.group = Some("g".to_owned());
        let mut request = site(&[10], &[Device::Battery(home), charger("van")]);
        request.groups = vec![group("g", None, Some(hard(3.0)))];
        let model = model(&request);
        let (charge, discharge) =
            (model.columns[0].charge[0], model.columns[0].discharge[0].unwrap());
        let terms = |row: Option<usize>| model.program.rows[row.unwrap()].terms.clone();
        let [forward, back] = model.limits[0].rows[0];
        assert_eq!(terms(forward), [(charge, 1.0), (discharge, -1.0)]);
        assert_eq!(terms(back), [(charge, -1.0), (discharge, 1.0)]);
        assert_eq!(model.limits[0].shares, [1.0, 0.0]);
    }

    #[test]
    fn a_device_loads_its_phases_in_equal_parts() {
        let mut two = van("two", 5.0, 4.0);
        (two.group, two.phases) = (Some("g".to_owned()), vec![Phase::L1, Phase::L3]);
        let mut three = two.clone();
        (three.name, three.phases) = ("three".to_owned(), Phase::ALL.to_vec());
        let devices = [Device::Vehicle(two), Device::Vehicle(three), charger("out")];
        let mut request = site(&[10], &devices);
        request.groups = vec![group("g", None, None)];
        request.groups[0].phase_limit = Some(hard(2.0));
        let shares: Vec<_> = model(&request).limits.into_iter().map(|limit| limit.shares).collect();
        let third = 1.0 / 3.0;
        assert_eq!(shares, [[0.5, third, 0.0], [0.0, third, 0.0], [0.5, third, 0.0]]);
    }

    #[test]
    fn a_member_of_a_part_is_a_member_of_the_whole() {
        let mut inner = van("van", 5.0, 4.0);
        inner.group = Some("c".to_owned());
        let mut request = site(&[10], &[Device::Vehicle(inner), charger("out")]);
        let groups = [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("a"))];
        request.groups = groups.map(|(name, parent)| group(name, parent, None)).to_vec();
        let members = |device: usize| {
            let device = &request.devices[device];
            [0, 1, 2, 3].map(|index| is_member(&request, device, index))
        };
        assert_eq!(members(0), [true, true, true, false]);
        assert_eq!(members(1), [false; 4]);
    }

    #[test]
    fn a_limit_over_time_follows_its_slots() {
        let mut request = site(&[10, 20], &[charger("van")]);
        request.import_limit = Some(hard(0.0));
        request.import_limit.as_mut().unwrap().power = powers(&[2.0, 9.0]);
        let limit = &model(&request).limits[0];
        assert_eq!(limit.limit_kw, [Some(2.0), Some(9.0)]);
        assert!(limit.rows[0][0].is_some() && limit.rows[1][0].is_none());
    }
}

//! Columns and rows of the demand charges on import and export, and of blocks of energy.
//!
//! ```text
//! cost D·(P − P₀),  P ≥ P₀,   energy_w + Σ_{t in w} f_t ≤ hours·P        for each window w
//! cost Σ_k r_k·v_k,           Σ_t g_t = Σ_k v_k,   0 ≤ v_k ≤ width of block k
//! ```
//!
//! The energy `f_t` of slot `t` is the import `g_t` or the export `e_t`, by [`Direction`].
//!
//! | Symbol | Field |
//! |---|---|
//! | `D`, `P₀`, `hours` | `DemandCharge::{price_per_kw, peak, window_minutes / 60}` |
//! | `P` | `SiteModel::peak`, `SiteModel::export_peak`, in kW |
//! | `energy_w` | `ChargeWindow::energy`, imported or exported before now, in kWh |
//! | `r_k` | `Tier::surcharge` |
//!
//! The surcharges rise from block to block, so that a least cost fills the blocks in their order.
use crate::plan::site::model::SiteModel;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::{DemandCharge, SiteRequest};
use crate::time::instant::{instant_at, micros_of};

/// Direction of the energy at the meter whose peak costs money.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    Import,
    Export,
}

impl Direction {
    /// Demand charge of a request on this direction.
    pub(crate) fn charge(self, request: &SiteRequest) -> Option<&DemandCharge> {
        match self {
            Self::Import => request.demand_charge.as_ref(),
            Self::Export => request.export_demand_charge.as_ref(),
        }
    }
}

impl SiteModel {
    /// Adds the columns and rows of the peaks of import and export.
    pub(crate) fn add_demand_charges(&mut self, request: &SiteRequest) {
        self.peak = self.add_demand_charge(request, Direction::Import);
        self.export_peak = self.add_demand_charge(request, Direction::Export);
    }

    /// Adds the column of a peak, and a row for each window that can raise it. Returns the column.
    fn add_demand_charge(&mut self, request: &SiteRequest, direction: Direction) -> Option<usize> {
        let charge = direction.charge(request).filter(|charge| charge.price_per_kw != 0.0)?;
        let windows = demand_windows(charge, request, &self.grid);
        // Most energy that a window can count, for the upper bound of the peak.
        let most_in = |model: &Self, window: &ChargeWindow| {
            let most = window.slots.iter().map(|&slot| model.most_energy(slot, direction));
            most.sum::<f64>() + window.energy
        };
        let highest: Vec<f64> = windows.iter().map(|window| most_in(self, window)).collect();
        let hours = f64::from(charge.window_minutes) / 60.0;
        let paid = charge.peak.as_kw();
        let most = highest.iter().copied().fold(0.0, f64::max) / hours;
        let peak = self.add_column(charge.price_per_kw, paid, paid.max(most));
        // The peak that is paid for already is no cost of the plan.
        self.constant -= charge.price_per_kw * paid;
        for (window, highest) in windows.into_iter().zip(highest) {
            // Any other window stays below the paid peak and needs no row.
            if highest <= paid * hours {
                continue;
            }
            let mut terms = Vec::new();
            let mut known = window.energy;
            for &slot in &window.slots {
                let (energy, fixed) = self.energy_terms(slot, direction);
                terms.extend(energy);
                known += fixed;
            }
            add_up(&mut terms);
            terms.push((peak, -hours));
            self.add_row(f64::NEG_INFINITY, -known, terms);
        }
        Some(peak)
    }

    /// Energy of a slot in one direction in kWh, as terms `(column, weight)` and a constant.
    fn energy_terms(&self, slot: usize, direction: Direction) -> (Vec<(usize, f64)>, f64) {
        match direction {
            Direction::Import => self.import_terms(slot),
            // A slot without a meter cannot export.
            Direction::Export => {
                (self.meters[slot].iter().map(|meter| (meter.export, 1.0)).collect(), 0.0)
            }
        }
    }

    /// Upper bound on the energy of a slot in one direction in kWh.
    fn most_energy(&self, slot: usize, direction: Direction) -> f64 {
        match direction {
            Direction::Import => self.most_import(slot),
            Direction::Export => {
                self.meters[slot].map_or(0.0, |meter| self.program.columns[meter.export].upper)
            }
        }
    }

    /// Adds a column for each block of imported energy, and the row of their sum.
    pub(crate) fn add_tiers(&mut self, request: &SiteRequest) {
        let Some(tiers) = &request.tiers else { return };
        let mut terms = Vec::new();
        let mut known = 0.0;
        let mut most = 0.0;
        for slot in 0..self.grid.len() {
            let (import, fixed) = self.import_terms(slot);
            terms.extend(import);
            known += fixed;
            most += self.most_import(slot);
        }
        add_up(&mut terms);
        let before = tiers.energy_before.as_kwh();
        let mut from = before;
        for tier in &tiers.blocks {
            // A block that was used up before the plan has no width.
            let until = tier.until.map_or(f64::INFINITY, |until| until.as_kwh().max(before));
            let width = (until - from).min(most.max(0.0));
            let column = self.add_column(tier.surcharge.as_per_kwh(), 0.0, width);
            terms.push((column, -1.0));
            from = until;
        }
        self.add_row(-known, -known, terms);
    }
}

/// Window of a demand charge: its slots, and the energy that counts from before now in kWh.
#[derive(Debug, Clone)]
pub(crate) struct ChargeWindow {
    pub(crate) slots: Vec<usize>,
    pub(crate) energy: f64,
}

/// Mean power of each window in kW, from the energies of all slots in one direction, in kWh.
pub(crate) fn window_powers<'w>(
    charge: &DemandCharge,
    windows: &'w [ChargeWindow],
    energies: &'w [f64],
) -> impl Iterator<Item = f64> + 'w {
    let hours = f64::from(charge.window_minutes) / 60.0;
    windows.iter().map(move |window| {
        let sum: f64 = window.slots.iter().map(|&slot| energies[slot]).sum();
        (sum + window.energy) / hours
    })
}

/// Windows of a demand charge in time order, each with the slots that lie in its periods.
pub(crate) fn demand_windows(
    charge: &DemandCharge,
    request: &SiteRequest,
    grid: &SiteSlots,
) -> Vec<ChargeWindow> {
    let length = i64::from(charge.window_minutes) * 60_000_000;
    let counts = |slot: usize| {
        let start = instant_at(grid.starts[slot]);
        let mut periods = charge.periods.iter();
        charge.periods.is_empty() || periods.any(|p| p.start <= start && start < p.end)
    };
    let now = micros_of(request.now).div_euclid(length);
    let mut windows: Vec<ChargeWindow> = Vec::new();
    let mut last = None;
    for slot in (0..grid.len()).filter(|&slot| counts(slot)) {
        let index = grid.starts[slot].div_euclid(length);
        if last != Some(index) {
            // The window that is running at the start has energy from before it.
            let energy = if index == now { charge.window_energy.as_kwh() } else { 0.0 };
            windows.push(ChargeWindow { slots: Vec::new(), energy });
            last = Some(index);
        }
        if let Some(window) = windows.last_mut() {
            window.slots.push(slot);
        }
    }
    windows
}

/// Merges terms with the same column by adding their weights.
pub(crate) fn add_up(terms: &mut Vec<(usize, f64)>) {
    terms.sort_by_key(|&(column, _)| column);
    terms.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::device::Device;
    use crate::plan::site::planner::tests::{planned, powers_of};
    use crate::plan::site::request::Period;
    use crate::plan::site::request::tests::{at, demand, home, house, site, tiers, van};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh};

    /// Slots and energy of each window of a site without devices.
    fn windows(minutes: u32, adjust: impl Fn(&mut SiteRequest)) -> Vec<(Vec<usize>, f64)> {
        let mut request = site(&[10, 20, 30, 40], &[]);
        let mut charge = demand(1.0, 0.0);
        (charge.window_minutes, charge.window_energy) = (minutes, kwh(1.5));
        request.demand_charge = Some(charge);
        adjust(&mut request);
        let charge = request.demand_charge.as_ref().unwrap();
        let windows = demand_windows(charge, &request, &SiteSlots::new(&request)).into_iter();
        windows.map(|window| (window.slots, window.energy)).collect()
    }

    #[test]
    fn windows_are_whole_multiples_since_midnight_in_utc() {
        assert_eq!(windows(120, |_| {}), [(vec![0, 1], 1.5), (vec![2, 3], 0.0)]);
        // At 18:00 a window of 8 hours has been open since 16:00 and lasts until midnight.
        assert_eq!(windows(480, |_| {}), [(vec![0, 1, 2, 3], 1.5)]);
        let hours = windows(60, |request| request.now = at(90));
        assert_eq!(hours, [(vec![0], 1.5), (vec![1], 0.0), (vec![2], 0.0)]);
    }

    #[test]
    fn only_import_inside_the_periods_counts() {
        let windows = windows(120, |request| {
            let periods = [(60, 90), (180, 500)];
            request.demand_charge.as_mut().unwrap().periods =
                periods.map(|(start, end)| Period { start: at(start), end: at(end) }).to_vec();
        });
        // The cut at 90 makes slots [0, 60), [60, 90), [90, 120), [120, 180) and [180, 240).
        assert_eq!(windows, [(vec![1], 1.5), (vec![4], 0.0)]);
    }

    #[test]
    fn weights_of_one_column_are_added_up() {
        let mut terms = vec![(3, 1.0), (1, 2.0), (3, 4.0), (2, 1.0), (3, -0.5)];
        add_up(&mut terms);
        assert_eq!(terms, [(1, 2.0), (2, 1.0), (3, 4.5)]);
    }

    #[test]
    fn only_a_window_that_can_raise_the_peak_has_a_row() {
        let mut van = van("van", 5.0, 4.0);
        van.departure = Some(at(60));
        let mut request = site(&[10, 20], &[Device::Vehicle(van), house(&[1.0, 2.0])]);
        let rows = SiteModel::new(&request, false).program.rows.len();
        request.demand_charge = Some(demand(3.0, 2.0));
        let model = SiteModel::new(&request, false);
        // The house alone is no more than the 2 kW that are paid for.
        assert_eq!(model.program.rows.len(), rows + 1);
        let peak = model.peak.unwrap();
        let row = model.program.rows.last().unwrap();
        assert_eq!(
            (row.upper, &row.terms),
            (-1.0, &vec![(model.columns[0].charge[0], 1.0), (peak, -1.0)])
        );
        let column = model.program.columns[peak];
        assert_eq!((column.cost * model.unit, column.lower, column.upper), (3.0, 2.0, 6.0));
        // The house costs 1·0.1 + 2·0.2, less the 6.0 that are paid for.
        assert!((model.constant - (0.5 - 6.0)).abs() < 1e-12);
    }

    #[test]
    fn blocks_are_as_wide_as_what_is_left_of_them() {
        let mut request =
            site(&[10, 20], &[Device::Vehicle(van("van", 5.0, 4.0)), house(&[1.0, 1.0])]);
        let blocks = [(10.0, 0.1), (20.0, 0.2), (f64::INFINITY, 0.3)];
        request.tiers = Some(tiers(&blocks, 12.0));
        let model = SiteModel::new(&request, false);
        let row = model.program.rows.last().unwrap();
        let widths = row.terms.iter().filter(|term| term.1 < 0.0);
        let widths: Vec<f64> = widths.map(|&(c, _)| model.program.columns[c].upper).collect();
        // The first block is over, 8 kWh of the second are left, and all that comes is 12.
        assert_eq!(widths, [0.0, 8.0, 12.0]);
        assert_eq!((row.lower, row.upper), (-2.0, -2.0));
    }

    #[test]
    fn a_dear_peak_spreads_the_energy() {
        let mut request = site(&[10, 20, 30], &[Device::Vehicle(van("van", 9.0, 9.0))]);
        request.demand_charge = Some(demand(10.0, 0.0));
        let plan = planned(&request);
        assert_eq!(powers_of(&plan, "van"), [3.0, 3.0, 3.0]);
        assert!((plan.costs.demand.as_amount() - 30.0).abs() < 1e-9);
        // Up to 4.5 kW a kW more saves 0.30: 2 kWh leave the dearest hour. Above it saves 0.10.
        request.demand_charge = Some(demand(0.15, 0.0));
        assert_eq!(powers_of(&planned(&request), "van"), [4.5, 4.5, 0.0]);
        request.demand_charge = Some(demand(0.05, 0.0));
        assert_eq!(powers_of(&planned(&request), "van"), [9.0, 0.0, 0.0]);
    }
    #[test]
    fn a_dear_peak_of_the_export_spreads_what_is_sold() {
        let cents = [10, 30, 20];
        let mut request = site(&cents, &[Device::Battery(home(6.0, 12.0, 75.0))]);
        request.export_prices = Some(curve_of(60, &cents));
        assert_eq!(powers_of(&planned(&request), "home"), [3.0, -6.0, -6.0]);
        // 3 kW in each hour: a kW more earns 0.50 in the last two hours, for 2 kWh that the first one
        // sells at 0.10.
        request.export_demand_charge = Some(demand(0.45, 1.0));
        let plan = planned(&request);
        assert_eq!(powers_of(&plan, "home"), [-3.0, -3.0, -3.0]);
        assert!((plan.costs.demand.as_amount() - 0.9).abs() < 1e-9);
        assert_eq!((plan.peak, plan.export_peak), (None, Some(kw(3.0))));
        assert!(plan.certificate.is_proved());
    }
}

//! Columns and rows of the demand charge and of blocks of energy.
//!
//! ```text
//! cost D·(P − P₀),  P ≥ P₀,   energy_w + Σ_{t in w} g_t ≤ hours·P        for each window w
//! cost Σ_k r_k·v_k,           Σ_t g_t = Σ_k v_k,   0 ≤ v_k ≤ width of block k
//! ```
//!
//! | Symbol | Field |
//! |---|---|
//! | `D`, `P₀`, `hours` | `DemandCharge::{price_per_kw, peak, window_minutes / 60}` |
//! | `P` | `SiteModel::peak`, in kW |
//! | `energy_w` | `ChargeWindow::energy`, imported before now, in kWh |
//! | `r_k` | `Tier::surcharge` |
//!
//! The surcharges rise from block to block, so that a least cost fills the blocks in their order.
use crate::plan::site::model::SiteModel;
use crate::plan::site::price_slots::SiteSlots;
use crate::plan::site::request::SiteRequest;
use crate::time::instant::{instant_at, micros_of};

impl SiteModel {
    /// Adds the column of the peak, and a row for each window that can raise it.
    pub(crate) fn add_demand_charge(&mut self, request: &SiteRequest) {
        let Some(charge) = &request.demand_charge else { return };
        if charge.price_per_kw == 0.0 {
            return;
        }
        let windows = demand_windows(request, &self.grid);
        let highest = windows.iter().map(|window| {
            window.slots.iter().map(|&slot| self.most_import(slot)).sum::<f64>() + window.energy
        });
        let hours = f64::from(charge.window_minutes) / 60.0;
        let paid = charge.peak.as_kw();
        let most = highest.fold(0.0, f64::max) / hours;
        let peak = self.add_column(charge.price_per_kw, paid, paid.max(most));
        self.constant -= charge.price_per_kw * paid;
        self.peak = Some(peak);
        for window in windows {
            let mut terms = Vec::new();
            let mut known = window.energy;
            let mut highest = window.energy;
            for &slot in &window.slots {
                let (import, fixed) = self.import_terms(slot);
                terms.extend(import);
                known += fixed;
                highest += self.most_import(slot);
            }
            if highest > paid * hours {
                add_up(&mut terms);
                terms.push((peak, -hours));
                self.add_row(f64::NEG_INFINITY, -known, terms);
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
            let until = tier.until.map_or(f64::INFINITY, |until| until.as_kwh().max(before));
            let width = (until - from).min(most.max(0.0));
            let column = self.add_column(tier.surcharge.as_per_kwh(), 0.0, width);
            terms.push((column, -1.0));
            from = until;
        }
        self.add_row(-known, -known, terms);
    }
}

/// Window of a demand charge: its slots, and the energy imported before now in kWh.
#[derive(Debug, Clone)]
pub(crate) struct ChargeWindow {
    pub(crate) slots: Vec<usize>,
    pub(crate) energy: f64,
}

/// Windows of the demand charge in time order, each with the slots that lie in its periods.
pub(crate) fn demand_windows(request: &SiteRequest, grid: &SiteSlots) -> Vec<ChargeWindow> {
    let Some(charge) = &request.demand_charge else { return Vec::new() };
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

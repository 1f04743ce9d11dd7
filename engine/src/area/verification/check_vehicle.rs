//! Check of the plan of one vehicle of an area, with its own certificate at the prices of the area.
use crate::area::model::sessions::battery_columns;
use crate::area::verification::battery;
use crate::area::verification::charging;
use crate::area::verification::vehicle_at_prices::{NoCertificate, VehicleAtPrices};
use crate::plan::verification::Check;
use crate::tolerance::{GAP_MAX, POWER_ROUNDING_KW, allowed};

/// Check of the plan of one vehicle, and its own certificate at the prices of the area.
#[derive(Debug, Clone, PartialEq)]
pub struct VehicleCheck {
    /// Row of the vehicle.
    pub row: usize,
    /// Cost of its plan at its own prices plus those of the limits.
    pub cost: f64,
    /// Lower bound on that cost, of every plan that delivers as much by each of its deadlines.
    pub bound: f64,
    /// Rules that the plan breaks, and lines of its certificate that do not hold.
    pub failed: Vec<String>,
}

impl VehicleCheck {
    /// Cost less bound: what the vehicle could save at these prices by a plan of its own.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.cost - self.bound
    }
}

impl VehicleAtPrices<'_> {
    /// Checks the plan of the vehicle. The number is a bound on what rounding costs.
    pub(crate) fn check(&self) -> Result<(VehicleCheck, f64), NoCertificate> {
        let storage = battery_columns(self.problem, self.row);
        let (cost, proved) = match storage {
            Some(columns) => battery::prove_battery(self, columns)?,
            None => (self.cost_of_charging(), charging::prove_charging(self)?),
        };
        let discharges = storage.filter(|columns| columns.has(self.row));
        let mut failed = self.broken_rules(discharges.map(|columns| columns.discharge_max_kw));
        failed.extend(proved.failed);
        let size = self.price_size() * self.taken.charged_kwh().max(1.0);
        let rounding = proved.rounding + allowed(GAP_MAX, size);
        let is_cheaper = Check::rule("bound", proved.bound - cost, rounding);
        failed.extend((!is_cheaper.holds()).then_some(is_cheaper.line));
        Ok((VehicleCheck { row: self.row, cost, bound: proved.bound, failed }, rounding))
    }

    /// Cost of the energy of the plan; of a battery with wear, less the value of what is stored.
    pub(crate) fn cost_of_energy(&self) -> f64 {
        match battery_columns(self.problem, self.row) {
            Some(columns) => battery::cost_of_battery(self, columns).unwrap_or(0.0),
            None => self.cost_of_charging(),
        }
    }

    /// Rules of stay, order, power and prices that the intervals break.
    fn broken_rules(&self, discharge_max_kw: Option<&[f64]>) -> Vec<String> {
        let (row, fleet) = (self.row, &self.problem.vehicles.fleet);
        let runs = &self.taken.runs;
        let is_in_order = runs.iter().all(|run| run.start < run.end)
            && runs.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let is_there = runs
            .iter()
            .all(|run| run.start >= fleet.arrival[row] && run.end <= fleet.departure[row]);
        let most = fleet.power_max_kw[row] + POWER_ROUNDING_KW;
        let least = -discharge_max_kw.map_or(0.0, |powers| powers[row]) - POWER_ROUNDING_KW;
        let is_within = runs.iter().all(|run| (least..=most).contains(&run.power_kw));
        let power_min = self.problem.vehicles.power_min_kw.map_or(f64::NAN, |powers| powers[row]);
        let is_on_or_off = power_min > 0.0;
        let is_full =
            !is_on_or_off || runs.iter().all(|run| run.power_kw >= most - 2.0 * POWER_ROUNDING_KW);
        let is_priced = self.taken.outside_kwh <= 0.0
            && self.taken.each.iter().all(|&(slot, kwh)| {
                let export = self.export.as_ref().map_or(f64::NAN, |export| export[slot]);
                let price = if kwh < 0.0 { export } else { self.import[slot] };
                !price.is_nan() || kwh.abs() <= self.taken.rounding_kwh
            });
        let rules = [
            ("order of intervals", is_in_order),
            ("stay", is_there),
            ("power_kw", is_within),
            ("power_min_kw", is_full),
            ("price", is_priced),
        ];
        let broken = rules.into_iter().filter(|(_, holds)| !holds);
        broken.map(|(name, _)| name.to_owned()).collect()
    }
}

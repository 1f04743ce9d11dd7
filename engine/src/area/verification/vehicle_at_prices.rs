//! One vehicle of an area at the prices of the area.
use crate::area::model::sessions::curve_of;
use crate::area::problem::area_problem::AreaProblem;
use crate::area::verification::slot_energies::SlotEnergies;
use crate::columns::row_error::RowError;
use crate::prices::curve::{CurveError, PriceCurve};
use crate::time::horizon::Horizon;

/// Reason why a vehicle has no certificate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NoCertificate {
    /// The row is an error, and has no plan.
    Row(RowError),
    /// Its prices and those of the limits add up to no price.
    Prices(CurveError),
}

impl From<RowError> for NoCertificate {
    fn from(error: RowError) -> Self {
        Self::Row(error)
    }
}

impl From<CurveError> for NoCertificate {
    fn from(error: CurveError) -> Self {
        Self::Prices(error)
    }
}

/// Bound of a certificate, rules that the plan breaks, and a bound on what rounding costs.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProvedBound {
    pub(crate) bound: f64,
    pub(crate) failed: Vec<String>,
    pub(crate) rounding: f64,
}

/// Vehicle with the effective prices of its slots; NaN is a gap.
pub(crate) struct VehicleAtPrices<'a> {
    pub(crate) problem: &'a AreaProblem<'a>,
    pub(crate) row: usize,
    /// Prices to buy at, those of the limits included.
    pub(crate) import: Vec<f64>,
    /// Prices to sell at, those of the limits included.
    pub(crate) export: Option<Vec<f64>>,
    pub(crate) taken: &'a SlotEnergies,
    /// Energy that the plan says to miss, in kWh.
    pub(crate) unmet_kwh: f64,
    /// True if the plan says that the reserve is late.
    pub(crate) is_late: bool,
}

impl<'a> VehicleAtPrices<'a> {
    /// Vehicle of a row; `dual_price` is what the limits add to its prices, by slot.
    pub(crate) fn new(
        (problem, row): (&'a AreaProblem<'a>, usize),
        dual_price: &[f64],
        taken: &'a SlotEnergies,
        (unmet_kwh, is_late): (f64, bool),
    ) -> Result<Self, RowError> {
        problem.vehicles.check(row)?;
        let curve = curve_of(problem, row)?;
        let priced = |own: &[f64]| -> Vec<f64> {
            own.iter().zip(dual_price).map(|(own, more)| own + more).collect()
        };
        let import = priced(problem.curves.prices(curve));
        let export = problem.export().map(|export| priced(export.prices(curve)));
        Ok(Self { problem, row, import, export, taken, unmet_kwh, is_late })
    }

    /// Slots of the prices.
    pub(crate) fn horizon(&self) -> &Horizon {
        self.problem.curves.horizon()
    }

    /// Largest absolute price of a slot.
    pub(crate) fn price_size(&self) -> f64 {
        let export = self.export.iter().flatten();
        let known = self.import.iter().chain(export).filter(|price| !price.is_nan());
        known.fold(0.0, |most, price| most.max(price.abs()))
    }

    /// Cost of a plan that only charges.
    pub(crate) fn cost_of_charging(&self) -> f64 {
        // Energy in a gap is a broken rule, and has no price.
        let each = self.taken.each.iter().filter(|(slot, _)| !self.import[*slot].is_nan());
        each.map(|&(slot, kwh)| self.import[slot] * kwh).sum()
    }
}

/// Price curve of the slots that have a price.
pub(crate) fn curve_of_known(horizon: &Horizon, prices: &[f64]) -> Result<PriceCurve, CurveError> {
    let known = || (0..prices.len()).filter(|&slot| !prices[slot].is_nan());
    let periods = known().map(|slot| (horizon.starts()[slot], horizon.ends()[slot]));
    let horizon = Horizon::from_micros(periods)?;
    PriceCurve::from_parts(horizon, known().map(|slot| prices[slot]).collect())
}

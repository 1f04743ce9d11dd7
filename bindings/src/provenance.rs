//! Where the prices of a plan come from.
use pyo3::prelude::*;
use slackwater_engine::columns::IntervalColumns;
use slackwater_engine::plan::questions as engine;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::layers::{Layer, Standing};
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::Price;

use crate::error::{Named, Refused};
use crate::prices::Prices;

record! {
    /// Energy that a plan buys, or sells, at the prices of one source.
    pub(crate) struct SourceShare {
        /// Name of the source; `"prices"` for prices without layers.
        source: String,
        /// True if the prices are estimated, not known.
        is_estimate: bool,
        /// Energy bought, or sold, at these prices, in kWh at the plug; positive for both.
        energy_kwh: f64,
        /// Cost of the energy bought, or revenue of the energy sold, in units of the currency.
        cost: f64,
    }
}

impl SourceShare {
    /// Shares of the engine.
    pub(crate) fn all(shares: Vec<engine::SourceShare>) -> Vec<Self> {
        let share = |share: engine::SourceShare| Self {
            is_estimate: share.standing == Standing::Estimate,
            energy_kwh: share.energy.as_kwh(),
            cost: share.cost.as_amount(),
            source: share.source,
        };
        shares.into_iter().map(share).collect()
    }
}

/// Source, whether it is an estimate, ceiling, prices.
pub(crate) type LayerTuple<'py> = (String, bool, Option<f64>, PyRef<'py, Prices>);

/// A layer as Python gives it.
pub(crate) fn layer((index, given): (usize, &LayerTuple<'_>)) -> Result<Layer, Refused> {
    let (source, is_estimate, ceiling, prices) = given;
    let name = format!("layers[{index}].ceiling_per_kwh");
    Ok(Layer {
        source: source.clone(),
        standing: if *is_estimate { Standing::Estimate } else { Standing::Known },
        ceiling: ceiling.map(Price::from_per_kwh).transpose().named(&name)?,
        curve: PriceCurve::clone(&prices.curve),
    })
}

/// Periods of estimated prices of a table of plans: of each curve to buy and to sell at, with the
/// curve of each row. Without curves of their own all rows have the first.
pub(crate) struct Estimates<'a> {
    import: Vec<Horizon>,
    export: Vec<Horizon>,
    curve: Option<&'a [u32]>,
}

impl<'a> Estimates<'a> {
    pub(crate) fn new(
        import: Vec<Horizon>,
        export: Vec<Horizon>,
        curve: Option<&'a [u32]>,
    ) -> Self {
        Self { import, export, curve }
    }

    /// Whether no price is an estimate.
    pub(crate) fn are_empty(&self) -> bool {
        self.import.iter().chain(&self.export).all(Horizon::is_empty)
    }

    /// Energy in kWh that the rows from `first` on buy and sell at estimates; NaN for a row that
    /// has no plan, whose cost is NaN.
    pub(crate) fn energies(
        &self,
        first: usize,
        intervals: &IntervalColumns,
        cost: &[f64],
    ) -> [Vec<f64>; 2] {
        let curve = |row: usize| self.curve.map_or(0, |curve| curve[first + row] as usize);
        let (mut bought, _) = intervals.energy_within(|row| self.import.get(curve(row)));
        let (_, mut sold) = intervals.energy_within(|row| self.export.get(curve(row)));
        for (row, _) in cost.iter().enumerate().filter(|(_, cost)| cost.is_nan()) {
            (bought[row], sold[row]) = (f64::NAN, f64::NAN);
        }
        [bought, sold]
    }
}

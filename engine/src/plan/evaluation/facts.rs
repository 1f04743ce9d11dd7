//! Facts under which a plan is evaluated, and the result.
use chrono::{DateTime, Utc};

use crate::prices::curve::PriceCurve;
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::micros_of;
use crate::units::{Energy, Money, Power};

/// Invalid facts.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// Periods of a power overlap or have no length.
    #[error(transparent)]
    Periods(#[from] HorizonError),
    /// A power is negative.
    #[error("value {index} is {} kW; it is 0 kW or more", power.as_kw())]
    Negative {
        /// Position in the input.
        index: usize,
        /// The power as given.
        power: Power,
    },
    /// A demand charge without a window that divides a day, or with a negative price or peak.
    #[error(
        "a demand charge of {price_per_kw} per kW above {peak_kw} kW in windows of \
         {window_minutes} minutes; prices and peaks are 0 or more, and windows divide a day"
    )]
    Demand {
        /// Price per kW.
        price_per_kw: f64,
        /// Peak that is paid for, in kW.
        peak_kw: f64,
        /// Length of a window in minutes.
        window_minutes: u32,
    },
    /// A plan has no device with the name, of the kind that the facts are about.
    #[error("the plan has no {kind} device to give {kind} facts for")]
    NoDevice {
        /// `solar` or `load`.
        kind: &'static str,
    },
}

/// Measured power over time: periods, each with its mean power.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredPower {
    horizon: Horizon,
    power_kw: Vec<f64>,
}

impl MeasuredPower {
    /// Powers of zero or more in periods in time order. Time without a period is unknown.
    ///
    /// # Errors
    /// Periods overlap or have no length, or a power is negative.
    pub fn new(
        periods: impl IntoIterator<Item = (DateTime<Utc>, DateTime<Utc>, Power)>,
    ) -> Result<Self, EvaluationError> {
        let (mut spans, mut power_kw) = (Vec::new(), Vec::new());
        for (index, (start, end, power)) in periods.into_iter().enumerate() {
            if power < Power::ZERO {
                return Err(EvaluationError::Negative { index, power });
            }
            spans.push((micros_of(start), micros_of(end)));
            power_kw.push(power.as_kw());
        }
        Ok(Self { horizon: Horizon::from_micros(spans)?, power_kw })
    }

    /// Periods with their powers.
    #[cfg(feature = "lp")]
    pub(crate) fn periods(&self) -> impl Iterator<Item = (DateTime<Utc>, DateTime<Utc>, Power)> {
        let powers = self.power_kw.iter().map(|&kw| Power::from_kw(kw).unwrap_or(Power::ZERO));
        self.horizon.periods().zip(powers).map(|((start, end), power)| (start, end, power))
    }

    /// Starts and ends of the periods, in microseconds.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = i64> + '_ {
        self.horizon.starts().iter().chain(self.horizon.ends()).copied()
    }

    /// Power at an instant in kW, if it is known.
    pub(crate) fn at(&self, at: i64) -> Option<f64> {
        self.horizon.overlapping(at, at + 1).next().map(|period| self.power_kw[period])
    }
}

/// Price of the highest mean import in windows of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DemandPrice {
    price_per_kw: f64,
    peak_kw: f64,
    window_minutes: u32,
}

impl DemandPrice {
    /// A price per kW of the highest mean in windows of so many minutes since midnight in UTC.
    /// Only the part above `peak_kw`, which is paid for already, costs.
    ///
    /// # Errors
    /// A number is negative or no number, or the window does not divide a day.
    pub fn new(
        price_per_kw: f64,
        peak_kw: f64,
        window_minutes: u32,
    ) -> Result<Self, EvaluationError> {
        let is_amount = |value: f64| value >= 0.0 && value.is_finite();
        let divides = window_minutes > 0 && 1_440 % window_minutes == 0;
        if is_amount(price_per_kw) && is_amount(peak_kw) && divides {
            return Ok(Self { price_per_kw, peak_kw, window_minutes });
        }
        Err(EvaluationError::Demand { price_per_kw, peak_kw, window_minutes })
    }

    /// Length of a window in microseconds.
    pub(crate) fn window(&self) -> i64 {
        i64::from(self.window_minutes) * 60_000_000
    }

    /// Peak in kW of the highest energy in a window, and its cost.
    pub(crate) fn cost(&self, window_kwh_max: f64) -> (f64, f64) {
        let peak = (window_kwh_max * 60.0 / f64::from(self.window_minutes)).max(self.peak_kw);
        (peak, self.price_per_kw * (peak - self.peak_kw))
    }
}

/// Facts of a connection: prices, and power that the plan did not decide on.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionFacts<'a> {
    /// Price of an imported kWh.
    pub import: &'a PriceCurve,
    /// Revenue per exported kWh; `None` is zero.
    pub export: Option<&'a PriceCurve>,
    /// Solar power at the connection; `None` is none.
    pub solar: Option<&'a MeasuredPower>,
    /// Inflexible load at the connection; `None` is none.
    pub load: Option<&'a MeasuredPower>,
    /// Price of the peak import; `None` is free.
    pub demand: Option<DemandPrice>,
    /// Price of the emissions of an imported kWh, where `import` does not hold it; `None` is none.
    pub emissions: Option<&'a PriceCurve>,
    /// Periods in which `import` is only an estimate; `None` is never.
    pub estimated: Option<&'a Horizon>,
}

impl<'a> ConnectionFacts<'a> {
    /// Facts of which the prices to buy at are all.
    #[must_use]
    pub fn new(import: &'a PriceCurve) -> Self {
        Self {
            import,
            export: None,
            solar: None,
            load: None,
            demand: None,
            emissions: None,
            estimated: None,
        }
    }
}

/// Name of a fact that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFactKind {
    /// Price of a kWh bought.
    Price,
    /// Price of a kWh sold.
    ExportPrice,
    /// Solar power.
    Solar,
    /// Load.
    Load,
    /// Price of emissions.
    Emissions,
}

impl MissingFactKind {
    /// Name of the fact.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Price => "price",
            Self::ExportPrice => "export_price",
            Self::Solar => "solar",
            Self::Load => "load",
            Self::Emissions => "emissions",
        }
    }
}

/// Period of a plan that could not be evaluated, because a fact is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissingFact {
    /// First instant.
    pub start: DateTime<Utc>,
    /// First instant after it.
    pub end: DateTime<Utc>,
    /// The fact.
    pub kind: MissingFactKind,
    /// Energy of the plan in the period, drawn or fed, which is not in any cost.
    pub energy: Energy,
}

/// Cost of a connection under facts, by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EvaluatedCosts {
    /// Energy imported.
    pub import: Money,
    /// Revenue of energy exported.
    pub export: Money,
    /// Demand charge.
    pub demand: Money,
    /// Parts at prices that the plan was made with: wear, starts, tiers, emissions, breaches of
    /// limits.
    pub other: Money,
    /// Value of the energy stored at the end above that at the start.
    pub stored: Money,
}

impl EvaluatedCosts {
    /// Total: import − export + demand + other − stored.
    #[must_use]
    pub fn total(&self) -> Money {
        self.import - self.export + self.demand + self.other - self.stored
    }
}

/// Cost and energy of a plan under facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Parts of the cost.
    pub costs: EvaluatedCosts,
    /// Cost of the baseline under the same facts.
    pub baseline: EvaluatedCosts,
    /// Energy from the grid.
    pub import: Energy,
    /// Energy into the grid.
    pub export: Energy,
    /// Part of the plan's own energy that solar power covers which the load leaves.
    pub from_solar: Energy,
    /// Rest of the plan's own energy, which comes from the grid.
    pub from_grid: Energy,
    /// Highest mean import in a window of the demand charge, or that paid for already.
    pub peak: Option<Power>,
    /// Energy from the grid at prices that are only estimated.
    pub on_estimates: Energy,
    /// Periods that are in no cost, in time order.
    pub missing: Vec<MissingFact>,
    /// Energy of the baseline that is in no cost.
    pub baseline_missing: Energy,
}

impl Evaluation {
    /// Cost of the plan.
    #[must_use]
    pub fn cost(&self) -> Money {
        self.costs.total()
    }

    /// Cost of the baseline less that of the plan; `None` if energy of either is in no cost, so that
    /// the two are not the costs of the same energy.
    #[must_use]
    pub fn savings(&self) -> Option<Money> {
        let is_missing = |energy: Energy| energy > Energy::ZERO;
        let is_partial = is_missing(self.baseline_missing)
            || self.missing.iter().any(|fact| is_missing(fact.energy));
        (!is_partial).then(|| self.baseline.total() - self.costs.total())
    }
}

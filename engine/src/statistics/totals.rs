//! Sums over a bucket or a session: power, energy, price and cost.
use crate::statistics::fixed::Amount;
use crate::units::{Energy, Power, Price};

/// Least, largest and mean of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread<T> {
    /// Least value of any sample.
    pub min: T,
    /// Largest value of any sample.
    pub max: T,
    /// Mean: of power by time, of price by energy.
    pub mean: T,
}

/// Totals of the course without smart charging.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonSmart {
    /// Energy that would have flowed.
    pub energy: Energy,
    /// Its price; `None` if none would have flowed, or none is priced.
    pub price: Option<Spread<Price>>,
    /// Its cost.
    pub cost: Amount,
    /// Baseline cost minus actual cost of the samples that smart charging controlled. Negative if
    /// smart charging cost more; never clipped.
    pub savings: Amount,
    /// Price of all energy of the bucket: the baseline energy and the energy that smart charging
    /// did not control. `None` if none of it has a price.
    pub whole_price: Option<Spread<Price>>,
}

/// Sums over a bucket or a session.
///
/// `power.mean · hours = energy` and `price.mean · priced_energy = cost`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Power, its mean weighted by time; zero if nothing was measured.
    pub power: Spread<Power>,
    /// Time with a measurement, in hours, summed over devices.
    pub hours: f64,
    /// Energy, with a known price or without.
    pub energy: Energy,
    /// Energy with a known price: the energy that `price` and `cost` are about.
    pub priced_energy: Energy,
    /// Price, its mean weighted by energy (unweighted if no energy flowed); `None` if no price is
    /// known.
    pub price: Option<Spread<Price>>,
    /// Cost of the priced energy.
    pub cost: Amount,
    /// Totals without smart charging; `None` if smart charging had no part in the bucket.
    pub non_smart: Option<NonSmart>,
}

impl Totals {
    /// Returns the cost of all energy of the bucket without smart charging: the baseline cost of
    /// the controlled samples plus the actual cost of the others. `None` if smart charging had no
    /// part in the bucket.
    #[must_use]
    pub fn baseline_cost(&self) -> Option<Amount> {
        self.non_smart.map(|instead| self.cost + instead.savings)
    }

    /// Price of the energy that [`Totals::baseline_cost`] is about.
    #[must_use]
    pub fn baseline_price(&self) -> Option<Spread<Price>> {
        self.non_smart?.whole_price
    }
}

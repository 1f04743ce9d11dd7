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

/// What would have been without smart charging.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonSmart {
    /// Energy that would have flowed.
    pub energy: Energy,
    /// Its price; `None` if none would have flowed, or none is priced.
    pub price: Option<Spread<Price>>,
    /// Its cost.
    pub cost: Amount,
    /// That cost minus the actual cost of what smart charging controlled.
    /// Negative where smart charging cost more; never clipped.
    pub savings: Amount,
    /// Price of all energy of the bucket: what would have flowed, and what smart
    /// charging did not control. `None` if none is priced.
    pub whole_price: Option<Spread<Price>>,
}

/// Sums over a bucket or a session.
///
/// `power.mean · hours = energy` and `price.mean · priced_energy = cost`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Power, its mean weighted by time; zero where nothing was measured.
    pub power: Spread<Power>,
    /// Time with a measurement, in hours, summed over devices.
    pub hours: f64,
    /// Energy, with a known price or without.
    pub energy: Energy,
    /// Energy with a known price: the energy that `price` and `cost` are about.
    pub priced_energy: Energy,
    /// Price, its mean weighted by energy (by nothing where no energy flowed);
    /// `None` if no price is known.
    pub price: Option<Spread<Price>>,
    /// Cost of the priced energy.
    pub cost: Amount,
    /// What would have been; `None` where smart charging had no part in it.
    pub non_smart: Option<NonSmart>,
}

impl Totals {
    /// What all of the energy would have cost without smart charging: what
    /// smart charging controlled at what it would have cost, and the rest at
    /// what it did. `None` where smart charging had no part in it.
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

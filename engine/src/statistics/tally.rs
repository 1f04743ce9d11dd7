//! Running sums of one bucket.
use crate::statistics::fixed::Amount;
use crate::statistics::sample::Row;
use crate::statistics::totals::{NonSmart, Spread, Totals};
use crate::tolerance::SUM_ROUNDING;
use crate::units::{Energy, MICROS_PER_HOUR, Power, Price};

/// Minimum, maximum, sum and count of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Values {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) sum: f64,
    pub(crate) count: u64,
}

impl Values {
    const EMPTY: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, count: 0 };

    #[inline(always)]
    fn add(&mut self, value: f64) {
        self.min = if value < self.min { value } else { self.min };
        self.max = if value > self.max { value } else { self.max };
        self.sum += value;
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Returns `(min, max, mean)`; `None` without a value. The mean is `total / weight`, or the
    /// unweighted mean if the weight is zero. The mean of equal values is that value.
    fn spread(&self, total: f64, weight: f64) -> Option<(f64, f64, f64)> {
        if self.count == 0 {
            return None;
        }
        let even = self.sum / self.count as f64;
        let weighted = total / weight;
        let mean = if weight != 0.0 && weighted.is_finite() { weighted } else { even };
        // Flows in both directions can move a weighted mean out of the range of its values. With
        // one direction only rounding can, and the mean is clamped.
        let slack = SUM_ROUNDING * self.min.abs().max(self.max.abs());
        let is_rounding = mean > self.min - slack && mean < self.max + slack;
        Some((self.min, self.max, if is_rounding { mean.clamp(self.min, self.max) } else { mean }))
    }
}

/// Energy (kWh), cost and price of one course, measured or baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Flow {
    energy: f64,
    priced_energy: f64,
    cost: Amount,
    /// Unrounded cost, the numerator of the mean price.
    priced: f64,
    price: Values,
}

impl Flow {
    const EMPTY: Self = Self {
        energy: 0.0,
        priced_energy: 0.0,
        cost: Amount::ZERO,
        priced: 0.0,
        price: Values::EMPTY,
    };

    #[inline(always)]
    fn add(&mut self, energy: f64, price: f64, cost: Amount) {
        self.energy += energy;
        if price.is_nan() {
            return;
        }
        self.priced_energy += energy;
        self.priced += energy * price;
        self.cost += cost;
        self.price.add(price);
    }

    fn merge(&mut self, other: &Self) {
        self.energy += other.energy;
        self.priced_energy += other.priced_energy;
        self.priced += other.priced;
        self.cost += other.cost;
        self.price.merge(&other.price);
    }

    fn price(&self) -> Option<Spread<Price>> {
        let (min, max, mean) = self.price.spread(self.priced, self.priced_energy)?;
        let price = |value| Price::from_per_kwh(value).unwrap_or(Price::ZERO);
        Some(Spread { min: price(min), max: price(max), mean: price(mean) })
    }
}

/// Running sums of one bucket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tally {
    micros: i64,
    power: Values,
    actual: Flow,
    /// Kept apart, because most buckets of a large table have no baseline.
    instead: Option<Box<Instead>>,
}

/// Baseline of one bucket: the course without smart charging.
#[derive(Debug, Clone, PartialEq)]
struct Instead {
    flow: Flow,
    savings: Amount,
    /// Measured flow that smart charging did not control; it is the same in both courses.
    rest: Flow,
}

impl Instead {
    /// Baseline of a bucket whose samples so far were not controlled by smart charging.
    const fn beside(rest: Flow) -> Self {
        Self { flow: Flow::EMPTY, savings: Amount::ZERO, rest }
    }

    /// Price of all energy of the bucket without smart charging.
    fn whole_price(&self) -> Option<Spread<Price>> {
        let mut whole = self.rest;
        whole.merge(&self.flow);
        whole.price()
    }
}

impl Tally {
    pub(crate) const EMPTY: Self =
        Self { micros: 0, power: Values::EMPTY, actual: Flow::EMPTY, instead: None };

    /// Sums of samples of one length, given their powers, the powers and the
    /// prices of those with a price, and their cost, rounded and not.
    pub(crate) fn of_span(
        length: i64,
        power: Values,
        price: Values,
        priced_power: f64,
        (cost, priced): (Amount, f64),
    ) -> Self {
        let hours = length as f64 / MICROS_PER_HOUR;
        let (energy, priced_energy) = (power.sum * hours, priced_power * hours);
        let actual = Flow { energy, priced_energy, cost, priced, price };
        Self { micros: length * power.count as i64, power, actual, instead: None }
    }

    /// Adds the part of a sample that lies in `[start, end)`.
    #[inline(always)]
    pub(crate) fn add(&mut self, row: &Row, start: i64, end: i64) {
        let micros = end - start;
        let hours = micros as f64 / MICROS_PER_HOUR;
        let (from, to, length) = (start - row.start, end - row.start, row.end - row.start);
        let money = |power: f64| {
            // The cost of the whole sample is rounded once and then split exactly.
            let all = Amount::from_units(power * (length as f64 / MICROS_PER_HOUR) * row.price);
            all.between(from, to, length)
        };
        let mut cost = Amount::ZERO;
        let is_controlled = !row.non_smart_kw.is_nan();
        // Until now no sample of the bucket was controlled, so all of it is its own baseline.
        if is_controlled && self.instead.is_none() {
            self.instead = Some(Box::new(Instead::beside(self.actual)));
        }
        if !row.power_kw.is_nan() {
            cost = money(row.power_kw);
            self.micros += micros;
            self.power.add(row.power_kw);
            self.actual.add(row.power_kw * hours, row.price, cost);
            if let Some(instead) = self.instead.as_mut().filter(|_| !is_controlled) {
                instead.rest.add(row.power_kw * hours, row.price, cost);
            }
        }
        if let Some(instead) = self.instead.as_mut().filter(|_| is_controlled) {
            let would_cost = money(row.non_smart_kw);
            // Without power there is no baseline energy, so the price does not count either.
            if row.non_smart_kw != 0.0 {
                instead.flow.add(row.non_smart_kw * hours, row.price, would_cost);
            }
            instead.savings += would_cost - cost;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.instead.is_some() && self.instead.is_none() {
            self.instead = Some(Box::new(Instead::beside(self.actual)));
        }
        if let Some(instead) = &mut self.instead {
            match &other.instead {
                Some(other) => {
                    instead.flow.merge(&other.flow);
                    instead.savings += other.savings;
                    instead.rest.merge(&other.rest);
                }
                None => instead.rest.merge(&other.actual),
            }
        }
        self.micros += other.micros;
        self.power.merge(&other.power);
        self.actual.merge(&other.actual);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.micros == 0 && self.instead.is_none()
    }

    pub(crate) fn totals(&self) -> Totals {
        let hours = self.micros as f64 / MICROS_PER_HOUR;
        let (min, max, mean) = self.power.spread(self.actual.energy, hours).unwrap_or_default();
        let power = |value| Power::from_kw(value).unwrap_or(Power::ZERO);
        let energy = |value| Energy::from_kwh(value).unwrap_or(Energy::ZERO);
        Totals {
            power: Spread { min: power(min), max: power(max), mean: power(mean) },
            hours,
            energy: energy(self.actual.energy),
            priced_energy: energy(self.actual.priced_energy),
            price: self.actual.price(),
            cost: self.actual.cost,
            non_smart: self.instead.as_ref().map(|instead| NonSmart {
                energy: energy(instead.flow.energy),
                price: instead.flow.price(),
                cost: instead.flow.cost,
                savings: instead.savings,
                whole_price: instead.whole_price(),
            }),
        }
    }
}

//! Samples of many devices as columns.

/// Length of each sample.
#[derive(Debug, Clone, Copy)]
pub enum Lengths<'a> {
    /// All as long as each other, in microseconds.
    Even(i64),
    /// First microsecond after each.
    Ends(&'a [i64]),
}

/// Measured flow of each sample; NaN if nothing was measured.
#[derive(Debug, Clone, Copy)]
pub enum Flows<'a> {
    /// Mean power, in kW.
    PowerKw(&'a [f64]),
    /// Energy, in kWh.
    EnergyKwh(&'a [f64]),
}

/// Samples as columns of equal length; times in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// Series that each row belongs to, below the number of groups; one for
    /// all rows if there is no such column.
    pub group: Option<&'a [u32]>,
    /// First microsecond of each.
    pub start: &'a [i64],
    /// Length of each sample.
    pub lengths: Lengths<'a>,
    /// Measured flow of each sample.
    pub flows: Flows<'a>,
    /// Price of a kWh; NaN where none is known.
    pub price_per_kwh: Option<&'a [f64]>,
    /// Flow without smart charging, in the unit of `flows`; NaN where smart charging had no part.
    pub non_smart: Option<Flows<'a>>,
}

impl Samples<'_> {
    /// Checks that all columns are as long as each other.
    ///
    /// # Panics
    ///
    /// A column differs in length from the start times.
    pub(crate) fn check_lengths(&self) {
        let count = self.start.len();
        let is_even = |length: usize| assert_eq!(length, count, "columns have one length");
        self.group.iter().for_each(|group| is_even(group.len()));
        if let Lengths::Ends(ends) = self.lengths {
            is_even(ends.len());
        }
        is_even(self.flows.numbers().len());
        self.price_per_kwh.iter().for_each(|price| is_even(price.len()));
        self.non_smart.iter().for_each(|flows| is_even(flows.numbers().len()));
    }

    /// First microsecond of a row, and the first after it.
    #[inline(always)]
    pub(crate) fn times(&self, index: usize) -> (i64, i64) {
        let start = self.start[index];
        match self.lengths {
            Lengths::Even(length) => (start, start.saturating_add(length)),
            Lengths::Ends(ends) => (start, ends[index]),
        }
    }
}

impl<'a> Flows<'a> {
    pub(crate) fn numbers(&self) -> &'a [f64] {
        match *self {
            Self::PowerKw(numbers) | Self::EnergyKwh(numbers) => numbers,
        }
    }
}

//! Values of any size from bytes, as a fuzzer changes them. After the last byte all are zero.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Energy, Percent, Power, Price};

/// Six in the evening of 5 January 2026, in seconds since 1970.
const SIX_SECONDS: i64 = 1_767_636_000;

/// Bytes that are not read yet.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A count below `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// True in half of all cases.
    pub fn is(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A value, or none in a quarter of all cases.
    pub fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.below(4) == 0 { None } else { value(self) }
    }

    /// A list of fewer than `end` values; those that make no sense are left out.
    pub fn list<T>(&mut self, end: u8, value: impl Fn(&mut Self) -> Option<T>) -> Vec<T> {
        let count = self.below(end);
        (0..count).filter_map(|_| value(self)).collect()
    }

    /// A number: of ordinary size in quarters, of any size, or any bits.
    pub fn number(&mut self) -> f64 {
        match self.below(8) {
            0 => {
                let bits: [u8; 8] = std::array::from_fn(|_| self.byte());
                f64::from_bits(u64::from_le_bytes(bits))
            }
            1 => 10_f64.powi(i32::from(self.byte()) / 8 - 14) * f64::from(self.byte()),
            2 => -f64::from(self.byte()) / 4.0,
            _ => f64::from(self.byte()) / 4.0,
        }
    }

    /// An instant: at a minute of some days, at any microsecond of an hour, or at any time.
    pub fn instant(&mut self) -> Option<DateTime<Utc>> {
        let six = DateTime::from_timestamp(SIX_SECONDS, 0)?;
        let after = i64::from(self.byte());
        match self.below(8) {
            0 => DateTime::from_timestamp_millis((after - 128) << self.below(48)),
            1 => six.checked_add_signed(TimeDelta::microseconds(after * 7_777_777)),
            2 => six.checked_sub_signed(TimeDelta::minutes(after * 15)),
            _ => six.checked_add_signed(TimeDelta::minutes(after * 15)),
        }
    }

    /// A power.
    pub fn power(&mut self) -> Option<Power> {
        Power::from_kw(self.number()).ok()
    }

    /// An energy.
    pub fn energy(&mut self) -> Option<Energy> {
        Energy::from_kwh(self.number()).ok()
    }

    /// A share.
    pub fn percent(&mut self) -> Option<Percent> {
        Percent::from_percent(self.number()).ok()
    }

    /// A price.
    pub fn price(&mut self) -> Option<Price> {
        Price::from_per_kwh(self.number()).ok()
    }

    /// Prices over a day or so, in slots of equal length or of any, with gaps.
    pub fn curve(&mut self) -> Option<PriceCurve> {
        let count = 1 + self.below(24);
        let minutes = [15, 30, 60, 7][usize::from(self.below(4))];
        let (is_even, mut at) = (self.is(), SIX_SECONDS * 1_000_000);
        let (mut periods, mut prices) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let length = if is_even { minutes } else { 1 + i64::from(self.byte()) } * 60_000_000;
            if is_even || self.below(8) != 0 {
                periods.push((at, at + length));
                prices.push(f64::from(self.byte()) / 256.0 - 0.25);
            }
            at += length;
        }
        PriceCurve::from_parts(Horizon::from_micros(periods).ok()?, prices).ok()
    }
}

//! Price signals: prices that a retailer sets for an area, and their replacement of earlier ones.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::prices::currency::{Currency, CurrencyError};
use crate::prices::curve::PriceCurve;
use crate::prices::overlay::overlaid;
use crate::time::horizon::{Horizon, HorizonError};
use crate::time::instant::micros_of;
use crate::units::Price;

/// Value of a step function: it holds from `at` until the next value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalValue {
    /// First instant of the step.
    pub at: DateTime<Utc>,
    /// Price per kWh; may be negative.
    #[serde(rename = "price_per_kwh")]
    pub price: Price,
}

/// Request for a price signal, not yet checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// ISO 4217 code of the currency.
    pub currency: String,
    /// Exclusive end of the window that is replaced.
    pub to: DateTime<Utc>,
    /// The steps, oldest first. The first starts the window.
    pub values: Vec<SignalValue>,
}

/// Invalid price signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// The currency is no currency.
    #[error("currency: {0}")]
    Currency(#[from] CurrencyError),
    /// There is no first value, hence no start of the window.
    #[error("values is empty; a price signal has at least one value")]
    Empty,
    /// A value is not later than the one before it.
    #[error("values[{index}].at is {at}, not after the value before it at {previous}")]
    NotChronological {
        /// Position in the input.
        index: usize,
        /// The instant that is too early.
        at: DateTime<Utc>,
        /// The instant of the value before it.
        previous: DateTime<Utc>,
    },
    /// The window is empty, or ends before it starts.
    #[error("to is {to}, not after the first value at {first}")]
    NoWindow {
        /// End of the window.
        to: DateTime<Utc>,
        /// Instant of the first value.
        first: DateTime<Utc>,
    },
    /// A value lies at the end of the window or beyond it.
    #[error("values[{index}].at is {at}, not before the end of the window at {to}")]
    OutsideWindow {
        /// Position in the input.
        index: usize,
        /// Instant of the value.
        at: DateTime<Utc>,
        /// End of the window.
        to: DateTime<Utc>,
    },
    /// A time outside the years 1 to 9999.
    #[error("{0}")]
    OutOfRange(HorizonError),
}

/// A market zone as an operator configures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// True if the zone accepts price signals.
    pub is_activated: bool,
    /// Currency of its prices.
    pub currency: Currency,
}

/// Price signal that does not fit its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneError {
    /// The zone is not activated.
    #[error("the zone is not activated")]
    NotActivated,
    /// Signal in another currency than the zone's.
    #[error("currency is {given}; the prices of the zone are in {expected}")]
    WrongCurrency {
        /// Currency of the zone.
        expected: Currency,
        /// Currency of the signal.
        given: Currency,
    },
}

/// Prices for one window, checked. `[first value, to)` has a price throughout.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceSignal {
    currency: Currency,
    curve: PriceCurve,
}

impl PriceSignal {
    /// Checks a price signal.
    ///
    /// # Errors
    /// The currency is unknown; there is no value; a value is not after the one
    /// before it; the window is empty, or a value is not inside it.
    pub fn new(request: &SignalRequest) -> Result<Self, SignalError> {
        let currency = Currency::parse(&request.currency)?;
        let to = micros_of(request.to);
        let starts: Vec<i64> = request.values.iter().map(|value| micros_of(value.at)).collect();
        let &first = starts.first().ok_or(SignalError::Empty)?;
        if let Some(before) = starts.windows(2).position(|pair| pair[1] <= pair[0]) {
            let (previous, at) = (request.values[before].at, request.values[before + 1].at);
            return Err(SignalError::NotChronological { index: before + 1, at, previous });
        }
        if to <= first {
            let first = request.values[0].at;
            return Err(SignalError::NoWindow { to: request.to, first });
        }
        if let Some(index) = starts.iter().position(|&at| at >= to) {
            let at = request.values[index].at;
            return Err(SignalError::OutsideWindow { index, at, to: request.to });
        }
        // A value holds until the next one, and the last until the end of the window.
        let ends = starts[1..].iter().copied().chain([to]);
        let periods = starts.iter().copied().zip(ends);
        // The horizon checks that all times lie within the years 1 to 9999.
        let horizon = Horizon::from_micros(periods).map_err(SignalError::OutOfRange)?;
        let periods = horizon.starts().iter().copied().zip(horizon.ends().iter().copied());
        let prices = request.values.iter().map(|value| value.price.as_per_kwh()).collect();
        Ok(Self { currency, curve: PriceCurve::of_pieces(periods.collect(), prices) })
    }

    /// Currency of the prices.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// The prices: one slot per value, without a gap.
    #[must_use]
    pub fn curve(&self) -> &PriceCurve {
        &self.curve
    }

    /// Checks that a zone accepts the signal.
    ///
    /// # Errors
    /// The zone is not activated, or its prices are in another currency.
    pub fn check_zone(&self, zone: Zone) -> Result<(), ZoneError> {
        if !zone.is_activated {
            return Err(ZoneError::NotActivated);
        }
        if zone.currency != self.currency {
            let (expected, given) = (zone.currency, self.currency);
            return Err(ZoneError::WrongCurrency { expected, given });
        }
        Ok(())
    }

    /// Prices of an area after this signal: the signal's inside its window, and `before` outside
    /// it.
    ///
    /// After the window the earlier step function resumes, also in the middle of a step. Time
    /// without a price in both is a gap. The operation is idempotent; neighbours of one price are
    /// merged.
    ///
    /// # Example
    ///
    /// 0.10 all day; then 0.50 from two to four. At four it is 0.10 again.
    ///
    /// ```
    /// use slackwater_engine::prices::curve::{PriceCurve, Slot};
    /// use slackwater_engine::prices::signal::{PriceSignal, SignalRequest, SignalValue};
    /// use slackwater_engine::units::per_kwh;
    /// let at = |hour: &str| format!("2026-01-05T{hour}:00:00Z").parse().unwrap();
    /// let slot = Slot { start: at("00"), end: at("12"), price: per_kwh(0.1) };
    /// let before = PriceCurve::new(&[slot])?;
    /// let values = vec![SignalValue { at: at("02"), price: per_kwh(0.5) }];
    /// let signal = SignalRequest { currency: "EUR".into(), to: at("04"), values };
    /// let after = PriceSignal::new(&signal)?.replacing(&before);
    /// assert_eq!(after.price_at(at("03")), Some(per_kwh(0.5)));
    /// assert_eq!(after.price_at(at("04")), Some(per_kwh(0.1)));
    /// assert_eq!(after.price_at(at("12")), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn replacing(&self, before: &PriceCurve) -> PriceCurve {
        overlaid(before, &self.curve)
    }

    /// The prices of an area that had none before this signal.
    #[must_use]
    pub fn alone(&self) -> PriceCurve {
        self.replacing(&PriceCurve::of_pieces(Vec::new(), Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::per_kwh;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    fn hour(hour: i64) -> DateTime<Utc> {
        "2026-03-28T00:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    fn request(values: &[(i64, f64)], to: i64) -> SignalRequest {
        let value = |&(at, price)| SignalValue { at: hour(at), price: per_kwh(price) };
        let values = values.iter().map(value).collect();
        SignalRequest { currency: "EUR".into(), to: hour(to), values }
    }

    #[track_caller]
    fn refused(values: &[(i64, f64)], to: i64, expected: &str) {
        assert_eq!(PriceSignal::new(&request(values, to)).unwrap_err().to_string(), expected);
    }

    /// The step function after all signals, as `from-to price` in hours.
    #[track_caller]
    fn check(signals: &[(&[(i64, f64)], i64)], expected: &str) {
        let mut curve = PriceCurve::new(&[]).unwrap();
        for &(values, to) in signals {
            curve = PriceSignal::new(&request(values, to)).unwrap().replacing(&curve);
        }
        let shown = |at: DateTime<Utc>| (at - hour(0)).num_hours();
        let steps: Vec<String> = curve
            .slots()
            .map(|s| format!("{}-{} {}", shown(s.start), shown(s.end), s.price.as_per_kwh()))
            .collect();
        assert_eq!(steps.join(", "), expected);
    }

    #[test]
    fn what_is_no_step_function_is_refused() {
        refused(&[], 4, "values is empty; a price signal has at least one value");
        refused(
            &[(2, 1.0), (1, 1.0)],
            4,
            "values[1].at is 2026-03-28 01:00:00 UTC, \
             not after the value before it at 2026-03-28 02:00:00 UTC",
        );
        refused(
            &[(0, 1.0), (1, 1.0), (1, 2.0)],
            4,
            "values[2].at is 2026-03-28 01:00:00 UTC, \
             not after the value before it at 2026-03-28 01:00:00 UTC",
        );
        for to in [2, 1] {
            let error = PriceSignal::new(&request(&[(2, 1.0)], to)).unwrap_err();
            assert_eq!(error, SignalError::NoWindow { to: hour(to), first: hour(2) });
        }
        for to in [3, 2] {
            let error = PriceSignal::new(&request(&[(1, 1.0), (3, 1.0)], to)).unwrap_err();
            assert_eq!(error, SignalError::OutsideWindow { index: 1, at: hour(3), to: hour(to) });
        }
    }

    #[test]
    fn signals_need_an_activated_zone_and_its_currency() {
        let mut euro = request(&[(0, 0.1)], 1);
        let signal = PriceSignal::new(&euro).unwrap();
        let zone =
            |code, is_activated| Zone { is_activated, currency: Currency::parse(code).unwrap() };
        assert_eq!(signal.check_zone(zone("EUR", true)), Ok(()));
        assert_eq!(signal.check_zone(zone("EUR", false)), Err(ZoneError::NotActivated));
        let error = signal.check_zone(zone("NOK", true)).unwrap_err();
        assert_eq!(error.to_string(), "currency is EUR; the prices of the zone are in NOK");
        euro.currency = "EURO".into();
        let error = PriceSignal::new(&euro).unwrap_err().to_string();
        assert_eq!(error, "currency: \"EURO\" is no ISO 4217 currency such as EUR");
    }

    #[test]
    fn only_the_window_is_replaced() {
        let day: (&[(i64, f64)], i64) = (&[(0, 0.1), (6, 0.3)], 12);
        check(&[day], "0-6 0.1, 6-12 0.3");
        check(&[day, (&[(2, 0.5)], 4)], "0-2 0.1, 2-4 0.5, 4-6 0.1, 6-12 0.3");
        check(&[day, (&[(-3, 0.5)], 3)], "-3-3 0.5, 3-6 0.1, 6-12 0.3");
        check(&[day, (&[(9, 0.5), (10, 0.6)], 15)], "0-6 0.1, 6-9 0.3, 9-10 0.5, 10-15 0.6");
        check(&[day, (&[(-1, 0.7)], 13)], "-1-13 0.7");
        check(&[day, (&[(6, 0.1)], 8)], "0-8 0.1, 8-12 0.3");
        check(&[day, (&[(14, -0.2)], 15)], "0-6 0.1, 6-12 0.3, 14-15 -0.2");
        check(&[day, (&[(12, 0.3)], 13)], "0-6 0.1, 6-13 0.3");
        check(&[(&[(0, 0.1), (1, 0.1)], 2)], "0-2 0.1");
        let alone = PriceSignal::new(&request(&[(0, 0.1), (1, 0.1), (2, 0.3)], 3)).unwrap();
        assert_eq!(alone.alone().prices(), [0.1, 0.3]);
        assert_eq!(alone.curve().prices(), [0.1, 0.1, 0.3], "one slot per value");
    }

    #[test]
    fn beyond_the_calendar_is_refused() {
        let mut far = request(&[(0, 0.1)], 1);
        far.to = DateTime::<Utc>::MAX_UTC;
        assert!(matches!(PriceSignal::new(&far), Err(SignalError::OutOfRange(_))));
    }

    fn signals() -> impl Strategy<Value = SignalRequest> {
        let values = prop::collection::btree_map(0..40i64, -2..3i8, 1..6);
        (values, 1..9i64).prop_map(|(values, length)| {
            let last = values.keys().next_back().copied().unwrap();
            let values: Vec<_> = values.into_iter().map(|(at, p)| (at, f64::from(p))).collect();
            request(&values, last + length)
        })
    }

    proptest! {
        /// FLX-10, FLX-11, law for law: outside the window nothing changes,
        /// inside the last value at or before the instant holds; twice is once;
        /// two halves are the whole; disjoint windows commute.
        #[test]
        fn laws_of_replacing_a_window(
            first in signals(), second in signals(), third in signals(), split in 0..6usize,
        ) {
            let empty = PriceCurve::new(&[]).unwrap();
            let signal = |request: &SignalRequest| PriceSignal::new(request).unwrap();
            let before = signal(&first).replacing(&empty);
            let after = signal(&second).replacing(&before);
            for at in (-1..60).map(hour) {
                let inside = second.values[0].at <= at && at < second.to;
                let last = second.values.iter().rev().find(|value| value.at <= at);
                let expected = if inside { last.map(|v| v.price) } else { before.price_at(at) };
                prop_assert_eq!(after.price_at(at), expected);
            }
            prop_assert_eq!(&signal(&second).replacing(&after), &after);
            if let Some(middle) = second.values.get(split.max(1)).map(|value| value.at) {
                let (mut early, mut late) = (second.clone(), second.clone());
                early.values.truncate(split.max(1));
                early.to = middle;
                late.values.drain(..split.max(1));
                let halves = signal(&late).replacing(&signal(&early).replacing(&before));
                prop_assert_eq!(&halves, &after);
            }
            if third.to <= second.values[0].at || second.to <= third.values[0].at {
                let other_way = signal(&second).replacing(&signal(&third).replacing(&before));
                prop_assert_eq!(signal(&third).replacing(&after), other_way);
            }
        }
    }
}

//! Price signals.
use pyo3::prelude::*;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::signal::{PriceSignal, SignalRequest, SignalValue, Zone};
use slackwater_engine::units::Price;

use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::time::Instant;

/// Currency, exclusive end, values.
type SignalTuple = (String, Instant, Vec<(Instant, f64)>);

fn signal(given: SignalTuple) -> Result<PriceSignal, Refused> {
    let (currency, to, points) = given;
    let mut values = Vec::with_capacity(points.len());
    for (index, (at, price)) in points.into_iter().enumerate() {
        let name = format!("values[{index}].price_per_kwh");
        values.push(SignalValue { at: at.0, price: Price::from_per_kwh(price).named(&name)? });
    }
    Ok(PriceSignal::new(&SignalRequest { currency, to: to.0, values })?)
}

#[pyfunction]
#[pyo3(signature = (signal, zone))]
pub(crate) fn check_signal(
    signal: SignalTuple,
    zone: Option<(String, bool)>,
) -> Result<(), Refused> {
    let signal = self::signal(signal)?;
    if let Some((currency, is_activated)) = zone {
        let currency = Currency::parse(&currency).named("zone.currency")?;
        signal.check_zone(Zone { is_activated, currency })?;
    }
    Ok(())
}

#[pyfunction]
#[pyo3(signature = (before, signal))]
pub(crate) fn replace_signal(
    py: Python<'_>,
    before: Option<&Prices>,
    signal: SignalTuple,
) -> Result<Prices, Refused> {
    let signal = self::signal(signal)?;
    let Some(before) = before else {
        return Ok(Prices::new(signal.alone(), signal.currency().code()));
    };
    let currency = Currency::parse(before.currency()).named("before.currency")?;
    signal.check_zone(Zone { is_activated: true, currency })?;
    let curve = py.detach(|| signal.replacing(&before.curve));
    Ok(Prices::new(curve, currency.code()))
}

//! Measured values of both versions: one form, but for the place of the unit.
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::facts::{Quantity, Sample, Samples};
use crate::fields::Fields;

/// Reads a list of meter values.
///
/// Values of the connector as a whole win; where a charge point reports phases only, powers and
/// energies are added and the highest current counts. Other quantities are left out.
#[must_use]
pub fn read_samples(payload: Fields<'_>, list: &str) -> Samples {
    let mut read = Samples::default();
    for set in payload.list(list) {
        read_set(set, &mut read);
    }
    read
}

/// Value of a phase, or of all of them.
#[derive(Debug, Clone, Copy)]
struct Part {
    value: f64,
    has_unit: bool,
    is_phase: bool,
}

fn read_set(set: Fields<'_>, read: &mut Samples) {
    let at = set.instant("timestamp");
    let mut parts: BTreeMap<Quantity, Vec<Part>> = BTreeMap::new();
    for sample in set.list("sampledValue") {
        match read_part(sample) {
            Some(Ok((quantity, part))) => parts.entry(quantity).or_default().push(part),
            Some(Err(())) => read.unreadable += 1,
            None => {}
        }
    }
    read.values.extend(parts.into_iter().map(|(quantity, parts)| join_parts(at, quantity, &parts)));
}

/// Reads a value: `None` for a quantity that is not of interest, an error for one that is
/// and cannot be read.
fn read_part(sample: Fields<'_>) -> Option<Result<(Quantity, Part), ()>> {
    // Signed data are no numbers.
    if sample.text("format") == Some("SignedData") {
        return None;
    }
    let measurand = sample.text("measurand").unwrap_or("Energy.Active.Import.Register");
    let quantity = quantity_of(measurand)?;
    let phase = sample.text("phase");
    // Between two phases there is a voltage, and no current or power of its own.
    if phase.is_some_and(|phase| ["N", "L1-L2", "L2-L3", "L3-L1"].contains(&phase)) {
        return None;
    }
    let of_unit = sample.inner("unitOfMeasure");
    let unit = sample.text("unit").or_else(|| of_unit.text("unit"));
    let scale = unit.map_or(Some(1.0), |unit| scale_of(quantity, unit));
    let exponent = of_unit.integer("multiplier").and_then(|power| i32::try_from(power).ok());
    let value = sample.number("value").zip(scale).map(|(value, scale)| Part {
        value: value * scale * 10_f64.powi(exponent.unwrap_or(0)),
        has_unit: unit.is_some(),
        is_phase: phase.is_some(),
    });
    Some(value.filter(|part| part.value.is_finite()).map(|part| (quantity, part)).ok_or(()))
}

fn quantity_of(measurand: &str) -> Option<Quantity> {
    Some(match measurand {
        "Energy.Active.Import.Register" => Quantity::Imported,
        "Energy.Active.Export.Register" => Quantity::Exported,
        "Power.Active.Import" => Quantity::Power,
        "Power.Active.Export" => Quantity::PowerGiven,
        "Current.Import" => Quantity::Current,
        "Current.Offered" => Quantity::CurrentOffered,
        "Power.Offered" => Quantity::PowerOffered,
        _ => return None,
    })
}

/// Factor from a unit to that of the quantity; `None` if the unit is of something else.
fn scale_of(quantity: Quantity, unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    match quantity {
        Quantity::Imported | Quantity::Exported => match unit.as_str() {
            "wh" => Some(1.0),
            "kwh" => Some(1e3),
            "mwh" => Some(1e6),
            _ => None,
        },
        Quantity::Power | Quantity::PowerGiven | Quantity::PowerOffered => match unit.as_str() {
            "w" => Some(1.0),
            "kw" => Some(1e3),
            _ => None,
        },
        Quantity::Current | Quantity::CurrentOffered => {
            ["a", "amp"].contains(&unit.as_str()).then_some(1.0)
        }
    }
}

/// One value of a quantity at an instant.
fn join_parts(at: Option<DateTime<Utc>>, quantity: Quantity, parts: &[Part]) -> Sample {
    let whole = parts.iter().rev().find(|part| !part.is_phase);
    let values = || parts.iter().map(|part| part.value);
    let value = match quantity {
        _ if whole.is_some() => whole.map_or(0.0, |part| part.value),
        Quantity::Current | Quantity::CurrentOffered => values().fold(f64::MIN, f64::max),
        _ => values().sum(),
    };
    Sample { at, quantity, value, has_unit: parts.iter().all(|part| part.has_unit) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Quantities and values of one list of sampled values, and the number of unreadable ones.
    fn read(sampled: &Value) -> (Vec<(Quantity, f64)>, usize) {
        let payload =
            json!({"meterValue": [{"timestamp": "2026-01-05T18:00:00Z", "sampledValue": sampled}]});
        let found = read_samples(Fields(&payload), "meterValue");
        (found.values.iter().map(|one| (one.quantity, one.value)).collect(), found.unreadable)
    }

    #[test]
    fn values_in_their_units() {
        for (sampled, expected) in [
            (json!([{"value": "1500"}]), vec![(Quantity::Imported, 1500.0)]),
            (json!([{"value": "1.5", "unit": "kWh"}]), vec![(Quantity::Imported, 1500.0)]),
            (
                json!([{"value": 1.5, "unitOfMeasure": {"unit": "Wh", "multiplier": 3}}]),
                vec![(Quantity::Imported, 1500.0)],
            ),
            (
                json!([{"value": "7.4", "measurand": "Power.Active.Import", "unit": "kW"}]),
                vec![(Quantity::Power, 7400.0)],
            ),
            (json!([{"value": "51", "measurand": "SoC", "unit": "Percent"}]), vec![]),
            (json!([{"value": "ab01", "format": "SignedData"}]), vec![]),
            (json!([]), vec![]),
        ] {
            assert_eq!(read(&sampled), (expected, 0), "{sampled}");
        }
    }

    #[test]
    fn phases_make_a_whole_only_where_there_is_none() {
        let phase = |measurand: &str, phase: &str, value: f64| json!({"value": value.to_string(), "measurand": measurand, "phase": phase});
        let power = "Power.Active.Import";
        let three =
            json!([phase(power, "L1", 1.0), phase(power, "L2", 2.0), phase(power, "L3-N", 3.0)]);
        assert_eq!(read(&three).0, [(Quantity::Power, 6.0)]);
        let with_sum = json!([phase(power, "L1", 1.0), {"value": "5", "measurand": power}]);
        assert_eq!(read(&with_sum).0, [(Quantity::Power, 5.0)]);
        let current = "Current.Import";
        let amps = json!([
            phase(current, "L1", 9.0),
            phase(current, "L2", 10.0),
            phase(current, "N", 16.0)
        ]);
        assert_eq!(read(&amps).0, [(Quantity::Current, 10.0)]);
    }

    #[test]
    fn unreadable_values_are_counted_and_left_out() {
        for sampled in [
            json!([{"value": ""}]),
            json!([{"value": "NaN"}]),
            json!([{"value": null}]),
            json!([{}]),
            json!([{"value": "5", "unit": "Celsius"}]),
            json!([{"value": 5, "unitOfMeasure": {"multiplier": 400}}]),
        ] {
            assert_eq!(read(&sampled), (vec![], 1), "{sampled}");
        }
    }
}

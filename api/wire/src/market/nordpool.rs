//! Day-ahead prices of the data portal of Nord Pool, as its JSON has them.
//!
//! An answer has `multiAreaEntries`, each with its instants of delivery and a price for each area, and
//! names its currency. A price that is null is a gap.
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use slackwater_engine::import::price_unit::PriceUnit;
use slackwater_engine::import::series::{InstantRow, SeriesOptions, prices_from_instants};

use crate::market::reply::{PublishedPrices, ReplyError, StatedTime, list_names, parse_time};

/// Choice among the areas of an answer, and what it does not say itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NordpoolChoice {
    /// Code of the currency. Without it, the answer must say.
    pub currency: Option<String>,
    /// Unit of the numbers, if it is not the currency per megawatt hour.
    pub unit: Option<String>,
    /// Area, such as `SE3`, where an answer has several.
    pub area: Option<String>,
}

/// Reads an answer of the data portal.
///
/// # Errors
/// The text is no JSON or no such answer; its currency is another one; the area is missing or
/// unclear; a time or price makes no sense.
///
/// # Example
///
/// ```
/// use slackwater_wire::market::nordpool::{NordpoolChoice, read_nordpool};
/// let text = r#"{"currency": "SEK", "multiAreaEntries": [{
///     "deliveryStart": "2026-01-05T23:00:00Z", "deliveryEnd": "2026-01-05T23:15:00Z",
///     "entryPerArea": {"SE3": 512.5}}]}"#;
/// let read = read_nordpool(text, &NordpoolChoice::default())?;
/// assert_eq!(read.currency, "SEK");
/// assert_eq!(read.prices.curve.prices(), [0.5125]);
/// # Ok::<(), slackwater_wire::market::reply::ReplyError>(())
/// ```
pub fn read_nordpool(text: &str, choice: &NordpoolChoice) -> Result<PublishedPrices, ReplyError> {
    let answer: Value = serde_json::from_str(text).map_err(|error| describe_syntax(&error))?;
    let entries = answer.get("multiAreaEntries").and_then(Value::as_array);
    let entries = entries.filter(|entries| !entries.is_empty()).ok_or(ReplyError::NoEntries)?;
    let stated = answer.get("currency").filter(|currency| !currency.is_null());
    let currency = match (&choice.currency, stated) {
        (Some(wanted), Some(stated)) if stated.as_str() != Some(wanted) => {
            let found = stated.as_str().map_or_else(|| stated.to_string(), ToOwned::to_owned);
            return Err(ReplyError::StatedCurrency { found, wanted: wanted.clone() });
        }
        (Some(wanted), _) => wanted.clone(),
        (None, stated) => stated.and_then(Value::as_str).ok_or(ReplyError::NoCurrency)?.to_owned(),
    };
    let entries: Vec<Entry<'_>> =
        (1..).zip(entries).map(Entry::new).collect::<Result<_, ReplyError>>()?;
    let area = find_area(&entries, choice.area.as_deref())?;
    let rows = entries.iter().map(|entry| entry.read_row(area));
    let rows: Vec<InstantRow> = rows.collect::<Result<_, _>>()?;
    let unit = choice.unit.clone().unwrap_or_else(|| format!("{currency}/MWh"));
    let unit = PriceUnit::parse(&unit, &currency)?;
    let prices = prices_from_instants(&rows, &SeriesOptions::new(unit));
    let prices = prices.map_err(|error| ReplyError::Rows(Box::new(error)))?;
    Ok(PublishedPrices { currency, prices })
}

/// Error of the parser, with its line.
fn describe_syntax(error: &serde_json::Error) -> ReplyError {
    // The message ends with the position, of which the column is of no use in one long line.
    let message = error.to_string();
    let reason = message.rsplit_once(" at line ").map_or(message.as_str(), |(reason, _)| reason);
    ReplyError::Syntax { line: error.line(), reason: reason.to_owned() }
}

/// An entry of an answer: a time of delivery, and a price for each area.
struct Entry<'a> {
    row: usize,
    fields: &'a Value,
    prices: &'a Map<String, Value>,
}

impl<'a> Entry<'a> {
    fn new((row, fields): (usize, &'a Value)) -> Result<Self, ReplyError> {
        let prices = fields.get("entryPerArea").and_then(Value::as_object);
        Ok(Self { row, fields, prices: prices.ok_or(ReplyError::NoAreas { row })? })
    }

    fn read_row(&self, area: &str) -> Result<InstantRow, ReplyError> {
        let stated = self.prices.get(area).filter(|price| !price.is_null());
        let price = match stated {
            None => None,
            Some(stated) => {
                let number = stated.as_f64();
                let what = format!("the price for {area}");
                Some(number.ok_or_else(|| self.refuse(what, Some(stated), "no number"))?)
            }
        };
        let (start, end) = (self.read_time("deliveryStart")?, self.read_time("deliveryEnd")?);
        Ok(InstantRow { row: self.row, start, end: Some(end), price })
    }

    fn read_time(&self, name: &str) -> Result<DateTime<Utc>, ReplyError> {
        let given = self.fields.get(name);
        let fault = match given.and_then(Value::as_str).and_then(parse_time) {
            Some(StatedTime::Instant(at)) => return Ok(at),
            Some(StatedTime::Local) => "a time without an offset",
            None => "no time",
        };
        Err(self.refuse(name.to_owned(), given, fault))
    }

    fn refuse(&self, what: String, given: Option<&Value>, fault: &'static str) -> ReplyError {
        let given = match given {
            None | Some(Value::Null) => "None".to_owned(),
            Some(Value::String(text)) => format!("'{text}'"),
            Some(other) => other.to_string(),
        };
        ReplyError::Field { row: self.row, what, given, fault }
    }
}

/// The area to read: the one that is wanted, or the only one.
fn find_area<'a>(entries: &[Entry<'a>], wanted: Option<&'a str>) -> Result<&'a str, ReplyError> {
    let named = entries.iter().flat_map(|entry| entry.prices.keys());
    let found: BTreeSet<&str> = named.map(String::as_str).collect();
    let listed = list_names(found.iter().copied());
    match wanted {
        Some(area) if found.contains(area) => Ok(area),
        Some(area) => Err(ReplyError::NoArea { wanted: area.to_owned(), found: listed }),
        None => match (found.len(), found.first()) {
            (1, Some(&only)) => Ok(only),
            _ => Err(ReplyError::ManyAreas { found: listed }),
        },
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    /// An answer with quarter hours of an area, from an instant on.
    fn reply_of_day(from: &str, prices: &[Option<f64>]) -> String {
        let from: DateTime<Utc> = from.parse().unwrap();
        let entry = |(index, price): (i32, &Option<f64>)| {
            let start = from + TimeDelta::minutes(15) * index;
            serde_json::json!({
                "deliveryStart": start,
                "deliveryEnd": start + TimeDelta::minutes(15),
                "entryPerArea": { "SE3": price, "SE4": 1.0 },
            })
        };
        let entries: Vec<Value> = (0..).zip(prices).map(entry).collect();
        serde_json::json!({ "currency": "SEK", "multiAreaEntries": entries }).to_string()
    }

    fn choice_of_area(area: &str) -> NordpoolChoice {
        NordpoolChoice { area: Some(area.to_owned()), ..NordpoolChoice::default() }
    }

    #[test]
    fn days_of_clock_changes_have_23_and_25_hours() {
        for (from, hours) in [
            ("2026-03-28T23:00:00Z", 23),
            ("2026-10-24T22:00:00Z", 25),
            ("2026-01-04T23:00:00Z", 24),
        ] {
            let prices: Vec<Option<f64>> = (0..hours * 4).map(|n| Some(f64::from(n))).collect();
            let read = read_nordpool(&reply_of_day(from, &prices), &choice_of_area("SE3")).unwrap();
            assert_eq!(read.prices.curve.len(), prices.len());
            assert!(read.prices.gaps().is_empty() && read.prices.notes(chrono_tz::UTC).is_empty());
        }
    }

    #[test]
    fn a_price_that_is_null_is_a_gap() {
        let text = reply_of_day("2026-01-05T18:00:00Z", &[Some(500.0), None, Some(-1.5)]);
        let read = read_nordpool(&text, &choice_of_area("SE3")).unwrap();
        assert_eq!(read.prices.curve.prices(), [0.5, -0.0015]);
        let at = |clock: &str| format!("2026-01-05T{clock}:00Z").parse::<DateTime<Utc>>().unwrap();
        assert_eq!(read.prices.gaps(), [(at("18:15"), at("18:30"))]);
    }

    #[test]
    fn errors_name_row_field_and_value() {
        let text = reply_of_day("2026-01-05T18:00:00Z", &[Some(500.0), Some(600.0)]);
        let read = |text: &str, choice: &NordpoolChoice| {
            read_nordpool(text, choice).unwrap_err().message_in("day")
        };
        let cases = [
            ("500.0", "\"5\"", "day, row 1: the price for SE3 is '5', no number"),
            (
                "deliveryStart\":\"2026-01-05T18:15:00Z",
                "deliveryStart\":\"2026-01-05T18:15:00",
                "day, row 2: deliveryStart is '2026-01-05T18:15:00', a time without an offset",
            ),
            ("entryPerArea", "areas", "day, row 1: there is no 'entryPerArea'"),
            ("\"SEK\"", "7", "day: the answer names no currency; say currency="),
        ];
        for (from, to, expected) in cases {
            assert_eq!(read(&text.replace(from, to), &choice_of_area("SE3")), expected);
        }
        let cut_short = read(&text[..100], &choice_of_area("SE3"));
        assert!(cut_short.starts_with("day, line 1: EOF while parsing "), "{cut_short}");
        assert_eq!(
            read(&text, &NordpoolChoice::default()),
            "day: prices are for 'SE3', 'SE4'; say area="
        );
        assert_eq!(
            read(&text, &choice_of_area("NO1")),
            "day: no price is for area 'NO1'; found: 'SE3', 'SE4'"
        );
        let euros = NordpoolChoice { currency: Some("EUR".to_owned()), ..choice_of_area("SE3") };
        assert_eq!(read(&text, &euros), "day: prices are in SEK, not in EUR");
    }

    #[test]
    fn lists_within_lists_are_refused() {
        let deep = "[".repeat(100_000);
        assert!(matches!(
            read_nordpool(&deep, &NordpoolChoice::default()),
            Err(ReplyError::Syntax { .. })
        ));
    }
}

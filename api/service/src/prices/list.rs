//! Price lists in files: delimited text with a header, or JSON.
//!
//! This finds the columns. What times, units and gaps mean is decided by the
//! engine's importers.
use chrono::{DateTime, NaiveDateTime, Utc};
use chrono_tz::Tz;
use serde::Deserialize;
use slackwater_engine::import::civil_series::{CivilRow, CivilSeriesError, prices_from_civil};
use slackwater_engine::import::finding::ImportedPrices;
use slackwater_engine::import::price_unit::{PriceUnit, PriceUnitError};
use slackwater_engine::import::series::{
    InstantRow, SeriesError, SeriesOptions, prices_from_zoned_instants,
};
use slackwater_engine::prices::currency::Currency;

use crate::delimited::{editor_line, parse_decimal, read_delimited};

/// Format of a price list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOptions {
    /// The currency of its prices.
    pub currency: Currency,
    /// Unit of its numbers, such as `EUR/MWh`; without it the header of the prices says so.
    pub unit: Option<String>,
    /// Time zone of its times where they name no offset, and of its days and months; without it days and
    /// months are those of UTC.
    pub time_zone: Option<Tz>,
}

/// Reason why a text is no price list.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ListError {
    /// No text.
    #[error("the list is empty")]
    Empty,
    /// A row that is no row of delimited text.
    #[error("row {row}: {reason}")]
    Text {
        /// The row.
        row: usize,
        /// Fault of the row.
        reason: String,
    },
    /// Not the JSON that is wanted.
    #[error("it is not a list of {{start, end, price}} in JSON: {0}")]
    Json(String),
    /// No column is what is looked for, or several may be.
    #[error("there is not one column of {what}; the header has {header}")]
    NoColumn {
        /// Column that is missing.
        what: &'static str,
        /// The names of all columns.
        header: String,
    },
    /// A cell is no time.
    #[error("row {row}: {cell:?} is not a time such as 2026-01-31 18:00")]
    NotATime {
        /// The row.
        row: usize,
        /// The cell.
        cell: String,
    },
    /// A cell is no number.
    #[error("row {row}: {cell:?} is not a number")]
    NotANumber {
        /// The row.
        row: usize,
        /// The cell.
        cell: String,
    },
    /// Times of a wall clock, and nobody says whose.
    #[error("row {row} names no offset; say whose clocks are meant by a time zone")]
    NoTimeZone {
        /// The row.
        row: usize,
    },
    /// Nothing says what the numbers count.
    #[error("nothing says what the prices count; say a unit such as {0}/MWh")]
    NoUnit(Currency),
    /// The unit.
    #[error(transparent)]
    Unit(#[from] PriceUnitError),
    /// The rows.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// The rows, on a wall clock.
    #[error(transparent)]
    Civil(#[from] CivilSeriesError),
}

/// A row as it stands in the list.
struct RawRow {
    number: usize,
    start: String,
    end: Option<String>,
    price: Option<f64>,
}

/// A time, with or without an offset.
enum Time {
    Instant(DateTime<Utc>),
    Civil(NaiveDateTime),
}

/// A row of a list in JSON.
#[derive(Debug, Deserialize)]
struct JsonRow {
    start: String,
    #[serde(default)]
    end: Option<String>,
    price: Option<f64>,
}

/// Reads a price list.
///
/// # Errors
/// The text has another form, or its rows are no prices.
///
/// # Example
///
/// ```
/// use slackwater_service::prices::list::{ListOptions, read};
/// use slackwater_engine::prices::currency::Currency;
/// let text = "start,price_eur_per_mwh\n2026-01-05T00:00Z,40\n2026-01-05T01:00Z,80\n";
/// let options = ListOptions { currency: Currency::parse("EUR")?, unit: None, time_zone: None };
/// assert_eq!(read(text, &options)?.curve.prices(), [0.04, 0.08]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(text: &str, options: &ListOptions) -> Result<ImportedPrices, ListError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().is_empty() {
        return Err(ListError::Empty);
    }
    let (rows, unit) = if text.trim_start().starts_with(['[', '{']) {
        (json_rows(text)?, options.unit.clone())
    } else {
        let (rows, header) = text_rows(text)?;
        (rows, options.unit.clone().or_else(|| unit_in(&header, options.currency)))
    };
    let unit = unit.ok_or(ListError::NoUnit(options.currency))?;
    let unit = PriceUnit::parse(&unit, options.currency.code())?;
    placed(rows, &SeriesOptions::new(unit), options.time_zone)
}

fn json_rows(text: &str) -> Result<Vec<RawRow>, ListError> {
    let rows: Vec<JsonRow> =
        serde_json::from_str(text).map_err(|error| ListError::Json(error.to_string()))?;
    let raw = |(number, JsonRow { start, end, price })| RawRow { number, start, end, price };
    Ok((1..).zip(rows).map(raw).collect())
}

/// The rows of delimited text, and the header of its prices.
fn text_rows(text: &str) -> Result<(Vec<RawRow>, String), ListError> {
    // Lines are counted in the whole text, and the names of the columns may stand below empty ones.
    let empty = text.len() - text.trim_start().len();
    let skipped = text[..empty].matches('\n').count();
    let text = &text[empty..];
    let mut reader = read_delimited(text);
    let line = |position: Option<&csv::Position>| skipped + editor_line(text, position);
    let failed = |error: csv::Error| ListError::Text {
        row: line(error.position()),
        reason: match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} columns, and the rows before have {expected_len}")
            }
            _ => "it is not delimited text".to_owned(),
        },
    };
    let header = reader.headers().map_err(failed)?.clone();
    let names: Vec<&str> = header.iter().collect();
    let start = column(&names, "times", &["start", "from", "begin", "beginn", "time", "at"])?;
    let end = column(&names, "ends", &["end", "to", "until", "ende"]).ok();
    let price = column(&names, "prices", &["price", "prices", "preis", "kwh", "mwh"])?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let cell = |column: usize| record.get(column).unwrap_or_default();
        // As an editor counts: the header is row 1, and an empty line is a row.
        let number = line(record.position());
        rows.push(RawRow {
            number,
            start: cell(start).to_owned(),
            end: end.map(|end| cell(end).to_owned()).filter(|end| !end.is_empty()),
            price: number_of(number, cell(price))?,
        });
    }
    Ok((rows, names[price].to_owned()))
}

/// The only column that has one of some words in its name.
fn column(names: &[&str], what: &'static str, words: &[&str]) -> Result<usize, ListError> {
    let is_meant = |name: &&str| {
        let name = name.to_lowercase();
        let mut parts = name.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| words.contains(&part))
    };
    let mut found = names.iter().enumerate().filter(|(_, name)| is_meant(name));
    match (found.next(), found.next()) {
        (Some((column, _)), None) => Ok(column),
        _ => Err(ListError::NoColumn { what, header: names.join(", ") }),
    }
}

fn number_of(row: usize, cell: &str) -> Result<Option<f64>, ListError> {
    if cell.is_empty() {
        return Ok(None);
    }
    let number = parse_decimal(cell);
    number.map(Some).ok_or_else(|| ListError::NotANumber { row, cell: cell.to_owned() })
}

/// The unit in a header, such as `price_eur_per_mwh` or `Preis (ct/kWh)`.
fn unit_in(header: &str, currency: Currency) -> Option<String> {
    let header = header.to_lowercase().replace("_per_", "/").replace(" per ", "/");
    let words: Vec<&str> =
        header.split(|c: char| c.is_whitespace() || "()[]_:".contains(c)).collect();
    let mut units =
        words.into_iter().filter(|word| PriceUnit::parse(word, currency.code()).is_ok());
    units.next().map(ToOwned::to_owned)
}

/// The prices of rows whose times all have an offset, or all have none.
fn placed(
    rows: Vec<RawRow>,
    options: &SeriesOptions,
    time_zone: Option<Tz>,
) -> Result<ImportedPrices, ListError> {
    let is_civil = match rows.first() {
        Some(first) => matches!(time_of(first.number, &first.start)?, Time::Civil(_)),
        None => false,
    };
    if !is_civil {
        let instant = |row: usize, cell: &str| match time_of(row, cell)? {
            Time::Instant(at) => Ok(at),
            Time::Civil(_) => Err(ListError::NoTimeZone { row }),
        };
        let rows = rows.into_iter().map(|RawRow { number: row, start, end, price }| {
            let end = end.map(|end| instant(row, &end)).transpose()?;
            Ok(InstantRow { row, start: instant(row, &start)?, end, price })
        });
        let rows = rows.collect::<Result<Vec<_>, ListError>>()?;
        let time_zone = time_zone.unwrap_or(Tz::UTC);
        return Ok(prices_from_zoned_instants(&rows, time_zone, options)?);
    }
    let time_zone = time_zone.ok_or(ListError::NoTimeZone { row: rows[0].number })?;
    let civil = |row: usize, cell: String| match time_of(row, &cell)? {
        Time::Civil(local) => Ok(local),
        Time::Instant(_) => Err(ListError::NotATime { row, cell }),
    };
    let rows = rows.into_iter().map(|RawRow { number: row, start, end, price }| {
        let end = end.map(|end| civil(row, end)).transpose()?;
        Ok(CivilRow { row, start: civil(row, start)?, mark: None, end, price })
    });
    let rows = rows.collect::<Result<Vec<_>, ListError>>()?;
    Ok(prices_from_civil(&rows, time_zone, options)?)
}

fn time_of(row: usize, cell: &str) -> Result<Time, ListError> {
    const CIVIL: [&str; 4] =
        ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"];
    let text = cell.trim().replacen(' ', "T", usize::from(cell.trim().starts_with("20")));
    let with_seconds = |text: &str| text.parse::<DateTime<Utc>>().ok();
    let minutes = || DateTime::parse_from_str(&text.replace('Z', "+00:00"), "%Y-%m-%dT%H:%M%:z");
    if let Some(at) = with_seconds(&text).or_else(|| minutes().ok().map(|at| at.to_utc())) {
        return Ok(Time::Instant(at));
    }
    let local = CIVIL.iter().find_map(|form| NaiveDateTime::parse_from_str(&text, form).ok());
    local.map(Time::Civil).ok_or_else(|| ListError::NotATime { row, cell: cell.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(currency: &str, time_zone: Option<Tz>) -> ListOptions {
        ListOptions { currency: Currency::parse(currency).unwrap(), unit: None, time_zone }
    }

    #[test]
    fn lists_of_clocks_and_of_instants() {
        let spring = "\u{feff}Beginn;Preis (ct/kWh)\n\
            29.03.2026 01:00;34,255\n29.03.2026 02:00;\n29.03.2026 03:00;30\n";
        let berlin = Some(chrono_tz::Europe::Berlin);
        let read_one = read(spring, &options("EUR", berlin)).unwrap();
        assert_eq!(read_one.curve.prices(), [0.34255, 0.3]);
        let error = read(spring, &options("EUR", None)).unwrap_err();
        assert_eq!(error, ListError::NoTimeZone { row: 2 });

        let json =
            r#"[{"start": "2026-01-05T00:00:00Z", "end": "2026-01-05T02:00:00Z", "price": 1.5}]"#;
        assert_eq!(
            read(json, &options("NOK", None)),
            Err(ListError::NoUnit(options("NOK", None).currency))
        );
        let unit = Some("öre/kWh".to_owned());
        let list = read(json, &ListOptions { unit, ..options("NOK", None) }).unwrap();
        assert_eq!((list.curve.len(), list.curve.prices()[0]), (1, 0.015));
    }

    #[test]
    fn days_with_an_offset_are_those_of_the_time_zone() {
        let days = "start,price_eur_per_kwh\n2026-10-24T00:00+02:00,1\n2026-10-25T00:00+02:00,2\n\
                    2026-10-26T00:00+01:00,3\n2026-10-27T00:00+01:00,4\n";
        let list = read(days, &options("EUR", Some(chrono_tz::Europe::Berlin))).unwrap();
        assert!(list.gaps().is_empty(), "the day of 25 hours has no gap");
        let months = "start,price_eur_per_kwh\n2026-02-01T00:00+01:00,1\n\
                      2026-03-01T00:00+01:00,2\n2026-04-01T00:00+02:00,3\n";
        let list = read(months, &options("EUR", Some(chrono_tz::Europe::Berlin))).unwrap();
        assert_eq!((list.curve.len(), list.gaps().len()), (3, 0));
        let error = read(months, &options("EUR", None)).unwrap_err().to_string();
        assert!(error.ends_with("no slot length fits; give each row an end"), "{error}");
    }

    #[test]
    fn what_is_no_list_says_why() {
        let refusals = [
            (" \n", "the list is empty"),
            ("a,b\n1,2\n", "there is not one column of times; the header has a, b"),
            ("start,price_eur_per_kwh\nsoon,2\n", "row 2: \"soon\" is not a time"),
            (
                "start,price_eur_per_kwh\n2026-01-05T00:00Z,dear\n",
                "row 2: \"dear\" is not a number",
            ),
            ("start,price\n2026-01-05T00:00Z,1\n", "nothing says what the prices count"),
            ("start,price_gbp_per_kwh\n2026-01-05T00:00Z,1\n", "nothing says what"),
            ("{}", "it is not a list of"),
            ("[]", "nothing says what"),
            ("start,price_eur_per_kwh\n2026-01-05T00:00Z,1\n", "is the only one"),
            (
                "start,price_eur_per_kwh\n2026-01-05T01:00Z,1\n2026-01-05T01:00Z,1\n",
                "does not come after row 2",
            ),
            (
                "\n\nstart,price_eur_per_kwh\r\n\r\n2026-01-05T01:00Z,1\r\nsoon,1\r\n",
                "row 6: \"soon\" is not a time",
            ),
            (
                "start,price_eur_per_kwh\n\n2026-01-05T01:00Z,1,5\n",
                "row 3: it has 3 columns, and the rows before have 2",
            ),
        ];
        for (text, reason) in refusals {
            let error = read(text, &options("EUR", None)).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

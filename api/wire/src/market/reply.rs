//! Prices of a reply, its errors with their place, and times as publishers write them.
use chrono::{DateTime, Datelike, NaiveDateTime, Timelike, Utc};
use slackwater_engine::import::finding::ImportedPrices;
use slackwater_engine::import::period_series::PeriodSeriesError;
use slackwater_engine::import::price_unit::PriceUnitError;
use slackwater_engine::import::series::SeriesError;

/// Prices of a reply, and their currency.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPrices {
    /// Code of the currency, as the caller or the reply says.
    pub currency: String,
    /// Prices per kWh, gaps and findings.
    pub prices: ImportedPrices,
}

/// Reply that holds no prices, or whose prices make no sense.
///
/// Rows are lines of the text in XML, and entries counted from 1 in JSON.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The text is not of the format.
    #[error("line {line}: {reason}")]
    Syntax {
        /// Line of the text.
        line: usize,
        /// Message of the parser.
        reason: String,
    },
    /// A field of a row is missing, or its value makes no sense.
    #[error("row {row}: {what} is {given}, {fault}")]
    Field {
        /// The row.
        row: usize,
        /// The field.
        what: String,
        /// Its value, as in the text; `None` if it is missing.
        given: String,
        /// Fault of the value.
        fault: &'static str,
    },
    /// A resolution that is not one of a market.
    #[error("row {row}: the resolution {given} is none of PT15M, PT30M, PT60M, PT1H")]
    Resolution {
        /// The row.
        row: usize,
        /// The resolution as given; `None` if it is missing.
        given: String,
    },
    /// An entry without prices.
    #[error("row {row}: there is no 'entryPerArea'")]
    NoAreas {
        /// The row.
        row: usize,
    },
    /// A document type, which could define texts that expand to any size.
    #[error("the document declares a document type; remove it")]
    DocumentType,
    /// No prices, or none of those that are wanted.
    #[error("the document holds no such prices: {found}")]
    NoPrices {
        /// The reason that the document gives, or the prices that it has.
        found: String,
    },
    /// Several values, or none, where the prices must have one.
    #[error("the document does not have one {what}, but {found}")]
    NotOne {
        /// The field.
        what: &'static str,
        /// Values that were found.
        found: String,
    },
    /// Prices in another currency.
    #[error("prices are not in {wanted}; found: {found}")]
    OtherCurrency {
        /// The currency that is wanted.
        wanted: String,
        /// The prices that the document has.
        found: String,
    },
    /// Prices per another unit of energy.
    #[error("prices are per {given}, neither MWH nor KWH")]
    Energy {
        /// The unit as given.
        given: String,
    },
    /// Periods that are no price list.
    #[error("{error}{hint}")]
    Periods {
        /// Fault of the periods.
        error: Box<PeriodSeriesError>,
        /// Choices among several series, if there are such.
        hint: String,
    },
    /// An answer of the data portal without entries.
    #[error("there are no 'multiAreaEntries'")]
    NoEntries,
    /// An answer of the data portal in another currency.
    #[error("prices are in {found}, not in {wanted}")]
    StatedCurrency {
        /// The currency that the answer states.
        found: String,
        /// The currency that is wanted.
        wanted: String,
    },
    /// Neither the caller nor the answer names a currency.
    #[error("the answer names no currency; say currency=")]
    NoCurrency,
    /// Several areas, of which none was chosen.
    #[error("prices are for {found}; say area=")]
    ManyAreas {
        /// Names of the areas.
        found: String,
    },
    /// No prices for the area that was chosen.
    #[error("no price is for area '{wanted}'; found: {found}")]
    NoArea {
        /// The area.
        wanted: String,
        /// Names of the areas that the answer has.
        found: String,
    },
    /// The rows are no price list.
    #[error(transparent)]
    Rows(Box<SeriesError>),
    /// The unit of the prices.
    #[error(transparent)]
    Unit(#[from] PriceUnitError),
}

impl ReplyError {
    /// The message with the name of the text ahead of it: `day.xml, row 2: ...`.
    #[must_use]
    pub fn message_in(&self, text_name: &str) -> String {
        let is_placed = matches!(
            self,
            Self::Syntax { .. }
                | Self::Field { .. }
                | Self::Resolution { .. }
                | Self::NoAreas { .. }
        );
        format!("{text_name}{} {self}", if is_placed { ',' } else { ':' })
    }
}

/// A time, with or without an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedTime {
    /// With an offset.
    Instant(DateTime<Utc>),
    /// Without one.
    Local,
}

/// The time that a text states in the form of ISO 8601, with seconds or without; `None` if it states
/// none in the years 1 to 9999.
pub(super) fn parse_time(text: &str) -> Option<StatedTime> {
    let text = text.trim().replacen(' ', "T", 1);
    let with_offset = text.strip_suffix('Z').map(|local| format!("{local}+00:00"));
    let with_offset = with_offset.as_deref().unwrap_or(&text);
    let instant = ["%Y-%m-%dT%H:%M%:z", "%Y-%m-%dT%H:%M:%S%.f%:z"]
        .into_iter()
        .find_map(|form| DateTime::parse_from_str(with_offset, form).ok());
    if let Some(at) = instant {
        let at = at.to_utc();
        // A leap second has no place between two minutes, and no price list has one.
        let is_plain = (1..=9999).contains(&at.year()) && at.nanosecond() < 1_000_000_000;
        return is_plain.then_some(StatedTime::Instant(at));
    }
    ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"]
        .into_iter()
        .any(|form| NaiveDateTime::parse_from_str(&text, form).is_ok())
        .then_some(StatedTime::Local)
}

/// Names in quotes, in their order, as messages list them.
pub(super) fn list_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_an_offset_or_are_told_apart() {
        let at = StatedTime::Instant("2026-01-05T18:00:00Z".parse().unwrap());
        for text in [
            "2026-01-05T18:00Z",
            " 2026-01-05 18:00:00Z",
            "2026-01-05T18:00:00.000Z",
            "2026-01-05T19:00+01:00",
            "2026-01-05T19:00:00+0100",
        ] {
            assert_eq!(parse_time(text), Some(at), "{text}");
        }
        for text in ["2026-01-05T18:00", "2026-01-05 18:00:00"] {
            assert_eq!(parse_time(text), Some(StatedTime::Local), "{text}");
        }
        for text in [
            "",
            "Z",
            "soon",
            "2026-01-05",
            "2026-02-30T18:00Z",
            "2026-01-05T23:59:60Z",
            "+12026-01-05T18:00Z",
            "0000-01-05T18:00Z",
            "9999-12-31T23:59-23:59",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}

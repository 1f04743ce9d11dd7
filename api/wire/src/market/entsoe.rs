//! Day-ahead prices of the transparency platform of ENTSO-E, as its XML has them.
//!
//! A document has `TimeSeries`, a series has `Period`s, and a period has `Point`s at numbered
//! positions of UTC. A position without a point is a gap, unless the series is of curve type A03,
//! which leaves out a position whose price is that of the one before. Source: ENTSO-E, *EDI
//! Implementation Guide: Publication Market Document*, and *The Introduction of different
//! Timeseries possibilities (curve types) within ENTSO-E electronic documents*.
//!
//! Where the platform has no prices it replies with an `Acknowledgement_MarketDocument`, whose reason
//! is the error.
use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use roxmltree::{Document, Node, ParsingOptions};
use slackwater_engine::import::period_series::{PointPeriod, PricePoint, prices_from_periods};
use slackwater_engine::import::price_unit::PriceUnit;

use crate::market::reply::{PublishedPrices, ReplyError, StatedTime, parse_time};

/// Resolutions of markets, with their minutes.
const RESOLUTIONS: [(&str, i64); 4] = [("PT15M", 15), ("PT30M", 30), ("PT60M", 60), ("PT1H", 60)];

/// Curve type of series that leave out repeated prices.
const REPEATING: &str = "A03";

/// Most nodes of a document: ten years of quarter hours have 2.5 million.
const NODES_MAX: u32 = 8_000_000;

/// Most digits of a position.
const POSITION_DIGITS_MAX: usize = 9;

/// Choice among the series of a document, and what it does not say itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntsoeChoice {
    /// Code of the currency. Without it, the document must say.
    pub currency: Option<String>,
    /// True if a position without a point repeats the price before. Without it, the curve type of
    /// each series decides.
    pub repeats_missing: Option<bool>,
    /// Auction, such as `1`, where a document has several.
    pub sequence: Option<String>,
    /// Resolution, `PT15M` or `PT60M`, where a document has the same time twice.
    pub resolution: Option<String>,
    /// Area, where a document has several.
    pub area: Option<String>,
}

/// Reads a document of the platform.
///
/// # Errors
/// The text is no XML, declares a document type, or holds no prices of the choice; a position, time
/// or price makes no sense; several series cover the same time.
///
/// # Example: two quarter hours, of which the second repeats the price of the first
///
/// ```
/// use slackwater_wire::market::entsoe::{EntsoeChoice, read_entsoe};
/// let text = "<Publication_MarketDocument><TimeSeries>
///     <currency_Unit.name>EUR</currency_Unit.name><curveType>A03</curveType>
///     <Period><timeInterval><start>2026-01-05T18:00Z</start><end>2026-01-05T18:30Z</end></timeInterval>
///         <resolution>PT15M</resolution>
///         <Point><position>1</position><price.amount>80</price.amount></Point>
///     </Period></TimeSeries></Publication_MarketDocument>";
/// let read = read_entsoe(text, &EntsoeChoice::default())?;
/// assert_eq!(read.currency, "EUR");
/// assert_eq!(read.prices.curve.prices(), [0.08, 0.08]);
/// # Ok::<(), slackwater_wire::market::reply::ReplyError>(())
/// ```
pub fn read_entsoe(text: &str, choice: &EntsoeChoice) -> Result<PublishedPrices, ReplyError> {
    // No document type, so that no entity is defined that expands; the parser needs no stack for
    // elements within elements.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES_MAX, ..Default::default() };
    let document =
        Document::parse_with_options(text, options).map_err(|error| describe_syntax(&error))?;
    let lines = LineIndex::new(text);
    let root = document.root_element();
    let all = read_series(root, &lines)?;
    let wanted: Vec<&Series<'_, '_>> = all.iter().filter(|series| series.is_in(choice)).collect();
    if wanted.is_empty() {
        let reason = find_value(root, &["Reason", "text"]).filter(|text| !text.is_empty());
        let kinds = describe_kinds(all.iter());
        let found = reason.unwrap_or(if kinds.is_empty() { "no TimeSeries".into() } else { kinds });
        return Err(ReplyError::NoPrices { found });
    }
    let currency = match &choice.currency {
        Some(code) => code.clone(),
        None => find_only("currency", wanted.iter().map(|series| series.currency.as_deref()))?,
    };
    if wanted.iter().any(|series| series.currency.as_ref().is_some_and(|code| *code != currency)) {
        let found = describe_kinds(wanted.iter().copied());
        return Err(ReplyError::OtherCurrency { wanted: currency, found });
    }
    let energies = wanted.iter().map(|series| Some(series.energy.as_str()));
    let energy = match find_only("price_Measure_Unit", energies)?.as_str() {
        "MWH" => "MWh",
        "KWH" => "kWh",
        other => return Err(ReplyError::Energy { given: other.to_owned() }),
    };
    let periods = wanted.iter().map(|series| series.read_period(choice, &lines));
    let periods: Vec<PointPeriod> = periods.collect::<Result<_, _>>()?;
    let unit = PriceUnit::parse(&format!("{currency}/{energy}"), &currency)?;
    let prices = prices_from_periods(&periods, unit).map_err(|error| {
        let kinds = describe_kinds(wanted.iter().copied());
        let hint = if kinds.contains(';') {
            format!(" (choose by sequence=, resolution= or area= among: {kinds})")
        } else {
            String::new()
        };
        ReplyError::Periods { error: Box::new(error), hint }
    })?;
    Ok(PublishedPrices { currency, prices })
}

/// Error of the parser, with its line.
fn describe_syntax(error: &roxmltree::Error) -> ReplyError {
    if matches!(error, roxmltree::Error::DtdDetected) {
        return ReplyError::DocumentType;
    }
    let line = usize::try_from(error.pos().row).unwrap_or(usize::MAX);
    // The message ends with the position, of which the column is of no use in one long line.
    let message = error.to_string();
    let reason = message.rsplit_once(" at ").map_or(message.as_str(), |(reason, _)| reason);
    ReplyError::Syntax { line, reason: reason.to_owned() }
}

/// Starts of the lines of a text: the parser counts lines from the start of the text each time.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Line on which an element starts, counted from 1.
    fn find_line(&self, node: Node<'_, '_>) -> usize {
        let start = node.range().start;
        1 + self.0.partition_point(|&end| end < start)
    }
}

/// A period of a time series, and what the series says of it.
struct Series<'a, 'input> {
    period: Node<'a, 'input>,
    resolution: &'static str,
    step: TimeDelta,
    sequence: Option<String>,
    area: Option<String>,
    currency: Option<String>,
    energy: String,
    repeats_missing: bool,
}

/// All periods of all series of a document.
fn read_series<'a, 'input>(
    root: Node<'a, 'input>,
    lines: &LineIndex,
) -> Result<Vec<Series<'a, 'input>>, ReplyError> {
    const SEQUENCE: &str = "classificationSequence_AttributeInstanceComponent.position";
    let mut found = Vec::new();
    for series in find_children(root, "TimeSeries") {
        let value = |name: &str| find_value(series, &[name]);
        for period in find_children(series, "Period") {
            let given = find_value(period, &["resolution"]);
            let known = RESOLUTIONS.iter().find(|(name, _)| given.as_deref() == Some(name));
            let Some(&(resolution, minutes)) = known else {
                let row = lines.find_line(period);
                return Err(ReplyError::Resolution { row, given: or_none(given) });
            };
            found.push(Series {
                period,
                resolution,
                step: TimeDelta::minutes(minutes),
                sequence: value(SEQUENCE),
                area: value("in_Domain.mRID"),
                currency: value("currency_Unit.name"),
                energy: value("price_Measure_Unit.name")
                    .filter(|unit| !unit.is_empty())
                    .unwrap_or_else(|| "MWH".to_owned()),
                repeats_missing: value("curveType").as_deref() == Some(REPEATING),
            });
        }
    }
    Ok(found)
}

impl Series<'_, '_> {
    fn is_in(&self, choice: &EntsoeChoice) -> bool {
        let is_meant = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| own == Some(wanted))
        };
        is_meant(&choice.sequence, self.sequence.as_deref())
            && is_meant(&choice.resolution, Some(self.resolution))
            && is_meant(&choice.area, self.area.as_deref())
    }

    fn describe(&self) -> String {
        let Self { resolution, sequence, area, currency, .. } = self;
        let [sequence, area, currency] =
            [sequence, area, currency].map(|value| value.as_deref().unwrap_or("None"));
        format!("{resolution}, sequence {sequence}, area {area}, {currency}")
    }

    fn read_period(
        &self,
        choice: &EntsoeChoice,
        lines: &LineIndex,
    ) -> Result<PointPeriod, ReplyError> {
        let row = lines.find_line(self.period);
        let points = find_children(self.period, "Point");
        Ok(PointPeriod {
            row,
            start: read_instant(self.period, "start", row)?,
            end: read_instant(self.period, "end", row)?,
            resolution: self.step,
            repeats_missing: choice.repeats_missing.unwrap_or(self.repeats_missing),
            points: points
                .map(|point| read_point(point, lines.find_line(point)))
                .collect::<Result<_, _>>()?,
        })
    }
}

fn read_instant(period: Node<'_, '_>, name: &str, row: usize) -> Result<DateTime<Utc>, ReplyError> {
    let given = find_value(period, &["timeInterval", name]);
    match given.as_deref().and_then(parse_time) {
        Some(StatedTime::Instant(at)) => Ok(at),
        _ => Err(ReplyError::Field {
            row,
            what: format!("the period's {name}"),
            given: or_none(given),
            fault: "no time in UTC",
        }),
    }
}

fn read_point(point: Node<'_, '_>, row: usize) -> Result<PricePoint, ReplyError> {
    let field = |what: &str, given: String| ReplyError::Field {
        row,
        what: what.to_owned(),
        given,
        fault: "no number",
    };
    let given = find_value(point, &["position"]);
    let is_position = |text: &&str| {
        text.len() <= POSITION_DIGITS_MAX && text.bytes().all(|digit| digit.is_ascii_digit())
    };
    let position = given.as_deref().filter(is_position).and_then(|text| text.parse().ok());
    let position = position.ok_or_else(|| field("the position", or_none(given)))?;
    let price = match find_value(point, &["price.amount"]).filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => {
            let number = parse_decimal(&text);
            Some(number.ok_or_else(|| field("the price", format!("'{text}'")))?)
        }
    };
    Ok(PricePoint { row, position, price })
}

/// The number of a text with a decimal point.
fn parse_decimal(text: &str) -> Option<f64> {
    // Rust also reads `inf` and `nan`.
    let is_decimal = text.bytes().all(|c| c.is_ascii_digit() || b"+-.eE".contains(&c));
    if is_decimal { text.parse().ok() } else { None }
}

/// The children of a name, whatever their namespace is.
fn find_children<'a, 'input>(
    parent: Node<'a, 'input>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    parent.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Text of the first child of the first child of ..., by name; `None` if it is not there.
fn find_value(parent: Node<'_, '_>, path: &[&str]) -> Option<String> {
    let mut node = parent;
    for name in path {
        node = find_children(node, name).next()?;
    }
    let parts = node.children().filter(Node::is_text).filter_map(|part| part.text());
    Some(parts.collect::<String>().trim().to_owned())
}

/// The one value that all have.
fn find_only<'a>(
    what: &'static str,
    values: impl Iterator<Item = Option<&'a str>>,
) -> Result<String, ReplyError> {
    let found: BTreeSet<&str> = values.map(|value| value.unwrap_or("None")).collect();
    match (found.len(), found.first()) {
        (1, Some(&value)) if value != "None" && !value.is_empty() => Ok(value.to_owned()),
        _ => {
            let found = found.into_iter().collect::<Vec<_>>().join(", ");
            Err(ReplyError::NotOne { what, found })
        }
    }
}

/// Kinds of series, each once, for messages.
fn describe_kinds<'a>(series: impl Iterator<Item = &'a Series<'a, 'a>>) -> String {
    let kinds: BTreeSet<String> = series.map(Series::describe).collect();
    kinds.into_iter().collect::<Vec<_>>().join("; ")
}

fn or_none(given: Option<String>) -> String {
    given.unwrap_or_else(|| "None".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// A document as the platform replies with it: a day of Brussels, in quarter hours.
    fn document_of_period(from: &str, to: &str, points: &[(u32, f64)]) -> String {
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Publication_MarketDocument xmlns=\"urn:iec62325.351:tc57wg16:451-3:publicationdocument:7:3\">\n\
             <TimeSeries>\n<mRID>1</mRID>\n<in_Domain.mRID codingScheme=\"A01\">10YBE----------2</in_Domain.mRID>\n\
             <currency_Unit.name>EUR</currency_Unit.name>\n\
             <price_Measure_Unit.name>MWH</price_Measure_Unit.name>\n<curveType>A03</curveType>\n\
             <Period>\n<timeInterval><start>{from}</start><end>{to}</end></timeInterval>\n\
             <resolution>PT15M</resolution>\n"
        );
        for (position, price) in points {
            let _: std::fmt::Result = writeln!(
                text,
                "<Point><position>{position}</position><price.amount>{price}</price.amount></Point>"
            );
        }
        text + "</Period></TimeSeries></Publication_MarketDocument>"
    }

    fn read(text: &str) -> Result<PublishedPrices, ReplyError> {
        read_entsoe(text, &EntsoeChoice::default())
    }

    #[test]
    fn days_of_clock_changes_have_23_and_25_hours() {
        // Clocks of Brussels go forward on 29 March 2026 and back on 25 October 2026.
        for (from, to, hours) in [
            ("2026-03-28T23:00Z", "2026-03-29T22:00Z", 23),
            ("2026-10-24T22:00Z", "2026-10-25T23:00Z", 25),
            ("2026-01-04T23:00Z", "2026-01-05T23:00Z", 24),
        ] {
            let last = hours * 4;
            let read = read(&document_of_period(from, to, &[(1, 10.0), (5, 20.0), (last, -30.0)]))
                .unwrap();
            let prices = read.prices.curve.prices();
            assert_eq!(prices.len(), usize::try_from(last).unwrap());
            assert_eq!((prices[3], prices[4], *prices.last().unwrap()), (0.01, 0.02, -0.03));
            assert!(read.prices.gaps().is_empty());
            assert_eq!(read.prices.notes(chrono_tz::UTC).len(), 1, "the repeated prices");
        }
    }

    #[test]
    fn an_acknowledgement_gives_its_reason() {
        let text = "<Acknowledgement_MarketDocument xmlns=\"urn:example\"><Reason><code>999</code>\
            <text>No matching data found for Data item Day-ahead Prices</text></Reason>\
            </Acknowledgement_MarketDocument>";
        let found = "No matching data found for Data item Day-ahead Prices".to_owned();
        assert_eq!(read(text), Err(ReplyError::NoPrices { found }));
    }

    #[test]
    fn entities_and_document_types_are_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;&b;\">]><a>&c;</a>";
        assert_eq!(read(bomb), Err(ReplyError::DocumentType));
        let unknown = read("<a>\n&b;</a>").unwrap_err();
        assert!(matches!(unknown, ReplyError::Syntax { line: 2, .. }), "{unknown}");
    }

    #[test]
    fn a_million_elements_within_each_other_need_no_stack() {
        let deep = format!("{}{}", "<a>".repeat(1_000_000), "</a>".repeat(1_000_000));
        assert_eq!(read(&deep), Err(ReplyError::NoPrices { found: "no TimeSeries".to_owned() }));
        let open = "<a>".repeat(1_000_000);
        assert!(matches!(read(&open), Err(ReplyError::Syntax { .. })));
    }

    #[test]
    fn a_period_that_stands_twice_is_refused_with_the_choices() {
        let text = document_of_period("2026-01-04T23:00Z", "2026-01-05T23:00Z", &[(1, 10.0)]);
        let series = &text[text.find("<TimeSeries>").unwrap()..text.rfind("</Pub").unwrap()];
        let second = series.replace("<mRID>1</mRID>", "<mRID>2</mRID>");
        let twice = text.replace("</Publication", &format!("{second}</Publication"));
        let error = read(&twice).unwrap_err();
        assert!(error.to_string().contains("does not come after"), "{error}");
        let other = twice.replacen("10YBE----------2", "10YFR-RTE------C", 1);
        let error = read(&other).unwrap_err().to_string();
        assert!(error.contains("choose by sequence=, resolution= or area= among: "), "{error}");
        let area = Some("10YFR-RTE------C".to_owned());
        let chosen = read_entsoe(&other, &EntsoeChoice { area, ..EntsoeChoice::default() });
        assert_eq!(chosen.unwrap().prices.curve.len(), 96);
    }

    #[test]
    fn errors_name_row_field_and_value() {
        let text = document_of_period("2026-01-05T18:00Z", "2026-01-05T19:00Z", &[(1, 10.0)]);
        for (from, to, expected) in [
            (">1</position>", ">-1</position>", "day, row 12: the position is -1, no number"),
            (">10</price", ">inf</price", "day, row 12: the price is 'inf', no number"),
            (
                "<start>2026-01-05T18:00Z</start>",
                "",
                "day, row 9: the period's start is None, no time in UTC",
            ),
            ("EUR", "", "day: the document does not have one currency, but "),
            ("MWH", "GWH", "day: prices are per GWH, neither MWH nor KWH"),
            ("PT15M", "P1D", "day, row 9: the resolution P1D is none of PT15M, PT30M, PT60M, PT1H"),
        ] {
            let error = read(&text.replace(from, to)).unwrap_err();
            assert_eq!(error.message_in("day"), expected);
        }
    }
}

//! Requests of a price feed, and its replies as prices; pure functions.
//!
//! The day-ahead auction of a day is published on the day before. So a feed asks for today, which is
//! there, and for tomorrow, which may be. Days of the European markets run from midnight to midnight
//! of Brussels.
use std::fmt::Write;
use std::path::PathBuf;

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use form_urlencoded::Serializer;
use sha2::{Digest, Sha256};
use slackwater_engine::import::finding::ImportedPrices;
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::time::civil::{instant_of, local_of};
use slackwater_wire::market::entsoe::{EntsoeChoice, read_entsoe};
use slackwater_wire::market::nordpool::{NordpoolChoice, read_nordpool};
use slackwater_wire::market::reply::ReplyError;

use crate::config::feeds::{DATE, FeedFormat, FeedSettings};
use crate::prices::list::{self, ListError, ListOptions};

/// Address of the transparency platform of ENTSO-E.
const ENTSOE: &str = "https://web-api.tp.entsoe.eu/api";

/// Address of the data portal of Nord Pool.
const NORDPOOL: &str = "https://dataportal-api.nordpoolgroup.com/api/DayAheadPrices";

/// Time zone of the days of the European day-ahead markets.
const MARKET_DAYS: Tz = chrono_tz::Europe::Brussels;

/// Place of a list of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// An address, without the token.
    Url(String),
}

/// A request of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedRequest {
    /// Hash of all that decides what becomes of the reply. Validators are of use for the same
    /// request only; the hash hides an address that holds a secret.
    pub(crate) key: String,
    /// Place of the reply.
    pub(crate) source: Source,
    /// The prices may not be published yet.
    pub(crate) may_be_missing: bool,
}

/// Reason why a reply is not kept.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ReadError {
    /// A list.
    #[error("{0}")]
    List(Box<ListError>),
    /// A reply of a publisher.
    #[error("{0}")]
    Reply(#[from] ReplyError),
}

/// Requests for the prices of today and tomorrow.
pub(crate) fn plan_requests(
    feed: &FeedSettings,
    currency: Currency,
    now: DateTime<Utc>,
) -> Vec<FeedRequest> {
    let time_zone = match feed.format {
        FeedFormat::List => feed.time_zone.unwrap_or(Tz::UTC),
        FeedFormat::Entsoe | FeedFormat::Nordpool => MARKET_DAYS,
    };
    let today = local_of(now, time_zone).date();
    let tomorrow = add_days(today, 1);
    let request = |source: Source, may_be_missing| {
        let key = hash_request(feed, currency, &source);
        FeedRequest { key, source, may_be_missing }
    };
    if let Some(file) = &feed.file {
        return vec![request(Source::File(file.clone()), false)];
    }
    let given = feed.url.as_deref();
    match feed.format {
        FeedFormat::List => {
            let url = given.unwrap_or_default();
            let on = |day: NaiveDate| Source::Url(url.replace(DATE, &day.to_string()));
            let mut requests = vec![request(on(today), false)];
            if url.contains(DATE) {
                requests.push(request(on(tomorrow), true));
            }
            requests
        }
        FeedFormat::Entsoe => {
            let domain = feed.domain.as_deref().unwrap_or_default();
            let midnight = |day: NaiveDate| {
                let at = instant_of(day.and_time(NaiveTime::MIN), time_zone);
                at.format("%Y%m%d%H%M").to_string()
            };
            let url = add_query(
                given.unwrap_or(ENTSOE),
                &[
                    ("documentType", "A44"),
                    ("contract_MarketAgreement.type", "A01"),
                    ("in_Domain", domain),
                    ("out_Domain", domain),
                    ("periodStart", &midnight(today)),
                    ("periodEnd", &midnight(add_days(today, 2))),
                ],
            );
            vec![request(Source::Url(url), false)]
        }
        FeedFormat::Nordpool => {
            let on = |day: NaiveDate| {
                let pairs = [
                    ("date", &*day.to_string()),
                    ("market", "DayAhead"),
                    ("deliveryArea", feed.delivery_area.as_deref().unwrap_or_default()),
                    ("currency", currency.code()),
                ];
                Source::Url(add_query(given.unwrap_or(NORDPOOL), &pairs))
            };
            vec![request(on(today), false), request(on(tomorrow), true)]
        }
    }
}

/// Prices of a reply, in the currency of the zone.
///
/// # Errors
/// The text has another form or currency, or holds no prices.
pub(crate) fn read_reply(
    text: &str,
    feed: &FeedSettings,
    currency: Currency,
) -> Result<ImportedPrices, ReadError> {
    let code = Some(currency.code().to_owned());
    match feed.format {
        FeedFormat::List => {
            let options =
                ListOptions { currency, unit: feed.unit.clone(), time_zone: feed.time_zone };
            list::read(text, &options).map_err(|error| ReadError::List(Box::new(error)))
        }
        FeedFormat::Entsoe => {
            let choice = EntsoeChoice {
                currency: code,
                sequence: feed.sequence.clone(),
                resolution: feed.resolution.clone(),
                ..EntsoeChoice::default()
            };
            Ok(read_entsoe(text, &choice)?.prices)
        }
        FeedFormat::Nordpool => {
            let area = feed.delivery_area.clone();
            let choice = NordpoolChoice { currency: code, unit: None, area };
            Ok(read_nordpool(text, &choice)?.prices)
        }
    }
}

/// Reason that ENTSO-E gives with a status that is no success; `None` if there is none.
pub(crate) fn read_refusal(text: &str) -> Option<String> {
    match read_entsoe(text, &EntsoeChoice::default()) {
        Err(ReplyError::NoPrices { found }) => Some(found),
        _ => None,
    }
}

/// An address with further parameters.
pub(crate) fn add_query(url: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(pairs);
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{}", query.finish())
}

/// The last day of the calendar has none after it.
fn add_days(day: NaiveDate, count: u64) -> NaiveDate {
    day.checked_add_days(Days::new(count)).unwrap_or(day)
}

fn hash_request(feed: &FeedSettings, currency: Currency, source: &Source) -> String {
    let FeedSettings { format, unit, time_zone, sequence, resolution, delivery_area, .. } = feed;
    let all = (format, unit, time_zone, sequence, resolution, delivery_area);
    hash_text(&format!("{all:?} {} {source:?}", currency.code()))
}

/// SHA-256 of a text in hexadecimal digits.
pub(crate) fn hash_text(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut digits, byte| {
        // Writing to a text cannot fail.
        let _: std::fmt::Result = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(feed: &FeedSettings, now: &str) -> Vec<(String, bool)> {
        let currency = Currency::parse("EUR").unwrap();
        let requests = plan_requests(feed, currency, now.parse().unwrap());
        let url = |request: FeedRequest| match request.source {
            Source::Url(url) => (url, request.may_be_missing),
            Source::File(file) => (file.display().to_string(), request.may_be_missing),
        };
        requests.into_iter().map(url).collect()
    }

    #[test]
    fn entsoe_is_asked_for_two_market_days_once() {
        let domain = Some("10Y1001A1001A82H".to_owned());
        let feed = FeedSettings { domain, ..FeedSettings::new(FeedFormat::Entsoe) };
        let url = |start, end| {
            format!(
                "{ENTSOE}?documentType=A44&contract_MarketAgreement.type=A01\
                 &in_Domain=10Y1001A1001A82H&out_Domain=10Y1001A1001A82H\
                 &periodStart={start}&periodEnd={end}"
            )
        };
        // Half past eleven in the evening of UTC is the next day in Brussels.
        let evening = urls(&feed, "2026-01-05T23:30:00Z");
        assert_eq!(evening, [(url("202601052300", "202601072300"), false)]);
        // Clocks go forward on 29 March and back on 25 October: 47 and 49 hours.
        let spring = urls(&feed, "2026-03-28T12:00:00Z");
        assert_eq!(spring, [(url("202603272300", "202603292200"), false)]);
        let autumn = urls(&feed, "2026-10-25T12:00:00Z");
        assert_eq!(autumn, [(url("202610242200", "202610262300"), false)]);
    }

    #[test]
    fn nord_pool_and_lists_are_asked_for_each_day() {
        let area = Some("SE3".to_owned());
        let feed = FeedSettings { delivery_area: area, ..FeedSettings::new(FeedFormat::Nordpool) };
        let url =
            |day| format!("{NORDPOOL}?date={day}&market=DayAhead&deliveryArea=SE3&currency=EUR");
        let evening = urls(&feed, "2026-01-05T23:30:00Z");
        assert_eq!(evening, [(url("2026-01-06"), false), (url("2026-01-07"), true)]);
        let url = Some("https://example.org/{date}.csv".to_owned());
        let list = FeedSettings { url, ..FeedSettings::new(FeedFormat::List) };
        let own = |day: &str| format!("https://example.org/{day}.csv");
        let evening = urls(&list, "2026-01-05T23:30:00Z");
        assert_eq!(evening, [(own("2026-01-05"), false), (own("2026-01-06"), true)]);
        let url = "https://example.org/all.csv?a=b".to_owned();
        let all = FeedSettings { url: Some(url.clone()), ..FeedSettings::new(FeedFormat::List) };
        assert_eq!(urls(&all, "2026-01-05T23:30:00Z"), [(url, false)]);
        let file = FeedSettings { file: Some("a.xml".into()), ..feed };
        assert_eq!(urls(&file, "2026-01-05T23:30:00Z"), [("a.xml".to_owned(), false)]);
    }

    #[test]
    fn another_currency_or_choice_is_another_request() {
        let url = Some("https://example.org/?token=secret".to_owned());
        let feed = FeedSettings { url, ..FeedSettings::new(FeedFormat::Entsoe) };
        let now = "2026-01-05T12:00:00Z".parse().unwrap();
        let key = |feed: &FeedSettings, currency: &str| {
            plan_requests(feed, Currency::parse(currency).unwrap(), now)[0].key.clone()
        };
        let other = FeedSettings { sequence: Some("1".to_owned()), ..feed.clone() };
        let keys = [key(&feed, "EUR"), key(&feed, "NOK"), key(&other, "EUR")];
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
        assert!(keys.iter().all(|key| key.len() == 64 && !key.contains("secret")));
        assert_eq!(key(&feed, "EUR"), keys[0]);
    }
}

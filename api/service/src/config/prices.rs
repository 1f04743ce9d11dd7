//! Market zones, and names that statistics requests are given.
use std::path::PathBuf;

use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_engine::prices::currency::Currency;
use slackwater_engine::prices::signal::Zone;
use slackwater_engine::units::{Power, kw};

use crate::config::feeds::FeedSettings;

/// A market zone (NS-35). A client's own zone of that name counts before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneSettings {
    /// The currency of its prices.
    #[schemars(with = "String", example = &"NOK")]
    pub currency: Currency,
    /// True if price signals are taken for it.
    #[serde(default = "yes")]
    pub is_activated: bool,
    /// A list of its market prices, read at each start (NS-38).
    #[serde(default)]
    pub prices: Option<PriceFile>,
    /// A source of its market prices that the service asks again and again.
    #[serde(default)]
    pub feed: Option<FeedSettings>,
}

/// A price list in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceFile {
    /// The file.
    #[schemars(example = &"day-ahead.csv")]
    pub file: PathBuf,
    /// Unit of its numbers, such as `EUR/MWh`, if its header does not say so.
    #[serde(default)]
    #[schemars(example = &"EUR/MWh")]
    pub unit: Option<String>,
    /// Time zone of its times, where they name no offset.
    #[serde(default)]
    #[schemars(with = "Option<String>", example = &"Europe/Oslo")]
    pub time_zone: Option<Tz>,
}

impl ZoneSettings {
    /// The zone as the engine takes it.
    #[must_use]
    pub const fn zone(&self) -> Zone {
        Zone { is_activated: self.is_activated, currency: self.currency }
    }
}

/// Settings of statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatisticsSettings {
    /// Names of parameters that the specification withholds (NS-13).
    pub query: StatisticsQuery,
    /// Power above which a counter is taken to be at fault; its energy is not recorded.
    #[serde(rename = "power_max_kw")]
    #[schemars(with = "f64")]
    pub power_max: Power,
}

/// Names of parameters of statistics. One without a name is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatisticsQuery {
    /// The earliest date. Without a name all of four years is shown.
    #[schemars(example = &"startDate")]
    pub start: Option<String>,
    /// The one device that is asked for.
    #[schemars(example = &"entityId")]
    pub entity: Option<String>,
    /// The one location that is asked for.
    #[schemars(example = &"locationId")]
    pub location: Option<String>,
    /// The length of the buckets (AMB-65).
    pub resolution: String,
}

impl Default for StatisticsSettings {
    /// A megawatt: more than any vehicle or home takes.
    fn default() -> Self {
        Self { query: StatisticsQuery::default(), power_max: kw(1000.0) }
    }
}

impl Default for StatisticsQuery {
    fn default() -> Self {
        Self { start: None, entity: None, location: None, resolution: "resolution".to_owned() }
    }
}

fn yes() -> bool {
    true
}

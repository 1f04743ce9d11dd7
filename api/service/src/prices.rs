//! Changes of prices: markets, tariffs and price signals.
//!
//! Prices are written to the store first, and read from memory (`cache::price_lookup`). The engine
//! decides which of several prices counts.
//!
//! | File | Holds |
//! |---|---|
//! | [`feeds`] | feeds that are fetched again and again |
//! | `fetch` | one request of a feed |
//! | [`keep`] | every way in which prices change |
//! | [`list`] | price lists in files |
//! | [`replicas`] | prices that another replica wrote |
//! | `requests` | addresses that a feed asks, and its replies as prices |

pub mod feeds;
mod fetch;
pub mod keep;
pub mod list;
pub mod replicas;
mod requests;

use crate::state::App;

/// Called after prices were kept. That plans follow was asked for in the same
/// change; this says that they need not wait.
pub fn changed(app: &App) {
    metrics::counter!("slackwater_price_changes_total").increment(1);
    app.planner().areas.notify_one();
}

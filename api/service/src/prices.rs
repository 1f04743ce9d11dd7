//! What a kWh costs: markets, tariffs and price signals, kept and looked up.
//!
//! Which of several prices counts is decided by the engine; here they are
//! found. Prices are read from memory and written to the store first.
//!
//! | File | Does |
//! |---|---|
//! | [`keep`] | every way in which prices change |
//! | [`list`] | price lists in files |
//! | [`replicas`] | prices that another replica has taken |

pub mod keep;
pub mod list;
pub mod replicas;

use crate::state::App;

/// Called after prices were kept. That plans follow was asked for in the same
/// change; this says that they need not wait.
pub fn changed(app: &App) {
    metrics::counter!("slackwater_price_changes_total").increment(1);
    app.planner().areas.notify_one();
}

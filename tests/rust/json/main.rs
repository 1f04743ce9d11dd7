//! Golden JSON of plans and policies as they are stored.
//!
//! A line of a golden file is one example of a type with all its fields filled. Stored data and
//! other machines depend on these bytes: a renamed field needs an alias, and a line that changes
//! on purpose is written anew with `UPDATE_EXPECT=1`.
#[path = "../examples.rs"]
mod examples;
mod plan;
mod policy;

use chrono::{DateTime, TimeDelta, Utc};

/// An instant so many minutes after six in the evening.
fn at(minutes: i64) -> DateTime<Utc> {
    let six: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().expect("six is an instant");
    six + TimeDelta::minutes(minutes)
}

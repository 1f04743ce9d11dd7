//! A fleet as columns: one independent plan a row, on all cores.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::batch::plan_batch;
use slackwater_engine::columns::{Curves, Fleet, NO_TIME, Needs};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;

fn main() -> Result<(), Box<dyn Error>> {
    let start =
        "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let slots = Horizon::steps(start, TimeDelta::minutes(15), 96)?;
    let prices = (0..96).map(|slot| 0.2 + 0.1 * (f64::from(slot) / 15.0).sin()).collect();
    let curve = PriceCurve::from_parts(slots, prices)?;

    // Microseconds since 1970; the third vehicle has no departure, which is an error of its row.
    let at = |hour: i64| (start + TimeDelta::hours(hour)).timestamp_micros();
    let fleet = Fleet {
        arrival: &[at(0), at(8), at(17)],
        departure: &[at(7), at(16), NO_TIME],
        needs: Needs::Energy { energy_kwh: &[18.0, 60.0, 9.0] },
        power_max_kw: &[11.0, 3.7, 11.0],
        reserve_kwh: None,
        targets: None,
        curve: None,
    };

    for run in plan_batch(&fleet, Curves::Shared(&curve)) {
        for (row, cost) in run.numbers.cost.iter().enumerate() {
            match run.errors.iter().find(|(position, _)| *position == row) {
                Some((_, error)) => println!("row {row}: {error}"),
                None => println!(
                    "row {row}: cost {cost:.2}, short of {:.1} kWh",
                    run.numbers.shortfall_kwh[row]
                ),
            }
        }
    }
    Ok(())
}

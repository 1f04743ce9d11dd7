//! A thousand homes for a month: planned anew every quarter of an hour, settled by the minute.
//!
//! Each day's prices are published at 13:00 of the day before, in quarter-hours. A vehicle is at
//! its plug for 14 hours a night and needs a third of what it could charge in that time.
use std::io::Write as _;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::simulate::{
    ChargeDevice, Facts, ForecastBook, SimulationOptions, Stay, StayOutcome, publish_day_ahead,
    simulate_replanner,
};
use slackwater_engine::statistics::fixed::Amount;
use slackwater_engine::units::{kw, kwh, per_kwh};

const HOMES: u32 = 1_000;
const DAYS: i64 = 31;

/// A number from 0 to 1 from two others.
fn chance(one: i64, other: i64) -> f64 {
    let hash = (one * 7_919 + other + 1).wrapping_mul(0x5851_F42D_4C95_7F2D);
    ((hash >> 33) & 0xFFFF) as f64 / 65_536.0
}

fn settled(start: DateTime<Utc>) -> Result<PriceCurve, Box<dyn std::error::Error>> {
    let slot = |quarter: i64| {
        let hour = quarter as f64 / 4.0 % 24.0;
        let shape = 0.06 * ((hour - 19.0) / 24.0 * std::f64::consts::TAU).cos();
        let price =
            0.15 + shape + 0.08 * (chance(quarter / 96, 3) - 0.5) + 0.02 * chance(quarter, 5);
        let at = |quarter: i64| start + TimeDelta::minutes(15 * quarter);
        Slot { start: at(quarter), end: at(quarter + 1), price: per_kwh(price) }
    };
    Ok(PriceCurve::new(&(0..96 * (DAYS + 1)).map(slot).collect::<Vec<_>>())?)
}

fn stay(start: DateTime<Utc>, home: u32, day: i64) -> Stay {
    let seed = i64::from(home) * 1_000 + day;
    let arrival = start + TimeDelta::minutes(1_440 * day + 960 + (chance(seed, 1) * 240.0) as i64);
    let power = [3.7, 7.4, 11.0][home as usize % 3];
    Stay {
        home,
        arrival,
        departure: arrival + TimeDelta::minutes(720 + (chance(seed, 2) * 240.0) as i64),
        need: kwh(power * (2.0 + 5.0 * chance(seed, 4))),
        device: ChargeDevice::ideal(kw(power)),
    }
}

/// Settled prices and stays of the month, and when the prices were published.
///
/// # Errors
///
/// A date or a price does not exist, which is a fault of this example.
pub fn month() -> Result<(Facts, ForecastBook), Box<dyn std::error::Error>> {
    let start = DateTime::from_timestamp(1_767_225_600, 0).ok_or("2026 begins in the calendar")?;
    let prices = settled(start)?;
    let one_pm = NaiveTime::from_hms_opt(13, 0, 0).ok_or("13:00 is a time of day")?;
    let book = ForecastBook::new(publish_day_ahead(&prices, one_pm, chrono_tz::Europe::Berlin));
    let stays = (0..HOMES).flat_map(|home| (0..DAYS).map(move |day| stay(start, home, day)));
    Ok((Facts::new(prices, stays.collect(), None)?, book))
}

/// Simulates the month, with a row for each decision and the regret in parts.
///
/// # Errors
///
/// A stay cannot be simulated.
pub fn run(facts: &Facts, book: &ForecastBook) -> Result<Vec<StayOutcome>, String> {
    let options = SimulationOptions { keeps_steps: true, ..SimulationOptions::default() };
    simulate_replanner(facts, book, None, &options, &mut |_| true)
        .map_err(|stopped| format!("{stopped:?}"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (facts, book) = month()?;
    let outcomes = run(&facts, &book)?;
    let decisions: u64 = outcomes.iter().map(|outcome| u64::from(outcome.decisions)).sum();
    let sum = |of: fn(&StayOutcome) -> Amount| outcomes.iter().map(of).sum::<Amount>().as_units();
    writeln!(
        std::io::stdout(),
        "{} stays of {HOMES} homes, {decisions} decisions: cost {:.2}, hindsight {:.2}, without \
         planning {:.2}",
        outcomes.len(),
        sum(|outcome| outcome.cost),
        sum(|outcome| outcome.hindsight_cost),
        sum(|outcome| outcome.baseline_cost),
    )?;
    Ok(())
}

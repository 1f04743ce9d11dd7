//! A battery that buys cheap hours and sells dear ones, with losses.
use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::charge::Battery;
use slackwater_engine::plan::storage::{StorageProblem, StorageRequest, plan_storage};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, per_kwh, percent};

fn main() -> Result<(), Box<dyn Error>> {
    let midnight: DateTime<Utc> =
        "2026-01-05T00:00:00Z".parse().map_err(|error| error.to_string())?;
    let hours = Horizon::steps(midnight, TimeDelta::hours(4), 6)?;
    let import = PriceCurve::from_parts(hours.clone(), vec![0.10, 0.28, 0.22, 0.18, 0.41, 0.15])?;
    let export = PriceCurve::from_parts(hours, vec![0.06, 0.22, 0.17, 0.13, 0.35, 0.10])?;

    let battery = Battery {
        capacity: kwh(10.0),
        soc: Some(percent(20.0)),
        soc_fallback: None,
        charge_limit: percent(100.0),
        efficiency: 0.95,
    };
    let mut request = StorageRequest::new(midnight, battery, kw(5.0));
    request.efficiency_discharge = 0.95;
    request.wear_price = per_kwh(0.02);
    let plan = plan_storage(&import, Some(&export), &StorageProblem::new(request)?);

    for interval in &plan.intervals {
        println!("{} to {}: {:+.1} kW", interval.start, interval.end, interval.power.as_kw());
    }
    println!("cost {:.2}, bound {:.2}", plan.cost.as_amount(), plan.certificate.bound.as_amount());
    Ok(())
}

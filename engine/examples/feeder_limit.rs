//! Three vehicles on one feeder: shadow prices, the bound, and the plans within the limit.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::area::{AreaOptions, AreaProblem, AreaVehicles, Node, Profile, plan_area};
use slackwater_engine::columns::{Curves, Fleet, Needs};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::kw;

fn main() -> Result<(), Box<dyn Error>> {
    let start =
        "2026-01-05T20:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let hours = Horizon::steps(start, TimeDelta::hours(1), 8)?;
    let prices = vec![0.30, 0.26, 0.20, 0.12, 0.10, 0.11, 0.16, 0.25];
    let curve = PriceCurve::from_parts(hours, prices)?;

    let at = |hour: i64| (start + TimeDelta::hours(hour)).timestamp_micros();
    let fleet = Fleet {
        arrival: &[at(0), at(0), at(1)],
        departure: &[at(8), at(7), at(8)],
        needs: Needs::Energy { energy_kwh: &[20.0, 15.0, 25.0] },
        power_max_kw: &[11.0, 11.0, 11.0],
        reserve_kwh: None,
        targets: None,
        curve: None,
    };
    let vehicles =
        AreaVehicles { fleet, node: None, priority: None, power_min_kw: None, storage: None };
    let feeder = Node::limited("feeder", Profile::Constant(kw(15.0)));
    let problem = AreaProblem::new(vehicles, Curves::Shared(&curve), vec![feeder])?;

    let plan = plan_area(&problem, &AreaOptions::default());

    println!("cost {:.3}, bound {:.3}, unmet {:.1} kWh", plan.cost, plan.bound, plan.unmet_kwh);
    println!("load in kW: {:.1?}", plan.load_kw);
    println!("price added by the limit: {:.3?}", plan.nodes[0].added_per_kwh);
    plan.rows(&problem, usize::MAX, &mut |rows| {
        println!("cost by vehicle: {:.3?}", rows.numbers.cost);
    })?;
    Ok(())
}

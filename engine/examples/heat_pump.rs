//! A heat pump that runs at 2 to 4 kW or not at all, at least two hours at a time, and for which
//! each start has a cost.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, money};
use slackwater_engine::{SwitchingProblem, SwitchingRequest, Target, plan_switching};

fn main() -> Result<(), Box<dyn Error>> {
    let midnight =
        "2026-01-05T00:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let prices = vec![0.12, 0.31, 0.11, 0.14, 0.30, 0.29, 0.13, 0.15];
    let curve = PriceCurve::from_parts(Horizon::steps(midnight, TimeDelta::hours(1), 8)?, prices)?;

    let mut request =
        SwitchingRequest::new(midnight, kw(4.0), Target { by: None, energy: kwh(14.0) });
    request.power_min = kw(2.0);
    request.on_min = TimeDelta::hours(2);
    request.start_cost = money(0.10);
    let plan = plan_switching(&SwitchingProblem::new(request, &curve)?);

    for interval in &plan.intervals {
        println!("{} to {}: {:.1} kW", interval.start, interval.end, interval.power.as_kw());
    }
    println!(
        "cost {:.2}, of which starts {:.2}",
        plan.cost.as_amount(),
        plan.start_costs.as_amount()
    );
    println!("without limits on switching {:.2}", plan.free_plan.cost.as_amount());
    Ok(())
}

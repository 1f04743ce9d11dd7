//! One vehicle, one evening: the cheapest plan, its proof and its reasons.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target, explain, plan_charge};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh};

fn main() -> Result<(), Box<dyn Error>> {
    let evening =
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let hours = Horizon::steps(evening, TimeDelta::hours(1), 12)?;
    let prices = [0.34, 0.31, 0.29, 0.25, 0.22, 0.19, 0.12, 0.11, 0.11, 0.14, 0.21, 0.30];
    let curve = PriceCurve::from_parts(hours, prices.to_vec())?;

    // 20 kWh at the plug by six in the morning, at most 11 kW.
    let by = evening + TimeDelta::hours(11);
    let request = ChargeRequest::new(evening, kw(11.0), Target { by: Some(by), energy: kwh(20.0) });
    let plan = plan_charge(&curve, &ChargeProblem::new(request)?);

    println!("cost {:.2}, savings {:.2}", plan.cost.as_amount(), plan.savings().as_amount());
    println!("proved optimal: {}", plan.certificate.is_proved());
    for reason in explain(&plan) {
        println!("{}", reason.sentence(Tz::Europe__Oslo, "EUR"));
    }
    Ok(())
}

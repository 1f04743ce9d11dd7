//! A weekly schedule of a user, "60 % by seven on weekdays", becomes a plan for tonight.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::collections::BTreeMap;
use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use slackwater_control::policy::ask::{DeviceFacts, DevicePolicy};
use slackwater_control::policy::assumptions::Assumptions;
use slackwater_control::policy::flex::{DayRequest, FlexPolicy, FlexRequest, ReserveRule};
use slackwater_engine::plan::charge::plan_charge;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{kw, kwh, percent};

fn main() -> Result<(), Box<dyn Error>> {
    let day = DayRequest { deadline: Some("07:00".into()), target_percent: Some(60.0) };
    let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday"];
    let request = FlexRequest {
        reserve_percent: 20.0,
        schedule: weekdays
            .map(|name| (name.to_owned(), day.clone()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        observed_limit_percent: 80.0,
    };
    let policy = DevicePolicy::Flex {
        policy: FlexPolicy::new(&request, ReserveRule::Range)?,
        location: "home".into(),
    };

    // Plugged in at home on a Monday evening, 30 % of 60 kWh.
    let facts = DeviceFacts {
        is_reachable: Some(true),
        is_plugged_in: Some(true),
        soc: Some(percent(30.0)),
        charge_limit: Some(percent(80.0)),
        capacity: Some(kwh(60.0)),
        power_max: Some(kw(11.0)),
        location: Some("home".into()),
        ..DeviceFacts::default()
    };
    let now = "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let zone = Tz::Europe__Oslo;
    let slots = Horizon::steps(now, TimeDelta::hours(1), 24)?;
    let prices = (0..24).map(|hour| if (5..11).contains(&hour) { 0.12 } else { 0.30 }).collect();
    let curve = PriceCurve::from_parts(slots, prices)?;

    let cycle = policy.cycle((None, &[]), &facts, zone, now, true);
    match policy.plan_request(&facts, cycle.as_ref(), zone, now, &curve, &Assumptions::default()) {
        Ok(request) => {
            let plan = plan_charge(&curve, &request.problem()?);
            for interval in &plan.intervals {
                println!(
                    "{} to {}: {:.1} kW",
                    interval.start,
                    interval.end,
                    interval.power.as_kw()
                );
            }
            println!("cost {:.2}", plan.cost.as_amount());
        }
        Err(reason) => println!("no plan: {}", reason.as_str()),
    }
    Ok(())
}

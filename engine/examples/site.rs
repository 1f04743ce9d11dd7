//! A home behind one meter: solar power, a load, a vehicle and a limit on the import.
#![expect(clippy::disallowed_macros, reason = "an example prints its results")]

use std::error::Error;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::site::{
    Device, Limit, Load, Phase, Series, SiteProblem, SiteRequest, Solar, Vehicle, plan_site,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Power, kw, kwh};

fn per_hour(powers_kw: [f64; 6]) -> Series {
    Series::PerSlot(powers_kw.map(kw).to_vec())
}

fn main() -> Result<(), Box<dyn Error>> {
    let noon =
        "2026-06-01T10:00:00Z".parse::<DateTime<Utc>>().map_err(|error| error.to_string())?;
    let hours = Horizon::steps(noon, TimeDelta::hours(1), 6)?;
    let import = PriceCurve::from_parts(hours.clone(), vec![0.20, 0.18, 0.15, 0.17, 0.24, 0.30])?;
    let export = PriceCurve::from_parts(hours, vec![0.05; 6])?;

    let mut request = SiteRequest::new(import, noon);
    request.export_prices = Some(export);
    request.import_limit = Some(Limit { power: Series::Constant(kw(8.0)), breach_price: None });
    request.devices.push(Device::Solar(Solar {
        name: "roof".into(),
        group: None,
        phases: Phase::ALL.to_vec(),
        forecast: per_hour([3.0, 4.5, 5.0, 4.0, 2.0, 0.5]),
        is_curtailable: true,
    }));
    request.devices.push(Device::Load(Load {
        name: "house".into(),
        group: None,
        phases: Phase::ALL.to_vec(),
        forecast: per_hour([1.0, 1.0, 2.5, 1.0, 1.0, 3.0]),
    }));
    let mut van = Vehicle::new("van", kw(11.0));
    van.targets.push(Target { by: None, energy: kwh(25.0) });
    request.devices.push(Device::Vehicle(van));

    let plan = plan_site(&SiteProblem::new(request)?);
    for device in &plan.devices {
        let powers: Vec<String> =
            device.power.iter().map(|power: &Power| format!("{:5.1}", power.as_kw())).collect();
        println!("{:>6} kW {}", device.name, powers.join(" "));
    }
    println!(
        "cost {:.2}, without a plan {:.2}",
        plan.cost.as_amount(),
        plan.baseline.cost.as_amount()
    );
    Ok(())
}

//! An area in which each vehicle has prices of its own: `area_own VEHICLES` prints a line of JSON.
//!
//! A process of its own, so that its peak memory is its own.
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use slackwater_benches::{Columns, table};
use slackwater_engine::area::coordinate::{AreaOptions, plan_area};
use slackwater_engine::area::fleet::Curves;
use slackwater_engine::area::limits::{Node, Profile};
use slackwater_engine::area::outcome::AreaPlan;
use slackwater_engine::area::problem::{AreaError, AreaProblem, AreaVehicles};
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::units::Power;

const SLOTS: usize = 96;
/// Of the peak of a fleet that nobody manages.
const SHARE: f64 = 0.35;
/// Enough to leave every vehicle to itself.
const UNLIMITED_KW: f64 = 9e6;
const RUN_ROWS: usize = 65_536;

fn area<'a>(
    columns: &'a Columns,
    prices: &'a PriceTable,
    limit_kw: f64,
) -> Result<AreaProblem<'a>, AreaError> {
    let fleet = columns.fleet();
    let vehicles =
        AreaVehicles { fleet, node: None, priority: None, power_min_kw: None, storage: None };
    let limit = Profile::Constant(Power::from_kw(limit_kw).expect("a finite limit"));
    AreaProblem::new(vehicles, Curves::PerVehicle(prices), vec![Node::limited("area", limit)])
}

/// Plans the area and goes through the plan of every vehicle.
fn planned(problem: &AreaProblem<'_>) -> AreaPlan {
    let plan = plan_area(problem, &AreaOptions::default(), &mut |_| false);
    plan.rows(problem, RUN_ROWS, &mut |run| {
        black_box(run);
    });
    plan
}

/// An amount of memory out of `/proc/self/status`, in bytes.
fn status_bytes(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    let kilobytes: u64 = line.trim_matches([':', '\t', ' ']).trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

fn main() -> Result<(), Box<dyn Error>> {
    let vehicles: usize = std::env::args().nth(1).ok_or("usage: area_own VEHICLES")?.parse()?;
    let columns = Columns::new(vehicles);
    let prices = table(vehicles, SLOTS);
    let free =
        plan_area(&area(&columns, &prices, UNLIMITED_KW)?, &AreaOptions::default(), &mut |_| false);
    let peak = free.unmanaged.load_kw.iter().copied().fold(0.0, f64::max);
    drop(free);
    let limit_kw = SHARE * peak;
    let began = Instant::now();
    let plan = planned(&area(&columns, &prices, limit_kw)?);
    let seconds = began.elapsed();
    let binding = plan.load_kw.iter().filter(|&&kw| kw >= 0.999 * limit_kw).count();
    println!(
        "{{\"seconds\": {}, \"peak_bytes\": {}, \"gap\": {:e}, \
         \"rounds\": {}, \"cost\": {}, \"bound\": {}, \"binding\": [{binding}]}}",
        seconds.as_secs_f64(),
        status_bytes("VmHWM")?,
        plan.gap,
        plan.rounds,
        plan.cost,
        plan.bound,
    );
    Ok(())
}

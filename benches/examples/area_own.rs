//! An area in which each vehicle has prices of its own: `area_own VEHICLES` prints a line of JSON.
//!
//! A process of its own, so that its peak memory is its own.
use std::error::Error;
use std::fs;
use std::time::Instant;

use slackwater_benches::area::{SLOTS, area, binding_limit_kw, planned};
use slackwater_benches::{Columns, table};
use slackwater_engine::columns::Curves;

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
    let curves = Curves::PerVehicle(&prices);
    let limit_kw = binding_limit_kw(&columns, curves);
    let began = Instant::now();
    let plan = planned(&area(&columns, curves, limit_kw));
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

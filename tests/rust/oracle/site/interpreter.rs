//! What a plan does, read from its powers alone, and every rule of a site.
use slackwater_engine::plan::site::SitePlan;

use crate::site::case::{Car, Grid, Site};

/// Energy that rounding may move, in kWh.
pub(crate) const DUST_KWH: f64 = 3e-5;

/// Shortage and money of a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// Energy that drives lack, weighed by priority.
    pub(crate) lacking: f64,
    /// The same, weighed by how early the drives are.
    pub(crate) lacking_early: f64,
    /// Missing energy at all deadlines, weighed by priority.
    pub(crate) missing: f64,
    /// The same, weighed by how early the deadlines are.
    pub(crate) early: f64,
    /// Missing on departure of what a deadline missed before.
    pub(crate) late: f64,
    pub(crate) cost: f64,
    /// Sum of all amounts paid or earned, without their signs.
    pub(crate) turnover: f64,
}

/// The weight of each deadline: 1 for the earliest, less for each later one.
pub(crate) fn earliness(site: &Site, by: usize) -> f64 {
    weight(site.cars.iter().flat_map(|car| car.targets.iter().map(|&(by, _)| by)), by)
}

/// The weight of each drive by its start, in the same way.
pub(crate) fn earliness_of_drive(site: &Site, start: usize) -> f64 {
    weight(site.cars.iter().flat_map(|car| car.drives.iter().map(|drive| drive.0)), start)
}

fn weight(deadlines: impl Iterator<Item = usize>, by: usize) -> f64 {
    let mut deadlines: Vec<usize> = deadlines.collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let before = deadlines.iter().filter(|&&other| other < by).count();
    (deadlines.len() - before) as f64 / deadlines.len() as f64
}

/// Adds up a plan, and checks every rule. An error names the rule.
pub(crate) fn interpret(site: &Site, plan: &SitePlan) -> Result<Outcome, String> {
    let slots = site.prices.len();
    let mut outcome = Outcome::default();
    let mut meter: Vec<f64> = (0..slots).map(|slot| site.fixed_kw(slot)).collect();
    let mut group = vec![0.0; slots];
    // Power of each slot that needs a meter without import, and one without export.
    let mut shy = vec![(0.0_f64, 0.0_f64); slots];
    let mut keep_off = |slot: usize, power: f64, grid: &Grid| {
        let (charge, discharge) = (power.max(0.0), (-power).max(0.0));
        shy[slot].0 += if grid.charge_from { 0.0 } else { charge };
        shy[slot].1 += if grid.discharge_to { 0.0 } else { discharge };
    };
    for (index, car) in site.cars.iter().enumerate() {
        let powers: Vec<f64> = plan.devices[index].power.iter().map(|kw| kw.as_kw()).collect();
        let levels = levels(site, car, &powers, &mut outcome)
            .map_err(|rule| format!("car {index}: {rule}"))?;
        judge_wishes(site, car, &levels, &mut outcome);
        for (slot, power) in powers.iter().enumerate() {
            meter[slot] += power;
            keep_off(slot, *power, &car.grid);
            group[slot] += if car.in_group { *power } else { 0.0 };
        }
    }
    if let Some(home) = &site.home {
        let powers = &plan.devices.last().ok_or("there is no home battery")?.power;
        let mut level = home.level;
        for (slot, power) in powers.iter().map(|kw| kw.as_kw()).enumerate() {
            rule(power.abs() <= home.kw + DUST_KWH, || format!("home: {power} kW"))?;
            let kwh = power * site.hours;
            level += if kwh > 0.0 { kwh * home.efficiency_in } else { kwh / home.efficiency_out };
            let range = -DUST_KWH..=home.capacity + DUST_KWH;
            rule(range.contains(&level), || format!("home: {level} kWh after slot {slot}"))?;
            meter[slot] += power;
            keep_off(slot, power, &home.grid);
        }
    }
    for slot in 0..slots {
        let import = site.import_limit.is_none_or(|most| meter[slot] <= most + DUST_KWH);
        rule(import, || format!("{} kW imported in slot {slot}", meter[slot]))?;
        let row = site.group_limit.is_none_or(|most| group[slot].abs() <= most + DUST_KWH);
        rule(row, || format!("{} kW in the group in slot {slot}", group[slot]))?;
        let (charge, discharge) = shy[slot];
        let is_off = charge <= DUST_KWH || meter[slot] <= DUST_KWH;
        rule(is_off, || format!("{charge} kW beside an import in slot {slot}"))?;
        let is_off = discharge <= DUST_KWH || meter[slot] >= -DUST_KWH;
        rule(is_off, || format!("{discharge} kW beside an export in slot {slot}"))?;
        let export = site.export.as_ref().map_or(0.0, |prices| prices[slot]);
        let price = if meter[slot] > 0.0 { site.prices[slot] } else { export };
        outcome.cost += price * meter[slot] * site.hours;
        outcome.turnover += (price * meter[slot] * site.hours).abs();
    }
    Ok(outcome)
}

fn rule(holds: bool, name: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(name()) }
}

/// Levels at all boundaries, where power and level keep their rules.
fn levels(
    site: &Site,
    car: &Car,
    powers: &[f64],
    outcome: &mut Outcome,
) -> Result<Vec<f64>, String> {
    let mut levels = vec![car.level()];
    for (slot, &power) in powers.iter().enumerate() {
        let mut level = levels[slot];
        if let Some(&(start, _, kwh)) = car.drives.iter().find(|drive| drive.0 == slot) {
            let lack = car.priority * (kwh - level).max(0.0);
            outcome.lacking += lack;
            outcome.lacking_early += lack * earliness_of_drive(site, start);
            level = (level - kwh).max(0.0);
        }
        level += power * site.hours;
        levels.push(level);
        let gives = if car.gives_back.is_some() { car.most_kw } else { 0.0 };
        let is_in = -gives - DUST_KWH <= power && power <= car.most_kw + DUST_KWH;
        rule(is_in, || format!("{power} kW in slot {slot}"))?;
        let is_there = slot < car.departure || power.abs() <= DUST_KWH;
        rule(is_there, || format!("{power} kW after departure"))?;
        let is_home = !car.is_away(slot) || power.abs() <= DUST_KWH;
        rule(is_home, || format!("{power} kW on the way"))?;
        let range = -DUST_KWH..=car.most(car.driven(slot)) + DUST_KWH;
        rule(range.contains(&level), || format!("{level} kWh after slot {slot}"))?;
        let is_below = car.limit.is_none_or(|limit| level <= limit + DUST_KWH);
        let is_within = is_below || power * site.hours <= DUST_KWH;
        rule(is_within, || format!("{power} kW in slot {slot}, to {level} kWh above the limit"))?;
        if power * site.hours <= DUST_KWH || power >= car.least_kw - DUST_KWH {
            continue;
        }
        // Less than the least power: a target is reached, and the run ends.
        let reached = car.run_ends().iter().any(|end| (level - end).abs() <= DUST_KWH);
        rule(reached, || format!("{power} kW in slot {slot}, and nothing is reached"))?;
        let goes_on = powers.get(slot + 1).is_some_and(|next| next * site.hours > DUST_KWH);
        rule(!goes_on, || format!("{power} kW in slot {slot}, and the run goes on"))?;
    }
    Ok(levels)
}

fn judge_wishes(site: &Site, car: &Car, levels: &[f64], outcome: &mut Outcome) {
    let mut late = 0.0_f64;
    for &(by, wanted) in &car.targets {
        let most = car.full(car.driven(by - 1));
        let missing = (wanted - levels[by]).max(0.0);
        outcome.missing += car.priority * missing;
        outcome.early += car.priority * missing * earliness(site, by);
        // Nobody goes on for what lies above the charge limit.
        let goes_on = by < car.departure && car.is_last_stay(by);
        if wanted.min(most) - levels[by] > DUST_KWH && goes_on {
            late = late.max(wanted.min(most) - levels[car.departure]);
        }
    }
    outcome.late += car.priority * late;
}

//! A checker of storage proofs, on plain numbers and by another formula.
//!
//! Give each stored kWh a value in each slot. Then the money of a plan is what
//! it gains over these values slot by slot, plus what carrying levels from
//! one value to the next costs. The least of each part, taken alone, is a bound.

/// How far sums may be off by rounding, relative to the number or to 1.
const ROUNDING: f64 = 1e-9;

/// One slot of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) hours: f64,
    pub(crate) import: Option<f64>,
    pub(crate) export: Option<f64>,
    pub(crate) charge_kw: f64,
    pub(crate) discharge_kw: f64,
    pub(crate) bought: f64,
    pub(crate) sold: f64,
    pub(crate) drives: f64,
    pub(crate) level: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) limit: f64,
    pub(crate) value: f64,
}

/// A plan with all that is said to prove it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    pub(crate) stored: f64,
    pub(crate) efficiency: f64,
    pub(crate) efficiency_out: f64,
    pub(crate) wear: f64,
    pub(crate) end_value: f64,
    pub(crate) steps: Vec<Step>,
}

/// The cost of a plan and a cost that none can undercut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) cost: f64,
    pub(crate) bound: f64,
}

/// Why a claim is no plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refusal {
    /// Energy comes from nowhere, or gets lost.
    NotConserved(usize),
    /// More than fits, less than nothing, or both ways at once.
    OutsideLimits(usize),
    /// The level leaves its bounds, or is charged beyond the limit.
    OutsideLevels(usize),
}

/// Money of a slot that buys and sells so much.
fn money(claim: &Claim, step: &Step, bought: f64, sold: f64) -> f64 {
    let paid = if bought > 0.0 { step.import.unwrap_or(f64::NAN) * bought } else { 0.0 };
    let brings = |price: f64| price - claim.wear / claim.efficiency_out;
    let earned = if sold > 0.0 { step.export.map_or(f64::NAN, brings) * sold } else { 0.0 };
    paid - earned
}

/// Cost and bound of a claim.
pub(crate) fn check(claim: &Claim) -> Result<Verdict, Refusal> {
    let mut verdict = Verdict { cost: 0.0, bound: 0.0 };
    let mut level = claim.stored;
    for (index, step) in claim.steps.iter().enumerate() {
        check_step(claim, index, step, level)?;
        level = step.level;
        verdict.cost += money(claim, step, step.bought, step.sold);
        // What the slot could gain at most over the value of what it stores.
        let (fits_in, fits_out) = (step.charge_kw * step.hours, step.discharge_kw * step.hours);
        let charging = money(claim, step, fits_in, 0.0) - step.value * fits_in * claim.efficiency;
        let selling =
            money(claim, step, 0.0, fits_out) + step.value * fits_out / claim.efficiency_out;
        verdict.bound += charging.min(selling).min(0.0) + step.value * step.drives;
        let next = claim.steps.get(index + 1).map_or(claim.end_value, |next| next.value);
        let carried = step.value - next;
        verdict.bound += (carried * step.least).min(carried * step.most);
    }
    let first = claim.steps.first().map_or(claim.end_value, |first| first.value);
    verdict.bound -= (first - claim.end_value) * claim.stored;
    verdict.cost -= claim.end_value * (level - claim.stored);
    Ok(verdict)
}

fn check_step(claim: &Claim, index: usize, step: &Step, before: f64) -> Result<(), Refusal> {
    let above = |a: f64, b: f64| a > b + ROUNDING * b.abs().max(1.0);
    let is_within = |energy: f64, kw: f64| energy >= 0.0 && !above(energy, kw * step.hours);
    let is_priced = !money(claim, step, step.bought, step.sold).is_nan();
    let is_one_way = step.bought <= 0.0 || step.sold <= 0.0;
    let fits = is_within(step.bought, step.charge_kw) && is_within(step.sold, step.discharge_kw);
    if !(is_priced && is_one_way && fits) {
        return Err(Refusal::OutsideLimits(index));
    }
    let stored = step.bought * claim.efficiency - step.sold / claim.efficiency_out;
    let left = before + stored - step.drives;
    if above(step.level, left) || above(left, step.level) {
        return Err(Refusal::NotConserved(index));
    }
    let is_beyond = step.bought > 0.0 && above(step.level, step.limit);
    if above(step.least, step.level) || above(step.level, step.most) || is_beyond {
        return Err(Refusal::OutsideLevels(index));
    }
    Ok(())
}

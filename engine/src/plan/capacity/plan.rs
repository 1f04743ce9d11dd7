//! Plan of a battery under a tariff with a price of power.
use serde::{Deserialize, Serialize};

use crate::bill::demand::Calendar;
use crate::bill::load::MINUTE;
use crate::bill::month::Month;
use crate::plan::capacity::certificate::{CapacityCertificate, CapacityEvidence, certify};
use crate::plan::capacity::groups::{PowerCharges, capacity_of};
use crate::plan::capacity::planned_slot::CapacitySlot;
use crate::plan::capacity::programme::{LevelSolution, Memory, MeterSlot, Multipliers, Programme};
use crate::plan::capacity::request::{CapacityError, CapacityProblem, LoadPeriod};
use crate::plan::capacity::search::restrict_slots;
use crate::plan::capacity::search_state::Search;
use crate::plan::interval::Interval;
use crate::plan::storage::certificate::Searched;
use crate::plan::storage::price_slots::PriceSlots;
use crate::plan::storage::request::StorageRequest;
use crate::plan::storage::slots::Layout;
use crate::prices::curve::PriceCurve;
use crate::time::instant::{instant_at, micros_between, micros_of};
use crate::tolerance::{ENERGY_SHARE_MIN, POWER_ROUNDING_KW, SUM_ROUNDING};
use crate::units::{Energy, MICROS_PER_HOUR, Money, Power, Price, kw, kwh, money, per_kwh};

/// Price of power in a month of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonthPower {
    /// The month.
    pub month: Month,
    /// Power that the tariff has measured before the plan.
    #[serde(rename = "power_before_kw")]
    pub power_before: Power,
    /// Power with the plan.
    #[serde(rename = "power_kw")]
    pub power: Power,
    /// Charge of the power before the plan.
    pub charge_before: Money,
    /// Charge with the plan.
    pub charge: Money,
}

/// Cost of a plan by its parts, and its powers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityCost {
    /// Energy through the meter, plus wear, less the value of energy stored at the end.
    pub energy: Money,
    /// Charge of the power above that of before.
    pub power: Money,
    /// Months with their powers.
    pub months: Vec<MonthPower>,
}

impl CapacityCost {
    /// Sum of both parts, which a plan minimises.
    #[must_use]
    pub fn total(&self) -> Money {
        self.energy + self.power
    }
}

/// Plan of a battery at the least cost of energy and power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CapacityPlan {
    /// Slots in time order.
    pub slots: Vec<CapacitySlot>,
    /// Cost of the plan.
    pub cost: CapacityCost,
    /// Proof that no plan costs less.
    pub certificate: CapacityCertificate,
    /// Plan that is cheapest in energy, without regard to power.
    pub energy_alone: CapacityCost,
    /// Largest shortfall of a target, as stored energy.
    #[serde(rename = "shortfall_kwh")]
    pub shortfall: Energy,
    /// Largest shortfall of the reserve or of the lowest state of charge of a period, at the end of
    /// a slot. No plan holds them earlier.
    #[serde(rename = "floor_shortfall_kwh")]
    pub floor_shortfall: Energy,
}

impl CapacityPlan {
    /// Cost of the plan that is cheapest in energy alone, minus that of this plan.
    #[must_use]
    pub fn savings(&self) -> Money {
        self.energy_alone.total() - self.cost.total()
    }

    /// Periods of charging (positive power) and discharging (negative) at the plug of the battery.
    #[must_use]
    pub fn intervals(&self) -> Vec<Interval> {
        let mut intervals = Vec::new();
        for slot in &self.slots {
            let hours = micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR;
            let net = (slot.charged - slot.discharged).as_kwh();
            if net != 0.0 && hours > 0.0 {
                let power = Power::from_kw(net / hours).unwrap_or(Power::ZERO);
                let interval = Interval { start: slot.start, end: slot.end, power };
                interval.join(&mut intervals, |a, b| {
                    (a.as_kw() - b.as_kw()).abs() <= POWER_ROUNDING_KW
                });
            }
        }
        intervals
    }
}

/// Plan that is cheapest in energy, without regard to power: the baseline of [`plan_capacity`].
///
/// Its slots have no marginal values.
///
/// # Errors
/// As [`plan_capacity`].
pub fn plan_energy_alone(
    import: &PriceCurve,
    export: Option<&PriceCurve>,
    problem: &CapacityProblem,
) -> Result<Vec<CapacitySlot>, CapacityError> {
    let meter = MeteredBattery::new(import, export, problem)?;
    let slots = meter.programme.slots.len();
    let nothing = Multipliers { marginal: vec![0.0; slots], power_price: vec![0.0; slots] };
    Ok(meter.lay_out_slots(&meter.find_cheapest_energy(), &nothing))
}

/// Emissions in kg of the energy from the grid, at a carbon intensity in kg per kWh. Energy into
/// the grid has none.
#[must_use]
pub fn emissions(slots: &[CapacitySlot], intensity: &PriceCurve) -> f64 {
    let drawn = slots.iter().filter(|slot| slot.metered() > Energy::ZERO);
    intensity.weigh(drawn.map(|slot| {
        let hours = micros_between(slot.start, slot.end) as f64 / MICROS_PER_HOUR;
        let power = Power::from_kw(slot.metered().as_kwh() / hours).unwrap_or(Power::ZERO);
        (slot.start, slot.end, power)
    }))
}

/// Plans a battery at the least cost of energy and power.
///
/// `import` and `export` are the prices of a kWh through the meter, with all components of the
/// tariff that are per kWh; without `export` what is sold earns nothing. Without a price to buy
/// the battery is idle.
///
/// # Errors
/// A tariff without a price of power, or with one that cannot be planned; a month outside of its
/// dates; steps over more than two months; numbers so far apart that a plan of them breaks its own
/// limits by rounding.
pub fn plan_capacity(
    import: &PriceCurve,
    export: Option<&PriceCurve>,
    problem: &CapacityProblem,
) -> Result<CapacityPlan, CapacityError> {
    let meter = MeteredBattery::new(import, export, problem)?;
    let (best, proof) = meter.find_cheapest();
    let slots = meter.lay_out_slots(&best, &proof.multipliers);
    let (months, groups) = meter.groups.evidence();
    let request = problem.storage.request();
    let evidence = CapacityEvidence {
        stored_start: problem.storage.stored(),
        efficiency: request.battery.efficiency,
        efficiency_discharge: request.efficiency_discharge,
        wear_price: request.wear_price,
        end_value: problem.storage.end_value(),
        months,
        groups,
        searched: proof.searched,
    };
    let certificate = certify(&slots, evidence)
        .map_err(|fault| CapacityError::BreaksLimits { fault: fault.to_string() })?;
    Ok(CapacityPlan {
        energy_alone: meter.price_path(&meter.find_cheapest_energy()),
        cost: meter.price_path(&best),
        shortfall: meter.find_shortfall(&best, problem),
        floor_shortfall: meter.find_floor_shortfall(),
        certificate,
        slots,
    })
}

/// Bound of a search, with the multipliers that prove it.
struct Proof {
    searched: Searched,
    multipliers: Multipliers,
}

/// Battery, meter and price of power on the windows of the tariff.
pub(crate) struct MeteredBattery {
    pub(crate) programme: Programme,
    pub(crate) groups: PowerCharges,
    layout: Layout,
}

impl MeteredBattery {
    pub(crate) fn new(
        import: &PriceCurve,
        export: Option<&PriceCurve>,
        problem: &CapacityProblem,
    ) -> Result<Self, CapacityError> {
        let (_, rule, ..) = capacity_of(&problem.tariff)?;
        let calendar =
            Calendar { time_zone: problem.tariff.time_zone(), holidays: problem.tariff.holidays() };
        let minutes = i64::from(rule.window.minutes());
        let grid = PriceSlots::new(import, export);
        let cuts = list_cuts(problem.storage.request());
        let grid = in_windows(&grid, minutes, &cuts, |at| rule.window_start(calendar, at));
        let layout = Layout::new(&grid, &problem.storage);
        let starts = layout.pieces.iter().map(|piece| piece.start);
        let groups = PowerCharges::new(problem, starts)?;
        let battery = &layout.programme;
        let mut programme = Programme {
            stored: battery.stored_kwh,
            efficiency_charge: battery.efficiency_charge,
            efficiency_discharge: battery.efficiency_discharge,
            wear: battery.wear_per_kwh,
            end_value: battery.end_value_per_kwh,
            slots: Vec::with_capacity(layout.pieces.len()),
        };
        let mut first = 0;
        for (index, (slot, piece)) in battery.slots.iter().zip(&layout.pieces).enumerate() {
            let import = layout.import[index];
            programme.slots.push(MeterSlot {
                hours: (piece.end - piece.start) as f64 / MICROS_PER_HOUR,
                load: load_within(&problem.load, &mut first, (piece.start, piece.end)),
                import: if import.is_nan() { 0.0 } else { import },
                export: if import.is_nan() { 0.0 } else { layout.export[index] },
                charge: slot.charge_kwh,
                may_be_above: slot.limit_kwh < slot.most_kwh,
                discharge: if import.is_nan() { 0.0 } else { slot.discharge_kwh },
                driving: slot.driving_kwh,
                least: slot.least_kwh,
                most: slot.most_kwh,
                // The battery is idle without a price, and the power there is not part of the plan.
                level: groups.slots[index].filter(|_| !import.is_nan()),
            });
        }
        Ok(Self { programme, groups, layout })
    }

    /// Changes of the stored energy in the cheapest plan, and the bound on every plan.
    fn find_cheapest(&self) -> (Vec<f64>, Proof) {
        let mut search = Search::new(&self.programme, &self.groups);
        let relaxed = search.find_cheapest();
        let mut nodes = search.evaluations;
        let again = |programme: &Programme| {
            let mut search = Search::new(programme, &self.groups);
            let evaluation = search.find_cheapest().evaluation;
            nodes += search.evaluations;
            evaluation
        };
        let cost = |found: &LevelSolution| self.price_path(&found.change).total().as_amount();
        let best = self.choose_executable(relaxed.evaluation, again, cost);
        let bound = money(relaxed.bound).min(self.price_path(&best.change).total());
        let mut multipliers = relaxed.multipliers;
        self.groups.keep_within_price(&mut multipliers.power_price);
        (best.change, Proof { searched: Searched { bound, nodes }, multipliers })
    }

    /// Changes of the stored energy in the plan that is cheapest in energy, at any power.
    fn find_cheapest_energy(&self) -> Vec<f64> {
        let count = self.groups.groups.len();
        let free = |programme: &Programme| {
            let (levels, penalties) = (vec![f64::INFINITY; count], vec![0.0; count]);
            programme.evaluate_levels(&levels, &penalties, &mut Memory::default())
        };
        self.choose_executable(free(&self.programme), free, |found| found.executed).change
    }

    /// The relaxed solution if its path can be executed at its cost, else the cheaper one of it and
    /// of that on restricted slots. A path that charges above the charge limit is no plan.
    fn choose_executable(
        &self,
        relaxed: LevelSolution,
        solve: impl FnOnce(&Programme) -> LevelSolution,
        cost: impl Fn(&LevelSolution) -> f64,
    ) -> LevelSolution {
        let mut slots = self.programme.slots.iter().zip(&relaxed.change);
        let breaks_limit = slots.any(|(slot, &change)| slot.may_be_above && change > 0.0);
        let rounding = SUM_ROUNDING * relaxed.cost.abs().max(1.0);
        if !breaks_limit && relaxed.executed - relaxed.cost <= rounding {
            return relaxed;
        }
        let restricted = solve(&restrict_slots(&self.programme));
        if breaks_limit || cost(&restricted) < cost(&relaxed) { restricted } else { relaxed }
    }

    /// Powers of the groups on a path, at least those that were reached before.
    fn measure_powers(&self, change: &[f64]) -> Vec<f64> {
        let mut powers = self.groups.carried();
        for (slot, &change) in self.programme.slots.iter().zip(change) {
            if let Some((group, weight)) = slot.level {
                let power = weight * self.programme.metered(slot, change) / slot.hours;
                powers[group] = powers[group].max(power);
            }
        }
        powers
    }

    fn price_path(&self, change: &[f64]) -> CapacityCost {
        let programme = &self.programme;
        let mut energy = 0.0;
        let mut stored = programme.stored;
        for (slot, &change) in programme.slots.iter().zip(change) {
            energy += programme.cost_of(slot, change);
            stored += change - slot.driving;
        }
        energy -= programme.end_value * (stored - programme.stored);
        let (before, powers) = (self.groups.carried(), self.measure_powers(change));
        let months = self.groups.months.iter().enumerate().map(|(place, month)| {
            let power = |levels: &[f64]| month.power(self.groups.levels_of(place, levels));
            let (power_before, power) = (power(&before), power(&powers));
            MonthPower {
                month: month.month,
                power_before: kw(power_before),
                power: kw(power),
                charge_before: money(month.charge(power_before)),
                charge: money(month.charge(power)),
            }
        });
        let months: Vec<MonthPower> = months.collect();
        let power =
            months.iter().fold(Money::ZERO, |sum, month| sum + month.charge - month.charge_before);
        CapacityCost { energy: money(energy), power, months }
    }

    fn lay_out_slots(&self, change: &[f64], multipliers: &Multipliers) -> Vec<CapacitySlot> {
        let powers = self.measure_powers(change);
        let mut stored = self.programme.stored;
        let mut planned = Vec::with_capacity(change.len());
        for (index, slot) in self.programme.slots.iter().enumerate() {
            let (piece, change) = (&self.layout.pieces[index], change[index]);
            stored = (stored + change - slot.driving).clamp(slot.least, slot.most);
            let net = self.programme.energy_at_plug(change);
            let power = |stored: f64| kw(stored / slot.hours);
            planned.push(CapacitySlot {
                start: instant_at(piece.start),
                end: instant_at(piece.end),
                import_price: Price::from_per_kwh(self.layout.import[index]).ok(),
                export_price: per_kwh(slot.export),
                load: kwh(slot.load),
                charged: kwh(net.max(0.0)),
                discharged: kwh((-net).max(0.0)),
                driven: kwh(slot.driving),
                stored: kwh(stored),
                stored_min: kwh(slot.least),
                stored_max: kwh(slot.most),
                charge_max: power(slot.charge / self.programme.efficiency_charge),
                discharge_max: power(slot.discharge * self.programme.efficiency_discharge),
                group: slot.level.map(|(group, _)| group),
                level: slot.level.map(|(group, _)| kw(powers[group])),
                weight: slot.level.map_or(0.0, |(_, weight)| weight),
                marginal_value: per_kwh(multipliers.marginal[index]),
                power_price_per_kw: money(multipliers.power_price[index]),
            });
        }
        planned
    }

    /// Largest part of the reserve or of a lowest level that full power does not reach in time.
    fn find_floor_shortfall(&self) -> Energy {
        let below = self.layout.pieces.iter().map(|piece| piece.below_floor_kwh);
        kwh(below.fold(0.0, f64::max))
    }

    /// Largest shortfall of a target at its deadline, or at the end of the plan.
    fn find_shortfall(&self, change: &[f64], problem: &CapacityProblem) -> Energy {
        let request = problem.storage.request();
        let capacity = request.battery.capacity;
        let mut most = 0.0_f64;
        for target in &request.targets {
            let by = target.by.map_or(i64::MAX, micros_of);
            let mut stored = self.programme.stored;
            let slots = self.programme.slots.iter().zip(change).zip(&self.layout.pieces);
            for ((slot, change), _) in slots.take_while(|(_, piece)| piece.end <= by) {
                stored += change - slot.driving;
            }
            let wanted = target.soc.unwrap_or(request.battery.charge_limit).of(capacity);
            most = most.max(wanted.as_kwh() - stored);
        }
        if most > ENERGY_SHARE_MIN * capacity.as_kwh() { kwh(most) } else { Energy::ZERO }
    }
}

/// Instants at which a request cuts windows, in time order.
fn list_cuts(request: &StorageRequest) -> Vec<i64> {
    let ends = request.limits.iter().flat_map(|limit| [limit.start, limit.end]);
    let driving = request.consumption.iter().flat_map(|period| [period.start, period.end]);
    let targets = request.targets.iter().filter_map(|target| target.by);
    let span = [request.now].into_iter().chain(request.until);
    let mut cuts: Vec<i64> =
        span.chain(ends).chain(driving).chain(targets).map(micros_of).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Prices on the windows of a tariff: slots are cut at the windows and at `cuts`, and those between
/// two cuts of one window are joined at their mean price. Without a price to sell, energy sold earns
/// nothing.
fn in_windows(
    grid: &PriceSlots,
    minutes: i64,
    cuts: &[i64],
    window_of: impl Fn(i64) -> i64,
) -> PriceSlots {
    let length = minutes * MINUTE;
    let mut joined = PriceSlots { may_sell: true, ..PriceSlots::default() };
    // First instant at which a new slot begins.
    let mut next = i64::MIN;
    for slot in 0..grid.starts.len() {
        let mut start = grid.starts[slot];
        let export = if grid.export[slot].is_nan() { 0.0 } else { grid.export[slot] };
        while start < grid.ends[slot] {
            let is_new = start >= next || joined.ends.last() != Some(&start);
            if is_new {
                let cut = cuts.get(cuts.partition_point(|&cut| cut <= start));
                next = cut.map_or(i64::MAX, |&cut| cut).min(window_of(start) + length);
            }
            let end = grid.ends[slot].min(next);
            add_part(&mut joined, is_new, (start, end), (grid.import[slot], export));
            start = end;
        }
    }
    joined
}

/// Adds a part of a window as a slot of its own, or to the slot before it.
fn add_part(
    grid: &mut PriceSlots,
    is_new: bool,
    (start, end): (i64, i64),
    (import, export): (f64, f64),
) {
    let Some(last) = grid.starts.len().checked_sub(1).filter(|_| !is_new) else {
        grid.starts.push(start);
        grid.ends.push(end);
        grid.import.push(import);
        grid.export.push(export);
        return;
    };
    let (old, new) = ((start - grid.starts[last]) as f64, (end - start) as f64);
    // Equal prices keep their bits.
    let mean = |before: f64, price: f64| {
        if before.total_cmp(&price).is_eq() {
            price
        } else {
            (before * old + price * new) / (old + new)
        }
    };
    grid.import[last] = mean(grid.import[last], import);
    grid.export[last] = mean(grid.export[last], export);
    grid.ends[last] = end;
}

/// Energy of the load in a slot. `first` is the first period that may reach into it.
fn load_within(load: &[LoadPeriod], first: &mut usize, (start, end): (i64, i64)) -> f64 {
    while load.get(*first).is_some_and(|period| micros_of(period.end) <= start) {
        *first += 1;
    }
    let mut energy = 0.0;
    for period in load[*first..].iter().take_while(|period| micros_of(period.start) < end) {
        let from = micros_of(period.start).max(start);
        let to = micros_of(period.end).min(end);
        energy += period.power.over_micros(to - from).as_kwh();
    }
    energy
}

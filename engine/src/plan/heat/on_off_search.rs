//! Schedule of an on/off unit: the least degree-hours, and of those the least cost that is found.
//!
//! A node is a boundary with the state of a unit that may switch there, and an edge is a slot in which
//! the state stays, or all slots of a least time ([`LeastTimes`]). A label is the beginning of a
//! schedule up to a node, with its exact stored energy, degree-hours and cost. Of the labels of a node
//! whose energies lie in one [cell](super::energy_cells) one is kept:
//!
//! ```text
//! least D, then least cost − a_{t+1}·λ_{t+1}·e
//! ```
//!
//! with the marginal values `λ_t` of the modulating unit ([symbols](super)). Labels are dropped, and
//! energies are never rounded, so each label is a schedule that the unit can run, and the search is
//! complete if no cell has had two energies. Forward dynamic programming over states of a unit is
//! usual for unit commitment: W. L. Snyder, H. D. Powell, J. C. Rayburn, Dynamic programming approach
//! to unit commitment, IEEE Transactions on Power Systems 2 (1987).
use crate::plan::heat::energy_cells::Cells;
use crate::plan::heat::on_off::{LeastTimes, Stretch};
use crate::plan::heat::slots::{ThermalProgramme, ThermalStep};
use crate::plan::heat::thermostat::Thermostat;
use crate::plan::heat::worth::Worth;

/// Beginning of a schedule.
#[derive(Debug, Clone, Copy)]
struct PartialSchedule {
    kwh: f64,
    degree_hours: f64,
    cost: f64,
    /// Boundary of the node before it, and its state and cell; `None` at the start of the plan.
    from: (usize, Option<(usize, usize)>),
}

impl PartialSchedule {
    /// Comes before another label of its cell. `value` is that of a stored kWh.
    fn is_better(&self, other: &Self, value: f64) -> bool {
        let rank = |label: &Self| (label.degree_hours, label.cost - value * label.kwh);
        rank(self) < rank(other)
    }

    /// Schedule after a slot.
    fn after_slot(self, programme: &ThermalProgramme, step: &ThermalStep, is_on: bool) -> Self {
        let used = if is_on { step.power_kwh } else { 0.0 };
        let kwh = step.after(self.kwh, used);
        Self {
            kwh,
            degree_hours: self.degree_hours + degree_hours(programme, step, kwh),
            cost: self.cost + step.price * used,
            ..self
        }
    }
}

/// Degree-hours of a slot that ends with a stored energy.
fn degree_hours(programme: &ThermalProgramme, step: &ThermalStep, kwh: f64) -> f64 {
    let outside = (step.low_kwh - kwh).max(kwh - step.high_kwh);
    let rounding = f64::EPSILON * 8.0 * kwh.abs();
    if outside <= rounding { 0.0 } else { outside / programme.kwh_per_k * step.hours }
}

/// Labels of all nodes: of each boundary those of units that are off and on, by cell.
struct Labels<'a> {
    programme: &'a ThermalProgramme,
    cells: &'a [Cells],
    /// Value of a kWh at each boundary.
    values: &'a [f64],
    nodes: Vec<[Vec<Option<PartialSchedule>>; 2]>,
}

impl Labels<'_> {
    /// Follows a label from a boundary to the end of a stretch, and keeps it if it is the best.
    fn extend_label(
        &mut self,
        label: PartialSchedule,
        from: (usize, Option<(usize, usize)>),
        stretch: Stretch,
    ) {
        let steps = &self.programme.steps[from.0..stretch.until];
        let end = steps
            .iter()
            .fold(label, |label, step| label.after_slot(self.programme, step, stretch.is_on));
        let end = PartialSchedule { from, ..end };
        let cell = self.cells[stretch.until].cell_at(end.kwh);
        let kept = &mut self.nodes[stretch.until][usize::from(stretch.is_on)][cell];
        let value = self.values[stretch.until];
        if kept.is_none_or(|kept| end.is_better(&kept, value)) {
            *kept = Some(end);
        }
    }

    /// Schedule of the best label at the end.
    fn best(&self) -> Option<(PartialSchedule, Vec<bool>)> {
        let last = self.programme.steps.len();
        let value = self.programme.end_value;
        let mut best: Option<(PartialSchedule, usize)> = None;
        for state in 0..2 {
            for &label in self.nodes[last][state].iter().flatten() {
                if best.is_none_or(|(best, _)| label.is_better(&best, value)) {
                    best = Some((label, state));
                }
            }
        }
        let (best, mut state) = best?;
        let mut schedule = vec![false; last];
        let (mut label, mut until) = (best, last);
        while until > 0 {
            let (boundary, before) = label.from;
            schedule[boundary..until].fill(state == 1);
            until = boundary;
            if let Some((before, cell)) = before {
                label = self.nodes[boundary][before][cell]?;
                state = before;
            }
        }
        Some((best, schedule))
    }
}

/// Best schedule found: for each slot, true if the unit is on. It is never worse than a thermostat.
pub(crate) fn find_schedule(
    programme: &ThermalProgramme,
    times: &LeastTimes,
    values: &[Worth],
) -> Vec<bool> {
    let count = Cells::count(times);
    let cells = Cells::of(programme, times, count);
    let values = values_at_boundaries(programme, values);
    let empty = |cells: &Cells| [vec![None; cells.len()], vec![None; cells.len()]];
    let nodes = cells.iter().map(empty).collect();
    let mut labels = Labels { programme, cells: &cells, values: &values, nodes };
    let start = PartialSchedule {
        kwh: programme.stored_kwh,
        degree_hours: 0.0,
        cost: 0.0,
        from: (0, None),
    };
    labels.extend_label(start, start.from, times.first);
    for boundary in 0..programme.steps.len() {
        for (state, is_on) in [false, true].into_iter().enumerate() {
            for cell in 0..labels.nodes[boundary][state].len() {
                let Some(label) = labels.nodes[boundary][state][cell] else { continue };
                for stretch in times.ways_from(boundary, is_on) {
                    labels.extend_label(label, (boundary, Some((state, cell))), stretch);
                }
            }
        }
    }
    let (held, thermostat) = run_thermostat(programme, times, start);
    match labels.best() {
        Some((found, schedule)) if !held.is_better(&found, programme.end_value) => schedule,
        _ => thermostat,
    }
}

/// Schedule of a thermostat.
fn run_thermostat(
    programme: &ThermalProgramme,
    times: &LeastTimes,
    start: PartialSchedule,
) -> (PartialSchedule, Vec<bool>) {
    let mut thermostat = Thermostat::new(Some(times));
    let mut label = start;
    let mut schedule = Vec::with_capacity(programme.steps.len());
    for (slot, step) in programme.steps.iter().enumerate() {
        let is_on = thermostat.next_kwh(slot, step, label.kwh) > 0.0;
        label = label.after_slot(programme, step, is_on);
        schedule.push(is_on);
    }
    (label, schedule)
}

/// Value in money of a kWh stored at each boundary, `a_{t+1}·λ_{t+1}`.
fn values_at_boundaries(programme: &ThermalProgramme, values: &[Worth]) -> Vec<f64> {
    let steps = programme.steps.iter().zip(values);
    let before = steps.map(|(step, value)| step.decay * value.money);
    before.chain([programme.end_value]).collect()
}

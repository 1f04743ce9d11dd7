//! Reasons of a schedule: a sentence per battery and step that is not idle.
use crate::plan::evcc::request::EvccRequest;
use crate::plan::evcc::schedule::{DUST_WH, EvccSchedule};

/// Reasons of a schedule, in the order of the steps, one sentence for each battery that charges or
/// discharges. They follow from the schedule alone; the first rule that holds is the reason.
#[must_use]
pub fn explain(request: &EvccRequest, schedule: &EvccSchedule) -> Vec<String> {
    let steps = 0..request.time_series.len();
    let batteries = 0..request.batteries.len();
    let view = ScheduleView { request, schedule };
    steps.flat_map(|step| batteries.clone().filter_map(move |i| view.sentence(i, step))).collect()
}

/// A schedule beside its request.
#[derive(Clone, Copy)]
struct ScheduleView<'a> {
    request: &'a EvccRequest,
    schedule: &'a EvccSchedule,
}

impl ScheduleView<'_> {
    /// Sentence of a battery in a step; `None` if it is idle.
    fn sentence(&self, index: usize, step: usize) -> Option<String> {
        let battery = &self.schedule.batteries[index];
        let (charge, discharge) = (battery.charging_power[step], battery.discharging_power[step]);
        let (verb, energy, reason) = if charge > 0.0 {
            ("charges", charge, self.why_charged(index, step))
        } else if discharge > 0.0 {
            ("discharges", discharge, self.why_discharged(index, step))
        } else {
            return None;
        };
        Some(format!("step {step}: battery {index} {verb} {energy:.0} Wh: {reason}"))
    }

    /// Energy stored before a step.
    fn level_before(&self, index: usize, step: usize) -> f64 {
        let levels = &self.schedule.batteries[index].state_of_charge;
        step.checked_sub(1).map_or(self.request.batteries[index].s_initial, |before| levels[before])
    }

    fn why_charged(&self, index: usize, step: usize) -> String {
        let (battery, steps) = (&self.request.batteries[index], &self.request.time_series);
        let before = self.level_before(index, step);
        if before < battery.s_min {
            return format!("it holds less than its least energy of {:.0} Wh", battery.s_min);
        }
        let demanded = battery.p_demand.as_ref().map_or(0.0, |demand| demand[step]);
        if demanded > 0.0 {
            return format!("{demanded:.0} Wh are demanded");
        }
        if self.schedule.grid_import[step] <= 0.0 {
            return "the energy is surplus".to_owned();
        }
        let price = steps.p_n[step];
        if price < 0.0 {
            return format!("the import price of {price} per Wh is negative");
        }
        // The contract does not use the goal of the first step.
        let first = step.max(1);
        let goals = battery.s_goal.iter().flat_map(|goals| goals.iter().enumerate().skip(first));
        if let Some((by, goal)) = goals.into_iter().find(|&(_, &goal)| goal > before) {
            return format!("it is to hold {goal:.0} Wh after step {by}, at {price} per Wh");
        }
        format!("the import price of {price} per Wh is below what the energy is worth later")
    }

    fn why_discharged(&self, index: usize, step: usize) -> String {
        let (battery, steps) = (&self.request.batteries[index], &self.request.time_series);
        if self.level_before(index, step) > battery.s_max {
            return format!("it holds more than its largest energy of {:.0} Wh", battery.s_max);
        }
        if self.schedule.grid_export[step] > 0.0 {
            return format!("an exported Wh earns {}", steps.p_e[step]);
        }
        let limit = self.request.grid.p_max_imp.map(|watts| watts * steps.hours(step));
        if limit.is_some_and(|most| self.schedule.grid_import[step] >= most - DUST_WH) {
            return "the import limit is reached".to_owned();
        }
        format!("it replaces import at {} per Wh", steps.p_n[step])
    }
}

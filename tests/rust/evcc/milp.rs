//! The contract as the mixed-integer programme that it states, with every binary from the start.
use good_lp::solvers::highs::highs;
use good_lp::{
    Constraint, Expression, ProblemVariables, Solution, SolutionStatus, SolverModel, Variable,
    constraint, variable,
};

use crate::evaluator::{Battery, Request};

/// Energies of the programme in kWh per Wh of the contract, so that numbers are of one size.
const KWH: f64 = 1e-3;

/// Bound that the contract calls `M`, in kWh.
const MUCH: f64 = 1e3;

/// Nodes after which the programme is given up.
const NODES_MAX: i32 = 20_000;

struct Milp<'r> {
    request: &'r Request,
    variables: ProblemVariables,
    rows: Vec<Constraint>,
    /// What is maximised, in units of the base per kWh.
    objective: Expression,
    /// Net energy of each step.
    meter: Vec<Expression>,
    exports: Vec<Variable>,
}

/// Largest objective of a request, or `None` where the solver does not find it.
pub(crate) fn optimum(request: &Request) -> Option<f64> {
    let series = &request.time_series;
    let mut milp = Milp {
        request,
        variables: ProblemVariables::new(),
        rows: Vec::new(),
        objective: Expression::from(0.0),
        meter: (0..request.steps())
            .map(|step| Expression::from((series.gt[step] - series.ft[step]) * KWH))
            .collect(),
        exports: Vec::new(),
    };
    milp.exports = (0..request.steps()).map(|_| milp.choice()).collect();
    for battery in &request.batteries {
        milp.add_battery(battery);
    }
    milp.add_grid();
    let Milp { variables, rows, objective, .. } = milp;
    let mut model = variables.maximise(objective.clone()).using(highs);
    for option in ["mip_feasibility_tolerance", "primal_feasibility_tolerance"] {
        model = model.set_option(option, 1e-9);
    }
    model = model.set_option("mip_rel_gap", 1e-9).set_option("mip_abs_gap", 1e-9).set_threads(1);
    model = model.set_option("mip_max_nodes", NODES_MAX);
    for row in rows {
        model.add_constraint(row);
    }
    let solution = model.solve().ok()?;
    let is_decided = !matches!(solution.status(), SolutionStatus::TimeLimit);
    is_decided.then(|| solution.eval(&objective) * request.base() / KWH)
}

impl Milp<'_> {
    fn amount(&mut self, most: f64) -> Variable {
        self.variables.add(variable().min(0.0).max(most))
    }

    fn choice(&mut self) -> Variable {
        self.variables.add(variable().binary())
    }

    /// Weight of a strategy in units of the base.
    fn weight(&self, factor: f64, step: usize) -> f64 {
        let left = (self.request.steps() - step) as f64;
        factor * self.request.lowest_price() * left / self.request.base()
    }

    fn add_battery(&mut self, battery: &Battery) {
        let request = self.request;
        let (base, steps) = (request.base(), request.steps());
        let mut level = Expression::from(battery.s_initial * KWH);
        for step in 0..steps {
            let hours = request.hours(step);
            let (most_in, most_out) = (battery.c_max * hours * KWH, battery.d_max * hours * KWH);
            let (charge, discharge, feeds) =
                (self.amount(most_in), self.amount(most_out), self.choice());
            self.rows.push(constraint!(discharge <= most_out * feeds));
            self.rows.push(constraint!(charge <= most_in - most_in * feeds));
            level += request.eta_c * charge - discharge / request.eta_d;
            let stored = self.amount(battery.capacity() * KWH);
            self.rows.push(constraint!(level.clone() == stored));
            self.meter[step] += charge - discharge;
            let exports = self.exports[step];
            if !battery.charge_from_grid {
                self.rows.push(constraint!(charge <= most_in * exports));
            }
            if !battery.discharge_to_grid {
                self.rows.push(constraint!(discharge <= most_out - most_out * exports));
            }
            let worth = self.weight(5e-5 * f64::from(battery.c_priority), step);
            self.objective += worth * charge + worth * discharge;
            self.add_bounds(battery, step, stored);
            self.add_demand(battery, step, charge, stored);
            if step + 1 == steps {
                self.objective += battery.p_a / base * stored;
            }
        }
    }

    fn add_bounds(&mut self, battery: &Battery, step: usize, stored: Variable) {
        let (above, below) = (self.amount(MUCH), self.amount(MUCH));
        self.rows.push(constraint!(stored - above <= battery.s_max * KWH));
        self.rows.push(constraint!(stored + below >= battery.s_min * KWH));
        self.objective -= 1000.0 * above + 1000.0 * below;
        let goal = battery.s_goal.as_ref().map_or(0.0, |goal| goal[step]);
        if step > 0 && goal > 0.0 {
            let missed = self.amount(MUCH);
            self.rows.push(constraint!(stored + missed >= goal * KWH));
            self.objective -= 100.0 * missed;
        }
    }

    fn add_demand(&mut self, battery: &Battery, step: usize, charge: Variable, stored: Variable) {
        let hours = self.request.hours(step);
        let full = battery.s_max * KWH;
        let (least, most) = (battery.c_min * hours * KWH, battery.c_max * hours * KWH);
        let is_demanded = battery.p_demand.as_ref().is_some_and(|demand| demand[step] > 0.0);
        let mut topped = Expression::from(0.0);
        if is_demanded {
            let demand = battery.demand(step, hours) * KWH;
            let (missed, almost, reached) = (self.amount(MUCH), self.choice(), self.choice());
            self.rows.push(constraint!(full - stored <= full - full * almost + least));
            self.rows.push(constraint!(full - stored <= full - full * reached));
            self.rows.push(constraint!(charge + missed >= demand - demand * reached));
            let steps = self.request.steps() as f64;
            self.objective -= 100.0 * (1.0 + (steps - step as f64) / steps) * missed;
            topped += least * almost;
        }
        if battery.c_min > 0.0 {
            let is_on = self.choice();
            self.rows.push(constraint!(charge + topped >= least * is_on));
            self.rows.push(constraint!(charge <= most * is_on));
        }
    }

    fn add_grid(&mut self) {
        let request = self.request;
        let (series, base) = (&request.time_series, request.base());
        let rate = self.amount(MUCH);
        let mut powers: [Vec<Expression>; 2] = [Vec::new(), Vec::new()];
        for step in 0..request.steps() {
            let hours = request.hours(step);
            let (import, export) = (self.amount(MUCH), self.amount(MUCH));
            let exports = self.exports[step];
            self.rows.push(constraint!(export <= MUCH * exports));
            self.rows.push(constraint!(import <= MUCH - MUCH * exports));
            let (mut over, mut lost) = (Expression::from(0.0), Expression::from(0.0));
            if let Some(limit) = request.grid.p_max_imp {
                let (beyond, below) = (self.amount(MUCH), self.choice());
                let limit = limit * hours * KWH;
                self.rows.push(constraint!(import <= limit));
                self.rows.push(constraint!(limit - import <= limit * below));
                self.rows.push(constraint!(beyond <= MUCH - MUCH * below));
                self.rows.push(constraint!(beyond <= hours * rate));
                if !request.has_rate() {
                    self.objective -= 100.0 * beyond;
                }
                over += beyond;
            }
            if let Some(limit) = request.grid.p_max_exp {
                let (beyond, below) = (self.amount(MUCH), self.choice());
                let limit = limit * hours * KWH;
                self.rows.push(constraint!(export <= limit));
                self.rows.push(constraint!(limit - export <= limit * below));
                self.rows.push(constraint!(beyond <= MUCH - MUCH * below));
                self.objective -= 100.0 * (1.0 - step as f64 * 1e-5) * beyond;
                lost += beyond;
            }
            let (all_in, all_out) = (over + import, lost + export);
            let net = self.meter[step].clone();
            self.rows.push(constraint!(all_in.clone() - all_out.clone() == net));
            self.objective -= series.p_N[step] / base * all_in.clone();
            self.objective += series.p_E[step] / base * export;
            self.add_strategy(step, import, export);
            powers[0].push(all_in / hours);
            powers[1].push(all_out / hours);
        }
        if let Some(price) = request.grid.prc_p_exc_imp.filter(|_| request.has_rate()) {
            self.objective -= price / base * rate;
        }
        let (imports, exports) = request.levels();
        for (powers, _) in powers.into_iter().zip([imports, exports]).filter(|side| side.1) {
            self.add_peaks(&powers);
        }
    }

    fn add_strategy(&mut self, step: usize, import: Variable, export: Variable) {
        let batteries = self.request.batteries.len() as f64;
        if self.request.strategy.charging_strategy == "charge_before_export" {
            self.objective -= self.weight(2e-5 * batteries, step) * export;
        }
        if self.request.strategy.discharging_strategy == "discharge_before_import" {
            self.objective -= self.weight(5e-6 * batteries, step) * import;
        }
    }

    fn add_peaks(&mut self, powers: &[Expression]) {
        let peak = self.amount(MUCH);
        self.objective -= 1e-3 * peak;
        for power in powers {
            self.rows.push(constraint!(power.clone() <= peak));
        }
        for pair in powers.windows(2) {
            let ramp = self.amount(MUCH);
            self.objective -= 1e-5 * ramp;
            self.rows.push(constraint!(pair[1].clone() - pair[0].clone() <= ramp));
            self.rows.push(constraint!(pair[0].clone() - pair[1].clone() <= ramp));
        }
    }
}

//! The site as a mixed-integer programme: what is least in turn is energy that
//! drives lack, that of early drives, missing energy, missing energy at early
//! deadlines, what stays missing on departure, and money. Every choice is a whole number from the start.
use good_lp::solvers::highs::highs;
use good_lp::{
    Constraint, Expression, ProblemVariables, Solution, SolutionStatus, SolverModel, Variable,
    constraint, variable,
};

use crate::site::case::{Car, Site};
use crate::site::interpreter::{earliness, earliness_of_drive};

/// Tolerance of the solver, far below what a later stage may give up.
const TOLERANCE: f64 = 1e-8;

/// What later stages may give up of each earlier one, in kWh. The room of one lets the
/// next find less than is true, by the ratio of their weights, and must not shut out what is.
const SLACK_KWH: [f64; 5] = [1e-7, 1e-6, 1e-6, 1e-5, 5e-5];

/// Nodes after which the programme is given up.
const NODES_MAX: i32 = 5_000;

/// Least values, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Optimum {
    pub(crate) lacking: f64,
    pub(crate) lacking_early: f64,
    pub(crate) missing: f64,
    pub(crate) early: f64,
    pub(crate) late: f64,
    pub(crate) cost: f64,
}

struct Milp<'s> {
    site: &'s Site,
    variables: ProblemVariables,
    rows: Vec<Constraint>,
    /// Energy through the meter, and through the group, in each slot.
    meter: Vec<Expression>,
    group: Vec<Expression>,
    /// Flows `(slot, flow, most)` that need a slot without import, and one without export.
    without_import: Vec<(usize, Variable, f64)>,
    without_export: Vec<(usize, Variable, f64)>,
    lacking: Expression,
    lacking_early: Expression,
    missing: Expression,
    early: Expression,
    late: Expression,
}

/// The optimum of a site, or `None` where the solver finds none.
pub(crate) fn optimum(site: &Site) -> Option<Optimum> {
    let mut before = Vec::new();
    let drives = site.cars.iter().any(|car| !car.drives.is_empty());
    for stage in 0..SLACK_KWH.len() {
        // Without drives nothing lacks energy for one.
        let value = if stage < 2 && !drives { 0.0 } else { least(site, &before)? };
        before.push(value);
    }
    let cost = least(site, &before)? * unit(site);
    let value = |stage: usize| before[stage].max(0.0);
    Some(Optimum {
        lacking: value(0),
        lacking_early: value(1),
        missing: value(2),
        early: value(3),
        late: value(4),
        cost,
    })
}

/// Largest price, so that money is of the size of energy.
fn unit(site: &Site) -> f64 {
    let prices = site.prices.iter().chain(site.export.iter().flatten());
    let most = prices.fold(0.0, |most: f64, price| most.max(price.abs()));
    if most > 0.0 { most } else { 1.0 }
}

/// Least value of the next objective, with those before it at theirs.
fn least(site: &Site, before: &[f64]) -> Option<f64> {
    let slots = site.prices.len();
    let mut milp = Milp {
        site,
        variables: ProblemVariables::new(),
        rows: Vec::new(),
        meter: (0..slots).map(|slot| Expression::from(site.fixed_kw(slot) * site.hours)).collect(),
        group: vec![Expression::from(0.0); slots],
        without_import: Vec::new(),
        without_export: Vec::new(),
        lacking: Expression::from(0.0),
        lacking_early: Expression::from(0.0),
        missing: Expression::from(0.0),
        early: Expression::from(0.0),
        late: Expression::from(0.0),
    };
    for car in &site.cars {
        milp.add_car(car);
    }
    milp.add_home();
    let money = milp.add_meter();
    let Milp { variables, mut rows, lacking, lacking_early, missing, early, late, .. } = milp;
    let mut objectives = vec![lacking, lacking_early, missing, early, late, money];
    for ((objective, value), slack) in objectives.iter().zip(before).zip(SLACK_KWH) {
        rows.push(constraint!(objective.clone() <= *value + slack));
    }
    let objective = objectives.swap_remove(before.len());
    let mut model = variables.minimise(objective.clone()).using(highs);
    for option in ["mip_feasibility_tolerance", "primal_feasibility_tolerance"] {
        model = model.set_option(option, TOLERANCE);
    }
    model = model.set_option("mip_rel_gap", 1e-8).set_option("mip_abs_gap", 1e-7).set_threads(1);
    model = model.set_option("mip_max_nodes", NODES_MAX);
    // Presolve cuts off some optima, at every tolerance.
    model = model.set_option("presolve", "off");
    for row in rows {
        model.add_constraint(row);
    }
    let solution = model.solve().ok()?;
    // A gap within the options above is an optimum, too.
    let is_decided = !matches!(solution.status(), SolutionStatus::TimeLimit);
    is_decided.then(|| solution.eval(&objective))
}

impl Milp<'_> {
    fn amount(&mut self, most: f64) -> Variable {
        self.variables.add(variable().min(0.0).max(most))
    }

    fn choice(&mut self) -> Variable {
        self.variables.add(variable().binary())
    }

    fn add_car(&mut self, car: &Car) {
        let most = car.most_kw * self.site.hours;
        let least = car.least_kw * self.site.hours;
        let mut levels = vec![Expression::from(car.level())];
        let mut ended = Expression::from(0.0);
        for slot in 0..car.departure {
            let (floor, ceiling) = (0.0, car.most(car.driven(slot)));
            let most = if car.is_away(slot) { 0.0 } else { most };
            let (charge, on) = (self.amount(most), self.choice());
            self.rows.push(constraint!(charge <= most * on));
            let mut level = self.drive(car, slot, levels[slot].clone()) + charge;
            self.meter[slot] += charge;
            if !car.grid.charge_from {
                self.without_import.push((slot, charge, most));
            }
            if car.in_group {
                self.group[slot] += charge;
            }
            if car.gives_back.is_some() {
                let back = self.amount(most);
                self.rows.push(constraint!(back <= most - most * on));
                level -= back;
                self.meter[slot] -= back;
                if !car.grid.discharge_to {
                    self.without_export.push((slot, back, most));
                }
                if car.in_group {
                    self.group[slot] -= back;
                }
            }
            self.rows.push(constraint!(level.clone() >= floor));
            self.rows.push(constraint!(level.clone() <= ceiling));
            // A car that arrives above its charge limit charges up to the limit only.
            if let Some(limit) = car.limit.filter(|&limit| limit < ceiling) {
                let above = ceiling - limit;
                self.rows.push(constraint!(level.clone() <= ceiling - above * on));
            }
            // A run that ended in the slot before is not gone on with.
            self.rows.push(constraint!(ended + on <= 1.0));
            ended = Expression::from(0.0);
            if least > 0.0 {
                for end in car.run_ends() {
                    let ends = self.choice();
                    self.rows.push(constraint!(level.clone() >= floor + (end - floor) * ends));
                    let room = (ceiling - end) * ends;
                    self.rows.push(constraint!(level.clone() <= ceiling - room));
                    ended += ends;
                }
                self.rows.push(constraint!(charge >= least * on - least * ended.clone()));
                self.rows.push(constraint!(ended.clone() <= on));
            }
            levels.push(level);
        }
        self.add_wishes(car, &levels);
    }

    /// Level after the drive that begins with a slot, if one does. A car that lacks energy comes
    /// back empty.
    fn drive(&mut self, car: &Car, slot: usize, level: Expression) -> Expression {
        let Some(&(start, _, kwh)) = car.drives.iter().find(|drive| drive.0 == slot) else {
            return level;
        };
        let (lack, lacks) = (self.amount(kwh), self.choice());
        let after = level - kwh + lack;
        let most = car.full(0) + car.level();
        self.rows.push(constraint!(lack <= kwh * lacks));
        self.rows.push(constraint!(after.clone() >= 0.0));
        self.rows.push(constraint!(after.clone() <= most - most * lacks));
        self.lacking += car.priority * lack;
        self.lacking_early += car.priority * earliness_of_drive(self.site, start) * lack;
        after
    }

    fn add_wishes(&mut self, car: &Car, levels: &[Expression]) {
        let late = self.amount(1e3);
        self.late += car.priority * late;
        for &(by, level) in &car.targets {
            let wanted = level.min(car.full(car.driven(by - 1)));
            self.missing += car.priority * (level - wanted);
            self.early += car.priority * earliness(self.site, by) * (level - wanted);
            let miss = self.amount(wanted);
            self.rows.push(constraint!(levels[by].clone() + miss >= wanted));
            self.missing += car.priority * miss;
            self.early += car.priority * earliness(self.site, by) * miss;
            if by < car.departure && car.is_last_stay(by) {
                let is_missed = self.choice();
                self.rows.push(constraint!(miss <= wanted * is_missed));
                let end = levels[car.departure].clone();
                self.rows.push(constraint!(end + late >= wanted * is_missed));
            }
        }
    }

    fn add_home(&mut self) {
        let Some(home) = self.site.home else { return };
        let most = home.kw * self.site.hours;
        let mut level = Expression::from(home.level);
        for slot in 0..self.site.prices.len() {
            let (charge, back, charges) = (self.amount(most), self.amount(most), self.choice());
            self.rows.push(constraint!(charge <= most * charges));
            self.rows.push(constraint!(back <= most - most * charges));
            level += home.efficiency_in * charge - back / home.efficiency_out;
            self.rows.push(constraint!(level.clone() >= 0.0));
            self.rows.push(constraint!(level.clone() <= home.capacity));
            self.meter[slot] += charge - back;
            if !home.grid.charge_from {
                self.without_import.push((slot, charge, most));
            }
            if !home.grid.discharge_to {
                self.without_export.push((slot, back, most));
            }
        }
    }

    /// Limits and money, in units of the largest price.
    fn add_meter(&mut self) -> Expression {
        let unit = unit(self.site);
        let sun = self.site.sun_kw.iter().copied().fold(0.0, f64::max);
        let total: f64 = self.site.cars.iter().map(|car| car.most_kw).sum::<f64>() + 20.0 + sun;
        let mut money = Expression::from(0.0);
        for slot in 0..self.site.prices.len() {
            let (import, export) = (self.amount(total), self.amount(total));
            // An idle meter is neither: it allows charges and discharges that keep off the grid.
            let imports = self.choice();
            let exports: Expression =
                if sun > 0.0 { self.choice().into() } else { Expression::from(1.0) - imports };
            self.rows.push(constraint!(imports + exports.clone() <= 1.0));
            self.rows.push(constraint!(import <= total * imports));
            self.rows.push(constraint!(export <= total * exports.clone()));
            self.rows.push(constraint!(self.meter[slot].clone() == import - export));
            for &(_, flow, most) in self.without_import.iter().filter(|guarded| guarded.0 == slot) {
                self.rows.push(constraint!(flow <= most - most * imports));
            }
            for &(_, flow, most) in self.without_export.iter().filter(|guarded| guarded.0 == slot) {
                self.rows.push(constraint!(flow <= most - most * exports.clone()));
            }
            if let Some(most) = self.site.import_limit {
                self.rows.push(constraint!(import <= most * self.site.hours));
            }
            if let Some(most) = self.site.group_limit {
                self.rows.push(constraint!(self.group[slot].clone() <= most * self.site.hours));
                self.rows.push(constraint!(self.group[slot].clone() >= -most * self.site.hours));
            }
            let earns = self.site.export.as_ref().map_or(0.0, |prices| prices[slot]);
            money += self.site.prices[slot] / unit * import - earns / unit * export;
        }
        money
    }
}

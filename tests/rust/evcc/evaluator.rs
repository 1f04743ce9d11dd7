//! Objective of the contract and its rules, from a request and a response alone.
use serde::Deserialize;
use serde_json::Value;

/// Energy in Wh that rounding may move.
pub(crate) const DUST_WH: f64 = 2e-3;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Battery {
    #[serde(default)]
    pub(crate) charge_from_grid: bool,
    #[serde(default)]
    pub(crate) discharge_to_grid: bool,
    pub(crate) s_capacity: Option<f64>,
    pub(crate) s_min: f64,
    pub(crate) s_max: f64,
    pub(crate) s_initial: f64,
    pub(crate) c_min: f64,
    pub(crate) c_max: f64,
    pub(crate) d_max: f64,
    pub(crate) p_a: f64,
    pub(crate) p_demand: Option<Vec<f64>>,
    pub(crate) s_goal: Option<Vec<f64>>,
    #[serde(default)]
    pub(crate) c_priority: u32,
}

impl Battery {
    pub(crate) fn capacity(&self) -> f64 {
        self.s_capacity.unwrap_or(self.s_max)
    }

    /// Demand of a step, at most the energy of the highest power.
    pub(crate) fn demand(&self, step: usize, hours: f64) -> f64 {
        self.p_demand.as_ref().map_or(0.0, |demand| demand[step].min(self.c_max * hours))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Grid {
    pub(crate) p_max_imp: Option<f64>,
    pub(crate) p_max_exp: Option<f64>,
    pub(crate) prc_p_exc_imp: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Strategy {
    #[serde(default)]
    pub(crate) charging_strategy: String,
    #[serde(default)]
    pub(crate) discharging_strategy: String,
}

#[derive(Debug, Clone, Deserialize)]
#[expect(non_snake_case, reason = "the names of the contract")]
pub(crate) struct Series {
    pub(crate) dt: Vec<f64>,
    pub(crate) gt: Vec<f64>,
    pub(crate) ft: Vec<f64>,
    pub(crate) p_N: Vec<f64>,
    pub(crate) p_E: Vec<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Request {
    #[serde(default)]
    pub(crate) strategy: Strategy,
    #[serde(default)]
    pub(crate) grid: Grid,
    pub(crate) batteries: Vec<Battery>,
    pub(crate) time_series: Series,
    pub(crate) eta_c: f64,
    pub(crate) eta_d: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct BatteryResponse {
    pub(crate) charging_power: Vec<f64>,
    pub(crate) discharging_power: Vec<f64>,
    pub(crate) state_of_charge: Vec<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Response {
    pub(crate) batteries: Vec<BatteryResponse>,
    pub(crate) grid_import: Vec<f64>,
    pub(crate) grid_export: Vec<f64>,
    #[serde(default)]
    pub(crate) grid_import_overshoot: Vec<f64>,
    #[serde(default)]
    pub(crate) grid_export_overshoot: Vec<f64>,
}

/// Value of a schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evaluation {
    /// Objective with all penalties and strategies.
    pub(crate) objective: f64,
    /// Money without them: the contract's `objective_value`, counted from `s_initial`.
    pub(crate) money: f64,
}

impl Request {
    pub(crate) fn read(value: &Value) -> Self {
        serde_json::from_value(value.clone()).expect("a request of the contract")
    }

    pub(crate) fn steps(&self) -> usize {
        self.time_series.dt.len()
    }

    pub(crate) fn hours(&self, step: usize) -> f64 {
        self.time_series.dt[step] / 3600.0
    }

    pub(crate) fn has_rate(&self) -> bool {
        self.grid.p_max_imp.is_some() && self.grid.prc_p_exc_imp.is_some()
    }

    /// Price of which all penalties are multiples.
    pub(crate) fn base(&self) -> f64 {
        let series = &self.time_series;
        let prices = series.p_N.iter().chain(&series.p_E).copied();
        let most = prices.chain(self.batteries.iter().map(|battery| battery.p_a));
        let most = most.fold(1e-4, f64::max);
        let shortest = series.dt.iter().copied().fold(f64::INFINITY, f64::min);
        let rate = self.grid.prc_p_exc_imp.filter(|_| self.has_rate()).unwrap_or(0.0);
        most.max(rate * 3600.0 / shortest)
    }

    pub(crate) fn lowest_price(&self) -> f64 {
        self.time_series.p_N.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Sides `(import, export)` that a strategy keeps level.
    pub(crate) fn levels(&self) -> (bool, bool) {
        match self.strategy.charging_strategy.as_str() {
            "attenuate_demand_peaks" => (true, false),
            "attenuate_feedin_peaks" => (false, true),
            "attenuate_grid_peaks" => (true, true),
            _ => (false, false),
        }
    }
}

/// Judges a schedule: an error names the rule that it breaks.
pub(crate) fn evaluate(request: &Request, response: &Response) -> Result<Evaluation, String> {
    for (index, battery) in request.batteries.iter().enumerate() {
        keeps_battery(request, battery, &response.batteries[index])
            .map_err(|rule| format!("battery {index}: {rule}"))?;
    }
    for step in 0..request.steps() {
        keeps_grid(request, response, step).map_err(|rule| format!("step {step}: {rule}"))?;
    }
    let (money, total) = worth(request, response);
    let penalties: f64 = request
        .batteries
        .iter()
        .zip(&response.batteries)
        .map(|(battery, schedule)| battery_penalties(request, battery, schedule))
        .sum();
    let objective = total - request.base() * (penalties + grid_penalties(request, response))
        + strategies(request, response);
    Ok(Evaluation { objective, money })
}

fn rule(holds: bool, text: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}

fn at(series: &[f64], step: usize) -> f64 {
    series.get(step).copied().unwrap_or(0.0)
}

fn keeps_battery(
    request: &Request,
    battery: &Battery,
    schedule: &BatteryResponse,
) -> Result<(), String> {
    let mut level = battery.s_initial;
    for step in 0..request.steps() {
        let hours = request.hours(step);
        let (charge, discharge) = (schedule.charging_power[step], schedule.discharging_power[step]);
        level += request.eta_c * charge - discharge / request.eta_d;
        let told = schedule.state_of_charge[step];
        rule((level - told).abs() <= DUST_WH, || format!("{told} Wh after {step}, not {level}"))?;
        let range = -DUST_WH..=battery.capacity() + DUST_WH;
        rule(range.contains(&level), || format!("{level} Wh after {step}"))?;
        let most = |watts: f64| -1e-9..=watts * hours + DUST_WH;
        rule(most(battery.c_max).contains(&charge), || format!("charges {charge} in {step}"))?;
        rule(most(battery.d_max).contains(&discharge), || format!("feeds {discharge} in {step}"))?;
        rule(charge.min(discharge) <= DUST_WH, || format!("charges and feeds in {step}"))?;
        let least = battery.c_min * hours;
        let is_top_off = battery.p_demand.as_ref().is_some_and(|demand| demand[step] > 0.0)
            && level >= battery.s_max - least - DUST_WH;
        let is_on = charge <= DUST_WH || charge >= least - DUST_WH || is_top_off;
        rule(is_on, || format!("charges {charge} in {step}, less than {least}"))?;
    }
    Ok(())
}

fn keeps_grid(request: &Request, response: &Response, step: usize) -> Result<(), String> {
    let series = &request.time_series;
    let flows = response
        .batteries
        .iter()
        .map(|battery| battery.charging_power[step] - battery.discharging_power[step]);
    let net = series.gt[step] - series.ft[step] + flows.sum::<f64>();
    let over = at(&response.grid_import_overshoot, step);
    let lost = at(&response.grid_export_overshoot, step);
    let within = if request.has_rate() {
        response.grid_import[step] - over
    } else {
        response.grid_import[step]
    };
    let (import, export) = (within + over, response.grid_export[step] + lost);
    rule((net - import + export).abs() <= DUST_WH, || {
        format!("{net} Wh are drawn, {import} imported and {export} exported")
    })?;
    let limit =
        |watts: Option<f64>| watts.map_or(f64::INFINITY, |watts| watts * request.hours(step));
    let (most_in, most_out) = (limit(request.grid.p_max_imp), limit(request.grid.p_max_exp));
    rule(within <= most_in + DUST_WH, || format!("{within} Wh imported"))?;
    rule(over <= DUST_WH || within >= most_in - DUST_WH, || "above a limit not reached".into())?;
    let out = response.grid_export[step];
    rule(out <= most_out + DUST_WH, || format!("{out} Wh exported"))?;
    rule(lost <= DUST_WH || out >= most_out - DUST_WH, || "lost below the limit".into())?;
    rule(import.min(export) <= DUST_WH, || "imports and exports".into())?;
    for (battery, schedule) in request.batteries.iter().zip(&response.batteries) {
        let charges = schedule.charging_power[step] > DUST_WH;
        rule(battery.charge_from_grid || !charges || import <= DUST_WH, || {
            "charges from the grid".into()
        })?;
        let feeds = schedule.discharging_power[step] > DUST_WH;
        let is_closed = request.grid.p_max_exp == Some(0.0);
        rule(battery.discharge_to_grid || !feeds || export <= DUST_WH || is_closed, || {
            "discharges into the grid".into()
        })?;
    }
    Ok(())
}

/// Money of a schedule: with the value of what it adds to the batteries, and of all at the end.
fn worth(request: &Request, response: &Response) -> (f64, f64) {
    let series = &request.time_series;
    let mut flows = 0.0;
    let mut highest = 0.0_f64;
    for step in 0..request.steps() {
        let over = at(&response.grid_import_overshoot, step);
        let above = if request.has_rate() { 0.0 } else { over };
        flows += series.p_E[step] * response.grid_export[step]
            - series.p_N[step] * (response.grid_import[step] + above);
        highest = highest.max(over / request.hours(step));
    }
    flows -= request.grid.prc_p_exc_imp.filter(|_| request.has_rate()).unwrap_or(0.0) * highest;
    let mut money = flows;
    let mut total = flows;
    for (battery, schedule) in request.batteries.iter().zip(&response.batteries) {
        let levels = &schedule.state_of_charge;
        let last = *levels.last().expect("a step");
        money += battery.p_a * (last - battery.s_initial);
        total += battery.p_a * last;
    }
    (money, total)
}

/// Penalties of a battery, in units of the base.
fn battery_penalties(request: &Request, battery: &Battery, schedule: &BatteryResponse) -> f64 {
    let count = request.steps() as f64;
    let beyond = |wh: f64| if wh > DUST_WH { wh } else { 0.0 };
    (0..request.steps())
        .map(|step| {
            let level = schedule.state_of_charge[step];
            let outside = beyond(level - battery.s_max) + beyond(battery.s_min - level);
            let goal = battery.s_goal.as_ref().map_or(0.0, |goal| goal[step]);
            let short = if step > 0 { beyond(goal - level) } else { 0.0 };
            let demand = battery.demand(step, request.hours(step));
            let missed = if level >= battery.s_max - DUST_WH {
                0.0
            } else {
                beyond(demand - schedule.charging_power[step])
            };
            let early = 1.0 + (count - step as f64) / count;
            1000.0 * outside + 100.0 * short + 100.0 * early * missed
        })
        .sum()
}

/// Penalties of the grid, in units of the base.
fn grid_penalties(request: &Request, response: &Response) -> f64 {
    let over: f64 = response.grid_import_overshoot.iter().sum();
    let lost = response.grid_export_overshoot.iter().enumerate();
    let lost: f64 = lost.map(|(step, wh)| (1.0 - step as f64 * 1e-5) * wh).sum();
    let (imports, exports) = request.levels();
    let power = |step: usize, series: &[f64], beyond: &[f64], is_rate: bool| {
        let more = if is_rate { 0.0 } else { at(beyond, step) };
        (series[step] + more) / request.hours(step)
    };
    let mut level = 0.0;
    for (is_on, series, beyond, is_rate) in [
        (imports, &response.grid_import, &response.grid_import_overshoot, request.has_rate()),
        (exports, &response.grid_export, &response.grid_export_overshoot, false),
    ] {
        if !is_on {
            continue;
        }
        let powers: Vec<f64> =
            (0..request.steps()).map(|step| power(step, series, beyond, is_rate)).collect();
        let ramps: f64 = powers.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        level += 1e-3 * powers.iter().copied().fold(0.0, f64::max) + 1e-5 * ramps;
    }
    100.0 * (lost + if request.has_rate() { 0.0 } else { over }) + level
}

/// Weights of the strategies and priorities, in money.
fn strategies(request: &Request, response: &Response) -> f64 {
    let lowest = request.lowest_price();
    let count = request.steps();
    let batteries = request.batteries.len() as f64;
    let is_early = request.strategy.charging_strategy == "charge_before_export";
    let is_own = request.strategy.discharging_strategy == "discharge_before_import";
    let mut sum = 0.0;
    for step in 0..count {
        let left = (count - step) as f64;
        if is_early {
            sum -= response.grid_export[step] * lowest * 2e-5 * left * batteries;
        }
        if is_own {
            // The part above a limit has no such weight.
            let over = at(&response.grid_import_overshoot, step);
            let within = response.grid_import[step] - if request.has_rate() { over } else { 0.0 };
            sum -= within * lowest * 5e-6 * left * batteries;
        }
        for (battery, schedule) in request.batteries.iter().zip(&response.batteries) {
            let through = schedule.charging_power[step] + schedule.discharging_power[step];
            sum += through * lowest * 5e-5 * left * f64::from(battery.c_priority);
        }
    }
    sum
}

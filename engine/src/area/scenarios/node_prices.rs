//! Pricing problem of one vehicle: the cheapest use of its nodes at their prices.
//!
//! ```text
//! P_v(λ) = min over e of  C_v(e) + Σ_s C_vs(E_v − e)
//! ```
//!
//! The marginal costs of `C_v` and `C_vs` are the prices of their slots in rising order; after its
//! slots `C_vs` goes on with missing energy at `π_s·v`. The sum over `s` is a step function of the
//! energy `r` left for later. Starting at `r = E_v`, energy moves to the shared slots, the cheapest
//! first, while it costs less there than the last µWh later.
//!
//! The slots are sorted once for all vehicles. A vehicle takes `O(n + b·log b)` for `n` nodes and
//! the `b` of them in which it could charge later.
use crate::area::problem::micro_wh::as_kwh;
use crate::area::scenarios::problem::{ScenarioProblem, ScenarioVehicle};

/// Prices `c_n` of the nodes, with the slots in rising order of price.
pub(crate) struct NodePrices<'a> {
    problem: &'a ScenarioProblem,
    /// Price of each node, weighted by its probability.
    prices: Vec<f64>,
    /// Shared slots.
    first: Vec<usize>,
    /// Later slots of each scenario that cost less than missing energy.
    later: Vec<Vec<usize>>,
}

/// Marginal cost of the energy left for later: its value for the last µWh if all is left, and the
/// energies at which it falls on the way down, with the differences.
struct LaterCosts {
    all: f64,
    steps: Vec<(i64, f64)>,
}

impl<'a> NodePrices<'a> {
    /// Prices at the duals of the nodes.
    pub(crate) fn new(problem: &'a ScenarioProblem, duals: &[f64]) -> Self {
        let nodes = problem.nodes.iter().zip(duals);
        let prices: Vec<f64> =
            nodes.map(|(node, dual)| node.probability * node.price + dual).collect();
        let sorted = |scenario: usize, slots: std::ops::Range<usize>| {
            let price = |slot: usize| prices[problem.node(scenario, slot)];
            let mut slots: Vec<usize> = slots.collect();
            slots.sort_by(|&a, &b| price(a).total_cmp(&price(b)));
            slots
        };
        let first = sorted(0, 0..problem.shared);
        let later = problem.probabilities.iter().enumerate().map(|(scenario, share)| {
            let mut slots = sorted(scenario, problem.shared..problem.horizon.len());
            let missing = share * problem.shortfall_price;
            slots.retain(|&slot| prices[problem.node(scenario, slot)] < missing);
            slots
        });
        let later = later.collect();
        Self { problem, prices, first, later }
    }

    /// Energy of a vehicle in each node, in µWh, at the least cost.
    pub(crate) fn take_cheapest(&self, vehicle: &ScenarioVehicle) -> Vec<i64> {
        let mut taken = vec![0; self.problem.nodes.len()];
        let left = self.take_shared(vehicle, &mut taken);
        for (scenario, slots) in self.later.iter().enumerate() {
            let mut wanted = left;
            for &slot in slots {
                let energy = vehicle.most[slot].min(wanted);
                taken[self.problem.node(scenario, slot)] = energy;
                wanted -= energy;
                if wanted == 0 {
                    break;
                }
            }
        }
        taken
    }

    /// Takes energy in the shared slots, and returns what is left for later.
    fn take_shared(&self, vehicle: &ScenarioVehicle, taken: &mut [i64]) -> i64 {
        let LaterCosts { all: mut saved, steps } = self.later_costs(vehicle);
        let mut steps = steps.into_iter().peekable();
        let mut left = vehicle.energy;
        for &slot in &self.first {
            let price = self.prices[slot];
            let mut room = vehicle.most[slot];
            while room > 0 && left > 0 && price < saved {
                let step = steps.peek().map_or(0, |&(end, _)| end);
                let energy = room.min(left - step);
                taken[slot] += energy;
                room -= energy;
                left -= energy;
                while let Some((_, difference)) = steps.next_if(|&(end, _)| end >= left) {
                    saved -= difference;
                }
            }
            if left == 0 || price >= saved {
                break;
            }
        }
        left
    }

    /// Marginal costs of the energy that is left for later.
    fn later_costs(&self, vehicle: &ScenarioVehicle) -> LaterCosts {
        let problem = self.problem;
        let mut costs = LaterCosts { all: 0.0, steps: Vec::new() };
        for (scenario, slots) in self.later.iter().enumerate() {
            let (mut end, mut last) = (0, None);
            let missing = problem.probabilities[scenario] * problem.shortfall_price;
            let prices = slots
                .iter()
                .map(|&slot| (self.prices[problem.node(scenario, slot)], vehicle.most[slot]));
            for (price, most) in prices.chain([(missing, i64::MAX)]).filter(|one| one.1 > 0) {
                if end >= vehicle.energy {
                    break;
                }
                if let Some(last) = last {
                    costs.steps.push((end, price - last));
                }
                last = Some(price);
                end = most.saturating_add(end);
            }
            costs.all += last.unwrap_or(0.0);
        }
        costs.steps.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
        costs
    }

    /// Expected cost of one more kWh beyond the energy `left_kwh` that a vehicle charges later or
    /// misses.
    pub(crate) fn next_later(&self, vehicle: &ScenarioVehicle, left_kwh: f64) -> f64 {
        let problem = self.problem;
        let next = |(scenario, slots): (usize, &Vec<usize>)| {
            let mut end = 0;
            let node = slots.iter().find(|&&slot| {
                end += vehicle.most[slot];
                as_kwh(end) > left_kwh
            });
            let missing = problem.probabilities[scenario] * problem.shortfall_price;
            node.map_or(missing, |&slot| self.prices[problem.node(scenario, slot)])
        };
        self.later.iter().enumerate().map(next).sum()
    }

    /// Highest price of the shared slots in which a vehicle charges; `None` if it does not.
    pub(crate) fn highest_shared(&self, energies_kwh: &[f64], least_kwh: f64) -> Option<f64> {
        let used = (0..self.problem.shared).filter(|&slot| energies_kwh[slot] > least_kwh);
        used.map(|slot| self.prices[slot]).max_by(f64::total_cmp)
    }
}

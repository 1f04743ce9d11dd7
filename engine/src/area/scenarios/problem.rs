//! Vehicles and scenarios of an area, checked, and the nodes that they make.
use chrono::{DateTime, Utc};

use crate::area::problem::doubts::find_node_doubts;
use crate::area::problem::limits::{Limit, Node, Profile, base_loads_kw};
use crate::area::problem::micro_wh::{MICRO_WH_MAX, as_kwh, to_micro_wh};
use crate::columns::fleet::Fleet;
use crate::columns::row_error::RowError;
use crate::plan::policy::price_states::{PriceStatesError, check_distribution};
use crate::plan::policy::uncertain_prices::{UncertainPricesError, check_same_slots};
use crate::plausibility::Doubt;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::SUM_ROUNDING;
use crate::units::{MICROS_PER_HOUR, Power, Price};

/// Name of the list of scenarios in messages.
const LIST: &str = "scenarios";

/// Course of prices and of the limit that may come true.
#[derive(Debug, Clone)]
pub struct AreaScenario<'a> {
    /// Probability, from 0 to 1.
    pub probability: f64,
    /// Prices that all vehicles pay, with the same slots in all scenarios.
    pub prices: &'a PriceCurve,
    /// Highest power of all vehicles and the base load together; `None` for no limit.
    pub limit: Option<Profile>,
    /// Power of everything but the vehicles, negative if it feeds in. A base load above the limit
    /// leaves no capacity.
    pub base: Option<Profile>,
}

impl AreaScenario<'_> {
    /// Finds powers that are hardly in kW. Nothing is wrong with the scenario for it.
    ///
    /// # Arguments
    /// * `fleet`: vehicles that the limit is for.
    /// * `place`: words for the scenario in a message, such as `scenarios[0]`.
    #[must_use]
    pub fn find_power_doubts(&self, fleet: &Fleet<'_>, place: &str) -> Vec<Doubt> {
        let slots = self.prices.horizon().len();
        let limit = |power_max: Profile| Limit::Import { power_max, price: None };
        let limits = self.limit.clone().map(limit).into_iter().collect();
        let node = Node { name: String::new(), parent: None, base: self.base.clone(), limits };
        let base = base_loads_kw(std::slice::from_ref(&node), slots);
        let base_kw = base.iter().flatten().fold(0.0, |most: f64, load| most.max(load.abs()));
        let powers = fleet.power_max_kw.iter().filter(|power| power.is_finite());
        let below_kw = powers.fold(base_kw, |sum, power| sum + power.abs());
        find_node_doubts(&node, below_kw, (slots, place))
    }
}

/// Vehicles and scenarios that cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// Probabilities that are none, or do not add up to 1.
    #[error(transparent)]
    Probabilities(#[from] PriceStatesError),
    /// Curves without a price, or with other slots.
    #[error(transparent)]
    Curves(#[from] UncertainPricesError),
    /// Prices that differ before the scenario is known.
    #[error(
        "{LIST}[{scenario}] has a price of {found} at {at}, where {LIST}[0] has {expected}; until \
         known_from all scenarios have the same prices"
    )]
    SharedPrice {
        /// Position of the scenario.
        scenario: usize,
        /// Start of the slot.
        at: DateTime<Utc>,
        /// Its price per kWh.
        found: f64,
        /// Price of the first scenario.
        expected: f64,
    },
    /// Limits that differ before the scenario is known.
    #[error(
        "limit_kw and base_kw of {LIST}[{scenario}] leave {found} kW at {at}, where those of \
         {LIST}[0] leave {expected} kW; until known_from all scenarios leave the same"
    )]
    SharedLimit {
        /// Position of the scenario.
        scenario: usize,
        /// Start of the slot.
        at: DateTime<Utc>,
        /// Power left in kW.
        found: f64,
        /// Power that the first scenario leaves.
        expected: f64,
    },
    /// Profile of another length than the prices.
    #[error("{field} of {LIST}[{scenario}] has {found} slots; the prices have {expected}")]
    Profile {
        /// Position of the scenario.
        scenario: usize,
        /// Name of the profile.
        field: &'static str,
        /// Slots of the profile.
        found: usize,
        /// Slots of the prices.
        expected: usize,
    },
    /// Negative limit.
    #[error("limit_kw of {LIST}[{scenario}] is {} kW; a limit is 0 kW or more", power.as_kw())]
    NegativeLimit {
        /// Position of the scenario.
        scenario: usize,
        /// The limit.
        power: Power,
    },
    /// Missing energy that earns money.
    #[error("shortfall_price_per_kwh is {}; a missing kWh costs 0 or more", price.as_per_kwh())]
    NegativeShortfallPrice {
        /// The price.
        price: Price,
    },
    /// Need that is not planned with scenarios.
    #[error(
        "{column} of row {row} is not planned with scenarios; leave it out, or plan the area \
             with one course of prices"
    )]
    Need {
        /// Row of the vehicle.
        row: usize,
        /// Name of the column.
        column: &'static str,
    },
    /// The energy of all vehicles exceeds what sums in whole µWh can hold.
    #[error("the vehicles want {energy_kwh:e} kWh together; an area has at most 4e9 kWh")]
    TooMuchEnergy {
        /// Energy of all vehicles in kWh.
        energy_kwh: f64,
    },
}

/// Vehicle in whole µWh.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScenarioVehicle {
    /// Time at the plug, in microseconds since 1970.
    pub(crate) arrival: i64,
    pub(crate) departure: i64,
    /// Energy wanted, `E_v`.
    pub(crate) energy: i64,
    /// Most energy of each slot, `u_vt`; 0 outside of the stay.
    pub(crate) most: Vec<i64>,
}

/// Shared slot, or later slot in one scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TreeNode {
    pub(crate) slot: usize,
    /// Scenario of a later slot; `None` if the slot is shared.
    pub(crate) scenario: Option<usize>,
    pub(crate) probability: f64,
    /// Price per kWh.
    pub(crate) price: f64,
    /// Energy that the limit leaves for the vehicles, in kWh; infinite without a limit.
    pub(crate) capacity_kwh: f64,
}

/// Checked vehicles and scenarios. Planning them returns no error.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioProblem {
    pub(crate) horizon: Horizon,
    /// Number of shared slots, which come first.
    pub(crate) shared: usize,
    pub(crate) probabilities: Vec<f64>,
    /// Shared slots, and then the later slots of each scenario.
    pub(crate) nodes: Vec<TreeNode>,
    /// Vehicles by row; rows with an error are not planned.
    pub(crate) vehicles: Vec<Result<ScenarioVehicle, RowError>>,
    /// Price of missing energy per kWh.
    pub(crate) shortfall_price: f64,
}

impl ScenarioProblem {
    /// Checks vehicles and scenarios. The scenario is known at `known_from`; a slot that has begun by
    /// then is shared.
    ///
    /// A wrong value in a row of the fleet is no error here. It is reported for that row in the
    /// plan, and the other rows are planned. The fleet has one price curve, so `Fleet::curve` is not
    /// used.
    ///
    /// # Errors
    /// Probabilities do not add up to 1, scenarios differ in their slots or before `known_from`, a
    /// profile is of the wrong length, a limit or the price of missing energy is negative, or a
    /// vehicle has a reserve or targets before its departure; see [`ScenarioError`].
    pub fn new(
        fleet: &Fleet<'_>,
        scenarios: &[AreaScenario<'_>],
        known_from: DateTime<Utc>,
        shortfall_price: Price,
    ) -> Result<Self, ScenarioError> {
        let mut probabilities: Vec<f64> = scenarios.iter().map(|one| one.probability).collect();
        let horizon =
            scenarios.first().map(|first| first.prices.horizon().clone()).unwrap_or_default();
        if horizon.is_empty() {
            return Err(UncertainPricesError::NoPrice { list: LIST, index: 0 }.into());
        }
        check_distribution("probabilities of scenarios", None, probabilities.iter().copied())?;
        let sum: f64 = probabilities.iter().sum();
        if (sum - 1.0).abs() > SUM_ROUNDING {
            for share in &mut probabilities {
                *share /= sum;
            }
        }
        if shortfall_price < Price::ZERO {
            return Err(ScenarioError::NegativeShortfallPrice { price: shortfall_price });
        }
        let known_from = micros_of(known_from);
        let shared = horizon.starts().partition_point(|&start| start < known_from);
        let mut capacities = Vec::with_capacity(scenarios.len());
        for (at, scenario) in scenarios.iter().enumerate() {
            check_same_slots((LIST, at, 0), scenario.prices.horizon(), &horizon)?;
            capacities.push(capacity_of(at, scenario, &horizon)?);
            check_shared((at, shared), (scenarios, &capacities), &horizon)?;
        }
        let numbers = |scenario: usize, slot: usize| -> (f64, f64) {
            (scenarios[scenario].prices.prices()[slot], capacities[scenario][slot])
        };
        let nodes = nodes_of((horizon.len(), shared), &probabilities, numbers);
        let vehicles = read_vehicles(fleet, &horizon)?;
        let shortfall_price = shortfall_price.as_per_kwh();
        Ok(Self { horizon, shared, probabilities, nodes, vehicles, shortfall_price })
    }

    /// Slots of the prices.
    #[must_use]
    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Probabilities of the scenarios.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// Number of slots that all scenarios share.
    #[must_use]
    pub fn shared_slots(&self) -> usize {
        self.shared
    }

    /// Error of a row that is not planned.
    #[must_use]
    pub fn row_error(&self, row: usize) -> Option<RowError> {
        self.vehicles.get(row).and_then(|vehicle| vehicle.as_ref().err().copied())
    }

    /// Number of rows of the fleet.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.vehicles.len()
    }

    /// Most hours of a stay without a price.
    #[must_use]
    pub fn unpriced_hours(&self) -> f64 {
        let stays = self.vehicles.iter().flatten();
        stays.map(|vehicle| self.unpriced_stay_hours(vehicle)).fold(0.0, f64::max)
    }

    /// Hours of the stay of a vehicle without a price.
    pub(crate) fn unpriced_stay_hours(&self, vehicle: &ScenarioVehicle) -> f64 {
        let (arrival, departure) = (vehicle.arrival, vehicle.departure);
        let priced = self.horizon.covered(arrival, departure);
        (departure - arrival - priced) as f64 / MICROS_PER_HOUR
    }

    /// Position of the node of a slot in a scenario.
    pub(crate) fn node(&self, scenario: usize, slot: usize) -> usize {
        let later = self.horizon.len() - self.shared;
        if slot < self.shared { slot } else { slot + scenario * later }
    }

    /// Energy that all vehicles want, in kWh.
    pub(crate) fn need_kwh(&self) -> f64 {
        as_kwh(self.vehicles.iter().flatten().map(|vehicle| vehicle.energy).sum())
    }

    /// Cost of a kWh that the limit takes away at a node.
    pub(crate) fn curtailment_price(&self, node: &TreeNode) -> f64 {
        node.probability * (self.shortfall_price - node.price)
    }

    /// Problem with one certain course of price and capacity, and other vehicles.
    pub(crate) fn with_certain(
        &self,
        numbers: impl Fn(usize) -> (f64, f64),
        vehicles: Vec<Result<ScenarioVehicle, RowError>>,
    ) -> Self {
        let slots = self.horizon.len();
        let probabilities = vec![1.0];
        let nodes = nodes_of((slots, slots), &probabilities, |_, slot| numbers(slot));
        let (horizon, shortfall_price) = (self.horizon.clone(), self.shortfall_price);
        Self { horizon, shared: slots, probabilities, nodes, vehicles, shortfall_price }
    }

    /// Price and capacity of a slot in a scenario.
    pub(crate) fn numbers(&self, scenario: usize, slot: usize) -> (f64, f64) {
        let node = &self.nodes[self.node(scenario, slot)];
        (node.price, node.capacity_kwh)
    }
}

/// Shared nodes, and those of each scenario. `numbers` gives price and capacity by scenario and slot.
fn nodes_of(
    (slots, shared): (usize, usize),
    probabilities: &[f64],
    numbers: impl Fn(usize, usize) -> (f64, f64),
) -> Vec<TreeNode> {
    let node = |slot, scenario: Option<usize>, probability| {
        let (price, capacity_kwh) = numbers(scenario.unwrap_or(0), slot);
        TreeNode { slot, scenario, probability, price, capacity_kwh }
    };
    let first = (0..shared).map(|slot| node(slot, None, 1.0));
    let later = probabilities.iter().enumerate().flat_map(|(scenario, &probability)| {
        (shared..slots).map(move |slot| (slot, scenario, probability))
    });
    first.chain(later.map(|(slot, scenario, share)| node(slot, Some(scenario), share))).collect()
}

/// Energy that limit and base load of a scenario leave in each slot, in kWh.
fn capacity_of(
    scenario: usize,
    given: &AreaScenario<'_>,
    horizon: &Horizon,
) -> Result<Vec<f64>, ScenarioError> {
    for (field, profile) in [("limit_kw", &given.limit), ("base_kw", &given.base)] {
        if let Some(Profile::PerSlot(powers)) = profile
            && powers.len() != horizon.len()
        {
            let (found, expected) = (powers.len(), horizon.len());
            return Err(ScenarioError::Profile { scenario, field, found, expected });
        }
    }
    let power = |profile: &Option<Profile>, slot| profile.as_ref().and_then(|one| one.at(slot));
    let capacity = |slot: usize| match power(&given.limit, slot) {
        None => Ok(f64::INFINITY),
        Some(power) if power < Power::ZERO => Err(ScenarioError::NegativeLimit { scenario, power }),
        Some(limit) => {
            let base = self::base_kw(power(&given.base, slot));
            Ok((limit.as_kw() - base).max(0.0) * horizon.hours(slot))
        }
    };
    (0..horizon.len()).map(capacity).collect()
}

/// Base load in kW; none is 0.
fn base_kw(power: Option<Power>) -> f64 {
    power.map_or(0.0, Power::as_kw)
}

/// Checks that a scenario has the prices and capacities of the first one in the shared slots.
fn check_shared(
    (scenario, shared): (usize, usize),
    (scenarios, capacities): (&[AreaScenario<'_>], &[Vec<f64>]),
    horizon: &Horizon,
) -> Result<(), ScenarioError> {
    for (slot, &start) in horizon.starts().iter().enumerate().take(shared) {
        let at = instant_at(start);
        let price = |scenario: usize| scenarios[scenario].prices.prices()[slot];
        let (found, expected) = (price(scenario), price(0));
        if found.total_cmp(&expected).is_ne() {
            return Err(ScenarioError::SharedPrice { scenario, at, found, expected });
        }
        let power = |scenario: usize| capacities[scenario][slot] / horizon.hours(slot);
        let (found, expected) = (power(scenario), power(0));
        if found.total_cmp(&expected).is_ne() {
            return Err(ScenarioError::SharedLimit { scenario, at, found, expected });
        }
    }
    Ok(())
}

/// Vehicles by row.
fn read_vehicles(
    fleet: &Fleet<'_>,
    horizon: &Horizon,
) -> Result<Vec<Result<ScenarioVehicle, RowError>>, ScenarioError> {
    let mut vehicles = Vec::with_capacity(fleet.len());
    let mut sum_kwh = 0.0;
    for row in 0..fleet.len() {
        if fleet.has_targets(row) {
            return Err(ScenarioError::Need { row, column: "targets" });
        }
        let vehicle = match fleet.vehicle(row) {
            Ok(vehicle) => vehicle,
            Err(error) => {
                vehicles.push(Err(error));
                continue;
            }
        };
        if !vehicle.reserve.is_zero() {
            return Err(ScenarioError::Need { row, column: "reserve" });
        }
        let (arrival, departure) = (vehicle.arrival, vehicle.departure);
        let mut most_kwh = vec![0.0; horizon.len()];
        for slot in horizon.overlapping(arrival, departure) {
            let start = horizon.starts()[slot].max(arrival);
            let micros = horizon.ends()[slot].min(departure) - start;
            most_kwh[slot] = vehicle.power_max.as_kw() * (micros as f64 / MICROS_PER_HOUR);
        }
        sum_kwh += vehicle.energy.as_kwh() + most_kwh.iter().sum::<f64>();
        // Sums in µWh must not overflow, so nothing is converted before this check.
        if sum_kwh > as_kwh(MICRO_WH_MAX as i64) {
            return Err(ScenarioError::TooMuchEnergy { energy_kwh: sum_kwh });
        }
        let energy = to_micro_wh(vehicle.energy.as_kwh());
        let most = most_kwh.into_iter().map(to_micro_wh).collect();
        vehicles.push(Ok(ScenarioVehicle { arrival, departure, energy, most }));
    }
    Ok(vehicles)
}

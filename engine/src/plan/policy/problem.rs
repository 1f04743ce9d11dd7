//! Vehicle that charges while prices are uncertain.
use crate::plan::policy::price_states::{PriceStates, PriceStatesError, check_distribution};
use crate::time::horizon::Horizon;
use crate::units::{Energy, Power, Price};

/// Most numbers that the marginal costs of one slot may hold, 32 MB.
pub(crate) const MARGINAL_COSTS_MAX: usize = 4_000_000;

/// Energy wanted by a vehicle that leaves at a time known by its distribution.
#[derive(Debug, Clone, Copy)]
pub struct PolicyProblem<'a> {
    /// Slots of the prices.
    pub horizon: &'a Horizon,
    /// Prices and their probabilities.
    pub prices: &'a PriceStates,
    /// Most power of each slot; a single one holds for all.
    pub power_max: &'a [Power],
    /// Energy wanted at the plug.
    pub energy: Energy,
    /// Price of a kWh that is missing when the vehicle leaves.
    pub shortfall_price: Price,
    /// Probability that the vehicle leaves at the end of each slot. None: it stays to the last.
    pub departures: Option<&'a [f64]>,
}

/// Invalid problem of a policy.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Prices that are no distribution.
    #[error(transparent)]
    Prices(#[from] PriceStatesError),
    /// List of another length than the number of slots.
    #[error("{field} has {length} entries for {slots} slots")]
    Length {
        /// List that is wrong.
        field: &'static str,
        /// Its length.
        length: usize,
        /// Number of slots of the horizon.
        slots: usize,
    },
    /// Negative power.
    #[error("power_max[{index}] is {} kW; a power is 0 or more", power.as_kw())]
    NegativePower {
        /// Position of the power.
        index: usize,
        /// The power.
        power: Power,
    },
    /// Negative energy.
    #[error("energy_kwh is {} kWh; an energy is 0 kWh or more", energy.as_kwh())]
    NegativeEnergy {
        /// The energy.
        energy: Energy,
    },
    /// So many different powers that the marginal costs of a slot would not fit memory.
    #[error(
        "slot {slot} would have more than {MARGINAL_COSTS_MAX} marginal costs; use fewer states, or \
         powers that are multiples of one another"
    )]
    TooManyCosts {
        /// Position of the slot.
        slot: usize,
    },
}

impl PolicyProblem<'_> {
    /// Checks lengths, signs and the distribution of departures.
    pub(crate) fn check(&self) -> Result<(), PolicyError> {
        let slots = self.horizon.len();
        let check_length = |field, length| {
            if length == slots { Ok(()) } else { Err(PolicyError::Length { field, length, slots }) }
        };
        check_length("prices", self.prices.slots())?;
        if self.power_max.len() != 1 {
            check_length("power_max", self.power_max.len())?;
        }
        if let Some(departures) = self.departures {
            check_length("departures", departures.len())?;
            check_distribution("probabilities of departures", None, departures.iter().copied())?;
        }
        if let Some(index) = self.power_max.iter().position(|&power| power < Power::ZERO) {
            return Err(PolicyError::NegativePower { index, power: self.power_max[index] });
        }
        if self.energy < Energy::ZERO {
            return Err(PolicyError::NegativeEnergy { energy: self.energy });
        }
        Ok(())
    }

    /// Most energy of a slot, `P_t`, in kWh.
    pub(crate) fn most_kwh(&self, slot: usize) -> f64 {
        let only_one = self.power_max.len() == 1;
        let power = self.power_max[if only_one { 0 } else { slot }];
        power.as_kw() * self.horizon.hours(slot)
    }

    /// Probability that a vehicle which is still there leaves at the end of each slot, `q_t`.
    pub(crate) fn leaving(&self) -> Vec<f64> {
        let last = self.horizon.len().saturating_sub(1);
        let mut stays = 1.0;
        let shares = (0..self.horizon.len()).map(|slot| {
            let leaves = self.departures.map_or(0.0, |departures| departures[slot]);
            let share = if slot == last || leaves >= stays { 1.0 } else { leaves / stays };
            stays -= leaves;
            share
        });
        shares.collect()
    }
}

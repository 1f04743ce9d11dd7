//! One stay that a caller steps through by itself: an environment for learning.
use std::sync::Arc;

use crate::simulate::command::Command;
use crate::simulate::exact::Milliwatts;
use crate::simulate::facts::Facts;
use crate::simulate::forecast::{ForecastBook, KnownPrices};
use crate::simulate::receding_horizon::decision_instants;
use crate::simulate::regret::Relaxation;
use crate::simulate::run::{LengthError, SimulationOptions};
use crate::simulate::session::{Session, Step};
use crate::simulate::view::View;
use crate::statistics::fixed::Amount;
use crate::units::{Power, UnitError};

/// Time from one decision to the next in an episode, with its reward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeStep {
    /// Energy and cost.
    pub step: Step,
    /// True if the vehicle has left at the end.
    pub has_left: bool,
    /// Cost of the step, negated; at the departure also that of the energy that is missing. The
    /// rewards of all steps add up to the negated cost of the stay.
    pub reward: Amount,
}

/// The first stay of some facts, from decision to decision.
pub struct Episode {
    facts: Facts,
    book: Arc<ForecastBook>,
    horizon: i64,
    /// Instants of decision, and the departure at the end.
    instants: Vec<i64>,
    next: usize,
    session: Session,
    known: KnownPrices,
}

impl Episode {
    /// The episode before its first decision; `None` without a stay.
    ///
    /// # Errors
    /// The step or the horizon is not positive.
    pub fn new(
        facts: Facts,
        book: Arc<ForecastBook>,
        options: &SimulationOptions,
    ) -> Result<Option<Self>, LengthError> {
        options.check()?;
        let Some(stay) = facts.stays().first() else { return Ok(None) };
        let session = Session::new(0, stay, Relaxation::default());
        let mut instants = decision_instants(&facts, &book, options.step_micros());
        // Decisions before the arrival are that of the arrival.
        let before = instants.partition_point(|&at| at <= session.arrival);
        instants.drain(..before.max(1) - 1);
        instants[0] = session.arrival;
        instants.retain(|&at| at <= session.departure);
        let known = book.known_at(facts.prices(), session.arrival);
        let horizon = options.horizon.and_then(|length| length.num_microseconds());
        let horizon = horizon.unwrap_or(i64::MAX);
        Ok(Some(Self { facts, book, horizon, instants, next: 0, session, known }))
    }

    /// Everything that is known now; `None` after the departure.
    #[must_use]
    pub fn view(&self) -> Option<View<'_>> {
        let [now, until] = *self.instants.get(self.next..self.next + 2)? else { return None };
        Some(View::new(&self.session, &self.known, self.facts.prices(), (now, until), self.horizon))
    }

    /// Holds a power until the next decision; `None` after the departure.
    pub fn advance(&mut self, power: Power) -> Option<Step> {
        let [start, end] = *self.instants.get(self.next..self.next + 2)? else { return None };
        let meter = &mut self.session.meter;
        let before = (meter.drawn, meter.cost, meter.carbon_kg);
        let command = Command { start, end, power: Milliwatts::from_power(power) };
        meter.settle(&self.facts, &[command], (start, end));
        let step = Step {
            start,
            end,
            energy_kwh: (meter.drawn - before.0).as_kwh(),
            missing_kwh: meter.missing.as_kwh(),
            cost: meter.cost.amount() - before.1.amount(),
            carbon_kg: meter.carbon_kg - before.2,
        };
        self.next += 1;
        if end < self.session.departure {
            self.known = self.book.known_at(self.facts.prices(), end);
        }
        Some(step)
    }

    /// Holds a share of the highest power, cut to 0 to 1, until the next decision; `None` after the
    /// departure.
    ///
    /// # Errors
    /// The share is not a number.
    pub fn advance_by_share(&mut self, share: f64) -> Result<Option<EpisodeStep>, UnitError> {
        let Some(view) = self.view() else { return Ok(None) };
        let power = Power::from_kw(share.clamp(0.0, 1.0) * view.power_max().as_kw())?;
        let Some(step) = self.advance(power) else { return Ok(None) };
        let has_left = self.view().is_none();
        let missing = if has_left { self.shortfall_cost() } else { Amount::ZERO };
        Ok(Some(EpisodeStep { step, has_left, reward: -(step.cost + missing) }))
    }

    /// Cost of the energy that is missing now, if the vehicle left.
    #[must_use]
    pub fn shortfall_cost(&self) -> Amount {
        let meter = &self.session.meter;
        meter.total(&self.facts).amount() - meter.cost.amount()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::*;
    use crate::prices::curve::tests::curve_of;
    use crate::simulate::device::ChargeDevice;
    use crate::simulate::facts::Stay;
    use crate::units::{kw, kwh};

    #[test]
    fn stepping_through_a_stay_settles_it() {
        let arrival: DateTime<Utc> = "2026-01-05T18:20:00Z".parse().unwrap();
        let departure = arrival + TimeDelta::minutes(50);
        let device = ChargeDevice::ideal(kw(6.0));
        let stay = Stay { home: 0, arrival, departure, need: kwh(4.0), device };
        let facts = Facts::new(curve_of(60, &[30, 10]), vec![stay], None).unwrap();
        let options = SimulationOptions::default();
        let mut episode = Episode::new(facts, Arc::default(), &options).unwrap().unwrap();
        let mut told = Vec::new();
        while let Some(view) = episode.view() {
            let (now, known) = (view.now(), view.prices().len());
            let step = episode.advance(kw(6.0)).unwrap();
            let minute = (now - arrival).num_minutes();
            told.push((minute, known, (step.energy_kwh * 60.0).round(), step.cost.as_units()));
        }
        // 18:20, 18:30, 18:45, 19:00: the price of the present hour is known, and no other.
        let expected =
            [(0, 1, 60.0, 0.3), (10, 1, 90.0, 0.45), (25, 1, 90.0, 0.45), (40, 1, 0.0, 0.0)];
        assert_eq!(told, expected);
        assert!(episode.advance(kw(6.0)).is_none());
        assert_eq!(episode.shortfall_cost(), Amount::ZERO);
    }

    #[test]
    fn rewards_add_up_to_the_cost_with_what_is_missing() {
        let arrival: DateTime<Utc> = "2026-01-05T18:20:00Z".parse().unwrap();
        let departure = arrival + TimeDelta::minutes(50);
        let device = ChargeDevice::ideal(kw(6.0));
        let stay = Stay { home: 0, arrival, departure, need: kwh(4.0), device };
        let facts = Facts::new(curve_of(60, &[30, 10]), vec![stay], None).unwrap();
        let options = SimulationOptions::default();
        let mut episode = Episode::new(facts, Arc::default(), &options).unwrap().unwrap();
        assert!(episode.advance_by_share(f64::NAN).is_err());
        let (mut rewards, mut left) = (Amount::ZERO, Vec::new());
        // Half the power, and more than the highest in the last step.
        for share in [0.5, 0.5, 0.5, 7.0] {
            let made = episode.advance_by_share(share).unwrap().unwrap();
            rewards += made.reward;
            left.push(made.has_left);
        }
        // 2 kWh at 0.30, 1 kWh at 0.10, and the missing kWh at the highest price.
        assert_eq!(rewards.to_string(), "-1.000000000000");
        assert_eq!(left, [false, false, false, true]);
        assert!(episode.advance_by_share(1.0).unwrap().is_none());
    }
}

//! Estimate of the power that a device takes while it charges, from observations.
//!
//! A limit is an upper bound. A vehicle with a small on-board charger always takes less, and a
//! plan made with the limit would schedule only a fraction of the hours that it needs.
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::device::charge_state::ChargeState;
use crate::device::place::{NEAR_KM, Point};
use slackwater_engine::units::{Percent, Power, percent};

/// Time after the start of charging before readings count, because power still rises.
const SETTLED: TimeDelta = TimeDelta::minutes(1);

/// Above this state of charge a battery may take less than its charger could.
const MAY_TAPER: Percent = percent(80.0);

/// Lowest power that counts as charging: the standards for vehicle charging go no lower than 6 A
/// on one phase, so lower power is a pause imposed by another controller.
const LEAST_KW: f64 = 1.0;

/// Share of the allowed power from which a device counts as limited by it.
const ALL_ALLOWED: f64 = 0.9;

/// Relative difference below which two powers are equal, so that rounding of a reading does not
/// cause a new plan.
const ALIKE: f64 = 0.05;

/// A look at a device.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Its charging, as its manufacturer reports it.
    pub charging: &'a ChargeState,
    /// State of charge.
    pub soc: Option<Percent>,
    /// Position of the device.
    pub position: Option<Point>,
    /// Time at which the manufacturer received data from the device.
    pub at: DateTime<Utc>,
}

/// Observed power of a device.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uptake {
    /// The first look at charging that has gone on since.
    charging_since: Option<DateTime<Utc>>,
    /// True if the plug was in at the last observation.
    #[serde(default)]
    is_plugged: bool,
    /// The most that it took while it charged steadily.
    most: Option<Most>,
    /// Power at the last observation of steady charging in this stay, if it was clearly less than
    /// allowed.
    #[serde(default, rename = "last_kw")]
    last: Option<Power>,
}

/// The most that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Most {
    #[serde(rename = "power_kw")]
    power: Power,
    /// True if that was all the allowed power.
    is_all_allowed: bool,
    /// True if the plug has stayed in since.
    is_of_stay: bool,
    position: Option<Point>,
}

impl Uptake {
    /// Estimate after one more observation; `None` if nothing is known.
    ///
    /// Observations count from a minute after the start of charging, up to 80 % state of charge.
    /// A device that charges at the first observation of a stay started earlier by itself; that
    /// observation counts, because it may be the only one before a plan delays charging. The
    /// highest power of a stay is kept, because lower power may be due to sharing with other
    /// devices. It is kept for the next stay at the same place; if the place is unknown, it is
    /// dropped at unplugging.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_control::device::charge_state::ChargeState;
    /// use slackwater_control::device::power_state::PowerState;
    /// use slackwater_control::device::uptake::{Look, Uptake};
    /// use slackwater_engine::units::kw;
    /// let charging = ChargeState {
    ///     power_state: PowerState::Charging,
    ///     is_plugged_in: Some(true),
    ///     is_charging: Some(true),
    ///     is_fully_charged: None,
    ///     charge_rate: Some(kw(3.7)),
    ///     charge_time_remaining_minutes: None,
    ///     charge_rate_limit: Some(kw(11.0)),
    ///     last_updated: None,
    /// };
    /// let mut uptake = None;
    /// for at in ["2026-01-05T18:00:00Z", "2026-01-05T18:02:00Z"] {
    ///     let at = at.parse().unwrap();
    ///     uptake = Uptake::after(uptake, Look { charging: &charging, soc: None, position: None, at });
    /// }
    /// assert_eq!(Uptake::power_max(uptake, Some(kw(11.0))), Some(kw(3.7)));
    /// ```
    #[must_use]
    pub fn after(before: Option<Self>, look: Look<'_>) -> Option<Self> {
        let before = before.unwrap_or_default();
        let began = before.charging_since.unwrap_or(look.at);
        let charging_since = look.charging.is_on().then_some(began);
        // An unknown plug is taken to be where it was.
        let is_plugged = look.charging.is_plugged().unwrap_or(before.is_plugged);
        let has_arrived = is_plugged && !before.is_plugged;
        let has_settled =
            charging_since.is_some_and(|since| has_arrived || look.at - since >= SETTLED);
        // An estimate of another place is dropped before the present power is compared with it.
        let most = before.most.and_then(|most| most.remembered(look));
        let power = look.power().filter(|_| has_settled);
        let most = power.map_or(most, |power| Some(Most::seen(most, power, look)));
        // Power near the limit says nothing about the device itself, so it is not remembered.
        let last = match look.taken().filter(|_| has_settled) {
            Some(power) => Some(power).filter(|power| !look.is_all_allowed(*power)),
            None => before.last.filter(|_| is_plugged),
        };
        let is_any = charging_since.is_some() || is_plugged || most.is_some();
        is_any.then_some(Self { charging_since, is_plugged, most, last })
    }

    /// Power at the last observation of charging in this stay, at any state of charge; `None` if
    /// there was none, or if it was all the allowed power.
    #[must_use]
    pub fn power_last(uptake: Option<Self>) -> Option<Power> {
        uptake.and_then(|uptake| uptake.last)
    }

    /// Highest power to plan with: the limit, or the observed power if it was clearly less than
    /// allowed. `None` if both are unknown.
    #[must_use]
    pub fn power_max(uptake: Option<Self>, limit: Option<Power>) -> Option<Power> {
        let most = uptake.and_then(|uptake| uptake.most);
        match (most.map(|most| (most.power, most.is_all_allowed)), limit) {
            (None | Some((_, true)), limit) => limit,
            (Some((power, false)), Some(limit)) => Some(power.min(limit)),
            (Some((power, false)), None) => Some(power),
        }
    }
}

impl Look<'_> {
    /// Observed power that shows how much the device can take.
    fn power(&self) -> Option<Power> {
        let may_taper = self.soc.is_some_and(|soc| soc > MAY_TAPER);
        self.taken().filter(|_| !may_taper && self.charging.is_fully_charged != Some(true))
    }

    /// Power of charging, and not of a pause.
    fn taken(&self) -> Option<Power> {
        self.charging.charge_rate.filter(|power| power.as_kw() >= LEAST_KW)
    }

    /// Returns true if a power is about all that the limit allows.
    fn is_all_allowed(&self, power: Power) -> bool {
        let limit = self.charging.charge_rate_limit;
        limit.is_some_and(|limit| power.as_kw() >= ALL_ALLOWED * limit.as_kw())
    }

    fn is_at(&self, place: Option<Point>) -> bool {
        let distance = self.position.zip(place).map(|(here, there)| here.distance_km(&there));
        distance.is_some_and(|km| km <= NEAR_KM)
    }
}

impl Most {
    /// Part of the estimate that still holds at an observation: none at another place.
    fn remembered(self, look: Look<'_>) -> Option<Self> {
        match look.charging.is_plugged() {
            Some(false) => {
                Some(Self { is_of_stay: false, ..self }).filter(|most| most.position.is_some())
            }
            // At the first look of a new stay the position decides, and without one the estimate is
            // dropped.
            Some(true) if !self.is_of_stay => Some(self).filter(|most| look.is_at(most.position)),
            Some(true) | None => Some(self),
        }
    }

    /// Estimate updated with an observed power.
    fn seen(before: Option<Self>, power: Power, look: Look<'_>) -> Self {
        let is_all_allowed = look.is_all_allowed(power);
        let now = Self { power, is_all_allowed, is_of_stay: true, position: look.position };
        let Some(before) = before else { return now };
        let is_better = if before.is_like(power) {
            // The device was allowed more and did not take it.
            before.is_all_allowed && !is_all_allowed
        } else {
            // Within a stay the highest power counts; a new stay replaces the estimate of an
            // earlier one.
            power > before.power || !before.is_of_stay
        };
        if is_better { now } else { Self { is_of_stay: true, ..before } }
    }

    fn is_like(&self, power: Power) -> bool {
        (power.as_kw() - self.power.as_kw()).abs() <= ALIKE * self.power.as_kw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::power_state::PowerState;
    use proptest::prelude::*;
    use slackwater_engine::units::kw;

    const HOME: Point = Point { latitude: 59.91, longitude: 10.75 };

    fn state(power_state: PowerState, rate: Option<f64>, limit: Option<f64>) -> ChargeState {
        ChargeState {
            power_state,
            is_plugged_in: power_state.is_plugged_in(),
            is_charging: Some(power_state == PowerState::Charging),
            is_fully_charged: Some(power_state == PowerState::Complete),
            charge_rate: rate.map(kw),
            charge_time_remaining_minutes: None,
            charge_rate_limit: limit.map(kw),
            last_updated: None,
        }
    }

    fn on(rate: f64, limit: f64) -> ChargeState {
        state(PowerState::Charging, Some(rate), Some(limit))
    }

    fn off() -> ChargeState {
        state(PowerState::Stopped, None, Some(11.0))
    }

    fn out() -> ChargeState {
        state(PowerState::Unplugged, None, None)
    }

    /// Looks two minutes apart, at half full, at home.
    fn looked(states: &[ChargeState]) -> Option<Uptake> {
        looked_at(states, |_| (Some(percent(50.0)), Some(HOME)))
    }

    fn looked_at(
        states: &[ChargeState],
        of: impl Fn(usize) -> (Option<Percent>, Option<Point>),
    ) -> Option<Uptake> {
        let begins: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let looks = states.iter().zip((0_i32..).map(|n| begins + TimeDelta::minutes(2) * n));
        looks.enumerate().fold(None, |before, (index, (charging, at))| {
            let (soc, position) = of(index);
            Uptake::after(before, Look { charging, soc, position, at })
        })
    }

    /// The power to plan with at 11 kW.
    fn at_eleven(uptake: Option<Uptake>) -> Power {
        Uptake::power_max(uptake, Some(kw(11.0))).unwrap()
    }

    #[test]
    fn who_takes_less_than_allowed_is_planned_with_what_it_takes() {
        let small = on(3.7, 11.0);
        assert_eq!(at_eleven(looked(&[small.clone(), small.clone()])), kw(3.7));
        // Not before it has settled, and not what nobody says.
        assert_eq!(at_eleven(looked(&[off(), small])), kw(11.0));
        let untold = state(PowerState::Charging, None, Some(11.0));
        assert_eq!(at_eleven(looked(&[untold.clone(), untold])), kw(11.0));
        assert_eq!(at_eleven(looked(&[on(10.4, 11.0), on(10.4, 11.0)])), kw(11.0));
        assert_eq!(Uptake::power_max(None, None), None);
        let unlimited = state(PowerState::Charging, Some(5.0), None);
        let seen = looked(&[unlimited.clone(), unlimited]);
        assert_eq!(Uptake::power_max(seen, None), Some(kw(5.0)));
        assert_eq!(Uptake::power_max(seen, Some(kw(3.0))), Some(kw(3.0)));
    }

    #[test]
    fn the_most_of_a_stay_counts() {
        let at = |rates: &[f64]| {
            let states: Vec<_> = rates.iter().map(|rate| on(*rate, 11.0)).collect();
            at_eleven(looked(&states))
        };
        // A neighbour charges for a while, then not.
        assert_eq!(at(&[3.0, 3.0, 7.0, 3.0]), kw(7.0));
        assert_eq!(at(&[3.0, 3.0, 11.0, 3.0]), kw(11.0));
        // A reading that wavers makes no new plan, and a pause is no power.
        assert_eq!(at(&[3.7, 3.7, 3.8, 3.6]), kw(3.7));
        assert_eq!(at(&[0.2, 0.2]), kw(11.0));
    }

    #[test]
    fn who_charges_when_it_comes_shows_what_it_takes() {
        let small = on(3.7, 11.0);
        let at = |states: &[ChargeState]| at_eleven(looked(states));
        assert_eq!(at(&[out(), small.clone(), off()]), kw(3.7));
        assert_eq!(at(&[small.clone(), off()]), kw(3.7));
        // Where it had been at the plug before, charging may have just begun.
        assert_eq!(at(&[out(), off(), small.clone(), off()]), kw(11.0));
        // What was seen while power rose gives way to more.
        assert_eq!(at(&[out(), on(1.5, 11.0), small]), kw(3.7));
    }

    #[test]
    fn a_limit_that_binds_says_nothing_of_the_vehicle() {
        let capped = [on(1.38, 1.38), on(1.38, 1.38)];
        assert_eq!(at_eleven(looked(&capped)), kw(11.0));
        let lifted = [capped.to_vec(), vec![on(3.7, 11.0)]].concat();
        assert_eq!(at_eleven(looked(&lifted)), kw(3.7));
        let same = [capped.to_vec(), vec![on(1.4, 11.0)]].concat();
        assert_eq!(at_eleven(looked(&same)), kw(1.4));
    }

    #[test]
    fn a_battery_that_is_nearly_full_says_nothing() {
        let small = on(3.7, 11.0);
        let at = |soc| looked_at(&[small.clone(), small.clone()], |_| (soc, None));
        assert_eq!(at_eleven(at(Some(percent(80.0)))), kw(3.7));
        assert_eq!(at_eleven(at(Some(percent(80.1)))), kw(11.0));
        assert_eq!(at_eleven(at(None)), kw(3.7));
        let full = ChargeState { is_fully_charged: Some(true), ..small.clone() };
        assert_eq!(at_eleven(looked(&[full.clone(), full])), kw(11.0));
    }

    #[test]
    fn what_it_took_last_is_known_while_the_plug_is_in() {
        let last = |states: &[ChargeState]| Uptake::power_last(looked(states));
        let (all, some, less) = (on(10.4, 11.0), on(7.0, 11.0), on(3.0, 11.0));
        assert_eq!(last(&[all.clone(), all.clone()]), None);
        assert_eq!(last(&[all.clone(), some.clone(), less.clone()]), Some(kw(3.0)));
        // It is what there is to go by while it stands still, and until it has settled.
        assert_eq!(last(&[all.clone(), less.clone(), off()]), Some(kw(3.0)));
        assert_eq!(last(&[less.clone(), less.clone(), off(), some.clone()]), Some(kw(3.0)));
        // It takes all that it may again, or somebody else's vehicle comes.
        assert_eq!(last(&[less.clone(), less.clone(), all]), None);
        assert_eq!(last(&[less.clone(), less, out(), off()]), None);
        // A pause says nothing, and a battery that is nearly full takes what it takes.
        assert_eq!(last(&[some.clone(), some.clone(), on(0.2, 11.0)]), Some(kw(7.0)));
        let full = looked_at(&[some.clone(), some], |_| (Some(percent(95.0)), None));
        assert_eq!(Uptake::power_last(full), Some(kw(7.0)));
    }

    #[test]
    fn each_start_settles_anew() {
        let small = on(3.7, 11.0);
        assert_eq!(at_eleven(looked(&[off(), small.clone(), off(), small.clone()])), kw(11.0));
        assert_eq!(at_eleven(looked(&[off(), small.clone(), small, off()])), kw(3.7));
    }

    #[test]
    fn it_is_remembered_where_it_was_seen() {
        let (small, away) = (on(3.7, 11.0), HOME.towards(90.0, 5.0));
        let stay = [small.clone(), small, out(), out()];
        let back = [stay.to_vec(), vec![off()]].concat();
        let at = |place: Option<Point>| {
            looked_at(&back, |index| (None, if index < 4 { Some(HOME) } else { place }))
        };
        assert_eq!(at_eleven(at(Some(HOME))), kw(3.7));
        assert_eq!([at(Some(away)), at(None)].map(at_eleven), [kw(11.0); 2]);
        // A charger does not say where it is: the next vehicle may be another.
        assert_eq!(looked_at(&stay, |_| (None, None)), None);
        let again = |rate: f64| {
            let more = vec![off(), on(rate, 11.0), on(rate, 11.0)];
            at_eleven(looked(&[stay.to_vec(), more].concat()))
        };
        assert_eq!(
            [again(2.0), again(3.8), again(7.0), again(11.0)],
            [2.0, 3.7, 7.0, 11.0].map(kw)
        );
    }

    #[test]
    fn it_is_kept_as_it_is() {
        let seen = looked(&[on(3.7, 11.0), on(3.7, 11.0)]);
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Option<Uptake>>(&text).unwrap(), seen);
    }

    proptest! {
        /// With a vehicle that takes all it can under limits that change, a plan has
        /// never less power than it takes, nor more than allowed; once it was seen
        /// under the limit that holds, not clearly more than it takes either.
        #[test]
        fn plans_have_the_power_that_there_is(
            own in 1.4..22.0f64,
            steps in prop::collection::vec((1.4..22.0f64, 0..4_u8), 1..40),
        ) {
            let states: Vec<ChargeState> = steps
                .iter()
                .map(|&(limit, doing)| match doing {
                    0 => ChargeState { charge_rate_limit: Some(kw(limit)), ..off() },
                    _ => on(own.min(limit), limit),
                })
                .collect();
            for end in 1..=states.len() {
                let seen = &states[..end];
                let limit = seen[end - 1].charge_rate_limit.unwrap();
                let power = Uptake::power_max(looked(seen), Some(limit)).unwrap();
                let taken = kw(own).min(limit);
                prop_assert!(power <= limit && power.as_kw() >= taken.as_kw() * (1.0 - ALIKE));
                let is_steady = end > 1 && seen[end - 2..].iter().all(ChargeState::is_on);
                if is_steady {
                    prop_assert!(power.as_kw() <= taken.as_kw() / ALL_ALLOWED + 1e-9);
                }
            }
        }
    }
}

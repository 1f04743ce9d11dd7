//! Status of a schedule at its target.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::command::Switch;
use crate::device::target::TargetReading;
use crate::schedule::place::{TargetType, is_away};
use crate::schedule::transitions::Transition;
use slackwater_engine::words;

words! {
    /// State of a schedule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum ScheduleState {
        /// The target behaves as expected.
        Aligned = "aligned",
        /// The target does not behave as expected, and no action is pending.
        Misaligned = "misaligned",
        /// The target does not behave as expected, and the schedule's action is pending.
        Pending = "pending",
        /// A smart override suspends the schedule.
        Overridden = "inactive_overridden",
        /// The schedule is switched off.
        Disabled = "inactive_disabled",
        /// The target is not where the schedule applies.
        Away = "inactive_away",
        /// The target cannot be started or stopped.
        Incapable = "inactive_incapable",
    }
}

impl ScheduleState {
    /// Returns true if the schedule's rules are applied to the target.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Aligned | Self::Misaligned | Self::Pending)
    }
}

/// Everything that decides on a status.
#[expect(clippy::struct_excessive_bools, reason = "four facts that are independent of each other")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusFacts {
    /// True if the schedule is switched on.
    pub is_enabled: bool,
    /// Kind of target that the schedule switches.
    pub target_type: TargetType,
    /// Location at which the schedule applies.
    pub location_id: Option<String>,
    /// Last reading of the target.
    pub target: TargetReading,
    /// Present verdict of the rules.
    pub should_charge: bool,
    /// True if a smart override is active at the target.
    pub is_overridden: bool,
    /// True if an action that the schedule sent is pending.
    pub is_action_pending: bool,
}

/// Conditions that must all hold for charging to be expected (SCH-33).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedParts {
    /// There is something to charge.
    pub needs_charge: bool,
    /// A plug is in; not known counts as no, unless it charges.
    pub is_plugged_in: bool,
    /// The rules want it.
    pub should_charge: bool,
}

impl ExpectedParts {
    /// Returns true if all parts hold.
    #[must_use]
    pub const fn all(self) -> bool {
        self.needs_charge && self.is_plugged_in && self.should_charge
    }
}

/// Status of a schedule with its reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Exactly one at a time (SCH-45).
    pub state: ScheduleState,
    /// True if the target charges (SCH-34); unknown counts as false.
    pub is_charging: bool,
    /// True if charging is expected, even while the schedule is inactive.
    pub is_charging_expected: bool,
    /// Parts of the condition that lead to it.
    pub parts: ExpectedParts,
}

impl Status {
    /// Derives the status from the facts (SCH-38 to SCH-45, AMB-17).
    ///
    /// The order is: disabled, overridden, away, incapable; then aligned, pending, misaligned. It
    /// is a function of the present facts alone: no state is delayed until it settles.
    ///
    /// # Example
    ///
    /// A car at home is plugged in and should charge, but does not.
    ///
    /// ```
    /// use slackwater_control::device::command::Switch;
    /// use slackwater_control::device::target::TargetReading;
    /// use slackwater_control::schedule::place::TargetType;
    /// use slackwater_control::schedule::status::*;
    /// let target = TargetReading {
    ///     is_plugged_in: Some(true),
    ///     is_charging: Some(false),
    ///     location_id: Some("home".into()),
    ///     is_capable: true,
    ///     ..TargetReading::default()
    /// };
    /// let facts = StatusFacts {
    ///     is_enabled: true,
    ///     target_type: TargetType::Vehicle,
    ///     location_id: Some("home".into()),
    ///     target,
    ///     should_charge: true,
    ///     is_overridden: false,
    ///     is_action_pending: false,
    /// };
    /// let status = Status::of(&facts);
    /// assert_eq!(status.state, ScheduleState::Misaligned);
    /// assert_eq!(status.switch(), Some(Switch::Start));
    /// ```
    #[must_use]
    pub fn of(facts: &StatusFacts) -> Self {
        let target = &facts.target;
        let is_charging = target.is_charging.unwrap_or(false);
        let parts = ExpectedParts {
            needs_charge: target.needs_charge(),
            // If the plug is not reported, charging shows that it is in.
            is_plugged_in: target.is_plugged_in.unwrap_or(is_charging),
            should_charge: facts.should_charge,
        };
        let here = target.location_id.as_deref();
        let state = if !facts.is_enabled {
            ScheduleState::Disabled
        } else if facts.is_overridden {
            ScheduleState::Overridden
        } else if is_away(facts.target_type, facts.location_id.as_deref(), here) {
            ScheduleState::Away
        } else if !target.is_capable {
            ScheduleState::Incapable
        } else if is_charging == parts.all() {
            ScheduleState::Aligned
        } else if facts.is_action_pending {
            ScheduleState::Pending
        } else {
            ScheduleState::Misaligned
        };
        Self { state, is_charging, is_charging_expected: parts.all(), parts }
    }

    /// Switch position that the schedule wants, whether or not the target has it; `None` while
    /// the schedule is inactive or leaves the target as it is.
    ///
    /// A start if charging is expected; a stop only if the rules do not want charging.
    #[must_use]
    pub fn desired(&self) -> Option<Switch> {
        match (self.state.is_active(), self.is_charging_expected, self.parts.should_charge) {
            (true, true, _) => Some(Switch::Start),
            (true, false, false) => Some(Switch::Stop),
            _ => None,
        }
    }

    /// The command that brings the target into line (SCH-25, SCH-26).
    ///
    /// Only a misaligned schedule sends one. A start where charging is
    /// expected; a stop only where the rules do not want charging, so that a
    /// vehicle that keeps drawing at its limit is left to itself.
    #[must_use]
    pub fn switch(&self) -> Option<Switch> {
        match (self.state, self.is_charging_expected, self.parts.should_charge) {
            (ScheduleState::Misaligned, true, _) => Some(Switch::Start),
            (ScheduleState::Misaligned, false, false) => Some(Switch::Stop),
            _ => None,
        }
    }
}

/// All of a status that a reader can see change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Status of the schedule.
    pub status: Status,
    /// Next transitions.
    pub upcoming: Vec<Transition>,
    /// Creation of the active override, if there is one.
    pub override_created_at: Option<DateTime<Utc>>,
}

impl Snapshot {
    /// Time of the last change of any value (SCH-31): `before.1`, the time of the previous
    /// change, if the snapshot equals `before.0`, else `now`. The first snapshot changes at
    /// `now`.
    #[must_use]
    pub fn changed_at(
        &self,
        before: Option<(&Self, DateTime<Utc>)>,
        now: DateTime<Utc>,
    ) -> DateTime<Utc> {
        before.filter(|(earlier, _)| *earlier == self).map_or(now, |(_, changed_at)| changed_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::percent;

    fn facts() -> StatusFacts {
        StatusFacts {
            is_enabled: true,
            target_type: TargetType::Vehicle,
            location_id: Some("home".into()),
            target: TargetReading {
                is_plugged_in: Some(true),
                is_charging: Some(false),
                soc: Some(percent(50.0)),
                charge_limit: Some(percent(80.0)),
                is_fully_charged: Some(false),
                location_id: Some("home".into()),
                is_capable: true,
            },
            should_charge: true,
            is_overridden: false,
            is_action_pending: false,
        }
    }

    #[test]
    fn what_is_ordered_is_what_is_desired() {
        for facts in all_facts() {
            let status = Status::of(&facts);
            let switch = status.switch();
            assert!(switch.is_none() || switch == status.desired(), "{facts:?}");
            assert!(status.state.is_active() || status.desired().is_none(), "{facts:?}");
        }
    }

    /// All facts that a status can depend on.
    fn all_facts() -> Vec<StatusFacts> {
        let mut all = Vec::new();
        let unknown = [None, Some(false), Some(true)];
        for bits in 0..32_u32 {
            let bit = |n: u32| bits >> n & 1 == 1;
            for is_plugged_in in unknown {
                for is_charging in unknown {
                    for is_fully_charged in unknown {
                        for location_id in [None, Some("home".into()), Some("work".into())] {
                            for soc in [None, Some(percent(79.0)), Some(percent(80.0))] {
                                let mut facts = facts();
                                facts.is_enabled = bit(0);
                                facts.is_overridden = bit(1);
                                facts.should_charge = bit(2);
                                facts.is_action_pending = bit(3);
                                facts.target.is_capable = bit(4);
                                facts.target = TargetReading {
                                    is_plugged_in,
                                    is_charging,
                                    is_fully_charged,
                                    soc,
                                    location_id: location_id.clone(),
                                    ..facts.target
                                };
                                all.push(facts);
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// The seven states in words of the specification, asked one by one.
    fn holds(state: ScheduleState, facts: &StatusFacts, status: Status) -> bool {
        let off = !facts.is_enabled;
        let away = facts.target.location_id.as_deref() != Some("home");
        let active = !off && !facts.is_overridden && !away && facts.target.is_capable;
        let differs = status.is_charging != status.is_charging_expected;
        match state {
            ScheduleState::Disabled => off,
            ScheduleState::Overridden => !off && facts.is_overridden,
            ScheduleState::Away => !off && !facts.is_overridden && away,
            ScheduleState::Incapable => {
                !off && !facts.is_overridden && !away && !facts.target.is_capable
            }
            ScheduleState::Aligned => active && !differs,
            ScheduleState::Pending => active && differs && facts.is_action_pending,
            ScheduleState::Misaligned => active && differs && !facts.is_action_pending,
        }
    }

    #[test]
    fn exactly_one_state_for_all_facts() {
        for facts in all_facts() {
            let status = Status::of(&facts);
            let true_ones: Vec<_> =
                ScheduleState::ALL.into_iter().filter(|&s| holds(s, &facts, status)).collect();
            assert_eq!(true_ones, [status.state], "{facts:?}");
            assert_eq!(status.is_charging_expected, status.parts.all());
            assert_eq!(status.parts.should_charge, facts.should_charge);
            assert_eq!(status.is_charging, facts.target.is_charging == Some(true));
            assert_eq!(status.state.is_active(), status.state.as_str().find('_').is_none());
        }
    }

    #[test]
    fn a_command_only_where_it_brings_the_target_into_line() {
        for facts in all_facts() {
            let status = Status::of(&facts);
            let (wanted, is_charging) = (status.is_charging_expected, status.is_charging);
            let is_against_the_rules = is_charging && !facts.should_charge;
            let is_due = status.state == ScheduleState::Misaligned;
            assert_eq!(status.switch().is_some(), is_due && (wanted || is_against_the_rules));
            let Some(switch) = status.switch() else { continue };
            assert_eq!(switch == Switch::Start, facts.should_charge);
            assert_ne!(switch == Switch::Start, status.is_charging);
        }
    }

    #[test]
    fn expected_is_the_and_of_its_parts() {
        for bits in 0..8 {
            let parts = ExpectedParts {
                needs_charge: bits & 1 > 0,
                is_plugged_in: bits & 2 > 0,
                should_charge: bits & 4 > 0,
            };
            assert_eq!(parts.all(), bits == 7);
        }
    }

    #[test]
    fn what_needs_charge() {
        let check = |change: fn(&mut TargetReading), expected| {
            let mut target = facts().target;
            change(&mut target);
            assert_eq!(target.needs_charge(), expected, "{target:?}");
        };
        check(|_| (), true);
        check(|t| t.is_fully_charged = Some(true), false);
        check(|t| t.is_fully_charged = None, true);
        check(|t| t.soc = Some(percent(80.0)), false);
        check(|t| (t.soc, t.charge_limit) = (Some(percent(99.0)), None), true);
        check(|t| (t.soc, t.charge_limit) = (Some(percent(100.0)), None), false);
        check(|t| (t.soc, t.is_fully_charged) = (None, None), true);
        check(|t| (t.soc, t.is_fully_charged) = (None, Some(true)), false);
    }

    #[test]
    fn a_target_that_draws_at_its_limit_is_left_to_itself() {
        let mut facts = facts();
        facts.target.soc = Some(percent(80.0));
        facts.target.is_charging = Some(true);
        let status = Status::of(&facts);
        assert_eq!((status.state, status.switch()), (ScheduleState::Misaligned, None));
    }

    #[test]
    fn changed_at_moves_only_with_a_value() {
        let (then, now) = ("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z");
        let (then, now): (DateTime<Utc>, DateTime<Utc>) =
            (then.parse().unwrap(), now.parse().unwrap());
        let status = Status::of(&facts());
        let first = Snapshot { status, upcoming: vec![], override_created_at: None };
        assert_eq!(first.changed_at(None, then), then);
        assert_eq!(first.changed_at(Some((&first, then)), now), then);
        let transition = Transition { at: now, should_charge: true };
        let later = Snapshot { upcoming: vec![transition], ..first.clone() };
        assert_eq!(later.changed_at(Some((&first, then)), now), now);
        let other = Snapshot { override_created_at: Some(then), ..first.clone() };
        assert_eq!(other.changed_at(Some((&first, then)), now), now);
    }
}

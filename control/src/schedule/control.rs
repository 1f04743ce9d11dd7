//! Choice of the controller of a target among several candidates.
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::device::control::Controller;
use crate::schedule::place::{TargetType, is_away};

/// A schedule among others of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The schedule.
    pub id: String,
    /// Time of creation.
    pub created_at: DateTime<Utc>,
    /// True if it is switched on.
    pub is_enabled: bool,
    /// Location at which it applies.
    pub location_id: Option<String>,
}

impl Controller {
    /// Returns the controller of a target (AMB-20, AMB-79).
    ///
    /// An override comes first. Next is the schedule created last among those that are enabled
    /// and apply at the target's location; of two created together, the one with the later
    /// identifier. Smart charging comes last.
    #[must_use]
    pub fn of(
        target_type: TargetType,
        target_location: Option<&str>,
        is_overridden: bool,
        schedules: &[Candidate],
        is_smart_charging_enabled: bool,
    ) -> Self {
        let applies = |schedule: &&Candidate| {
            schedule.is_enabled
                && !is_away(target_type, schedule.location_id.as_deref(), target_location)
        };
        let newest = schedules
            .iter()
            .filter(applies)
            .max_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        match newest {
            _ if is_overridden => Self::Override,
            Some(schedule) => Self::Schedule(schedule.id.clone()),
            None if is_smart_charging_enabled => Self::SmartCharging,
            None => Self::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: &str, day: u32, is_enabled: bool, location: Option<&str>) -> Candidate {
        let created_at = format!("2026-01-{day:02}T00:00:00Z").parse().unwrap();
        let location_id = location.map(str::to_string);
        Candidate { id: id.into(), created_at, is_enabled, location_id }
    }

    #[track_caller]
    fn check(schedules: &[Candidate], overridden: bool, smart: bool, expected: &Controller) {
        let got = Controller::of(TargetType::Vehicle, Some("home"), overridden, schedules, smart);
        assert_eq!(got, *expected);
    }

    #[test]
    fn the_newest_enabled_schedule_that_applies_here() {
        let schedules = [
            candidate("old", 1, true, Some("home")),
            candidate("new", 2, true, None),
            candidate("elsewhere", 3, true, Some("work")),
            candidate("off", 4, false, Some("home")),
        ];
        check(&schedules, false, true, &Controller::Schedule("new".into()));
        check(&schedules[..1], false, true, &Controller::Schedule("old".into()));
        check(&schedules[2..], false, true, &Controller::SmartCharging);
        check(&schedules[2..], false, false, &Controller::Nobody);
        check(&schedules, true, true, &Controller::Override);
        let twins = [candidate("b", 1, true, None), candidate("a", 1, true, None)];
        check(&twins, false, false, &Controller::Schedule("b".into()));
    }
}

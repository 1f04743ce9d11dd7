//! Limits of a connector as they are kept: the limit that was ordered, what was written of it, and what
//! the charge point reports. The requests follow from them in [`limits`](super::limits).
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose};
use slackwater_control::charging_profile::second_system::{Cap, lower_of};
use slackwater_control::charging_profile::supply::{Limit, Supply};
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::Current;

use crate::station::balance_state::Balanced;

/// Limits of a connector.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact that the file keeps by its name"
)]
pub struct Limits {
    /// Limit that was ordered; `None` if none ever was.
    pub wanted: Option<Limit>,
    /// True if charging was stopped by a limit of zero.
    pub is_paused: bool,
    /// Limits of another central system; not kept, since they follow from its profiles.
    #[serde(skip)]
    pub cap: Option<Cap>,
    /// True if a plan of the service has decided about the charging: a lost connection has to end in the
    /// default, also where the plan never paused or limited anything.
    #[serde(default)]
    pub is_planned: bool,
    /// True if the charge point has the default.
    pub has_default: bool,
    /// Time at which the charge point accepted a default for the first time: it may keep that over a
    /// restart, and then charges by it unless another limit is above.
    #[serde(default)]
    pub limited_since: Option<DateTime<Utc>>,
    /// In a balancing, the highest default that may be in force; `None` if that is not known.
    #[serde(rename = "default_max_amps")]
    pub default_max: Option<Current>,
    /// In a balancing, the last expiry of all limits that were sent.
    pub last_expiry: Option<DateTime<Utc>>,
    /// In a balancing, the longest lifetime of the limits that may be sent before this is kept again;
    /// `None` as long as none may.
    #[serde(default)]
    pub lifetime_seconds: Option<i64>,
    /// Part in the balancing of a site.
    #[serde(skip)]
    pub balanced: Option<Balanced>,
    /// Profile above the default that the charge point has accepted.
    pub written: Option<Written>,
    /// Instant before which nothing is written, after a failure.
    pub retry_at: Option<DateTime<Utc>>,
    /// True if the composite schedule is to be asked for.
    pub is_check_due: bool,
    /// Result of the last comparison with the composite schedule.
    pub check: Check,
}

/// Profile that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Its limit now.
    pub limit: Limit,
    /// Transaction that it was written in.
    pub transaction: Option<String>,
    /// Instant from which the default holds.
    pub expires: DateTime<Utc>,
    /// Instant at which it is to be written again.
    pub refresh_at: DateTime<Utc>,
}

/// Result of a comparison with the composite schedule.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Not compared, or the charge point does not tell: its acceptance counts.
    #[default]
    Unknown,
    /// It reports the expected limits.
    Agrees,
    /// It reports another limit.
    Differs {
        /// Limit that it reports.
        reported_amps: Current,
    },
}

/// Deviations of a charge point that its refusals have shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Deviations under which profiles are written.
    pub quirks: BTreeSet<Quirk>,
    /// Deviations that were tried.
    pub tried: BTreeSet<Quirk>,
    /// Deviation under trial.
    pub trial: Option<Trial>,
    /// True if profiles are refused in every form.
    pub is_hopeless: bool,
}

/// Deviation under trial: the profile that showed it is written in another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Deviation.
    pub quirk: Quirk,
    /// True if the limit above the default was refused, false for the default.
    pub is_of_limit: bool,
}

impl Learned {
    /// Takes over that a profile was accepted: the deviation under trial explains the refusal, if
    /// the profile is the one that was refused.
    pub fn accept(&mut self, profile: &Profile) {
        let is_of_limit = profile.valid_to.is_some();
        self.trial = self.trial.filter(|trial| trial.is_of_limit != is_of_limit);
    }

    /// Takes the next deviation that may explain why a profile was refused, in place of one that
    /// did not.
    pub fn refuse(&mut self, profile: &Profile) {
        let is_of_limit = profile.valid_to.is_some();
        if let Some(trial) = self.trial.take() {
            self.quirks.remove(&trial.quirk);
            if trial.is_of_limit && !is_of_limit {
                // The default was taken before: it is written as it was, and then the limit.
                return;
            }
        }
        let next = list_explanations(profile).into_iter().find(|quirk| !self.tried.contains(quirk));
        self.is_hopeless = next.is_none();
        self.tried.extend(next);
        self.quirks.extend(next);
        self.trial = next.map(|quirk| Trial { quirk, is_of_limit });
    }
}

/// Deviations that may explain a refusal, the likeliest first.
fn list_explanations(profile: &Profile) -> Vec<Quirk> {
    let is_power =
        profile.schedule.periods().iter().any(|one| matches!(one.limit, Limit::Power(_)));
    let is_absolute = matches!(profile.kind, Kind::Absolute { .. });
    let found = [
        (profile.purpose == Purpose::Transaction).then_some(Quirk::NoTransactionProfile),
        is_absolute.then_some(Quirk::RelativeOnly),
        Some(if is_power { Quirk::AmpsOnly } else { Quirk::WattsOnly }),
        (profile.stack_level == 0).then_some(Quirk::LevelZeroRefused),
        (profile.stack_level > 0).then_some(Quirk::LevelZeroOnly),
        (!is_absolute).then_some(Quirk::AbsoluteOnly),
    ];
    found.into_iter().flatten().collect()
}

impl Limits {
    /// The limit to hold; `None` if there is none to write. In a balancing it is the one that the
    /// charge point has, since all others are decided there.
    #[must_use]
    pub fn held(&self, current_max: Current, supply: Supply) -> Option<Limit> {
        if self.balanced.is_some() {
            return self.written.as_ref().map(|written| written.limit);
        }
        if self.is_paused {
            return Some(Limit::Current(Current::ZERO));
        }
        // Under a plan, and after a pause, a charge point without a limit is free up to its own highest
        // current.
        let is_limited = self.is_planned
            || self.limited_since.is_some()
            || self.written.is_some()
            || self.cap.is_some();
        let own = self.wanted.or_else(|| is_limited.then_some(Limit::Current(current_max)))?;
        Some(lower_of(own, self.cap.and_then(|cap| cap.now), supply))
    }

    /// Takes over the limits of another central system. A default that is above them is written
    /// anew.
    pub fn set_cap(&mut self, cap: Option<Cap>, safe: Current) {
        let before = self.safe(safe);
        self.cap = cap;
        self.has_default &= self.safe(safe) == before;
    }

    /// Limit of the default: the safe one, or the lowest of another central system.
    #[must_use]
    pub fn safe(&self, safe: Current) -> Current {
        self.cap.map_or(safe, |cap| safe.min(cap.lowest))
    }

    /// Returns true if the limit is written before the default: a vehicle that charges freely under its
    /// plan goes on with its current while the charge point gets its first default.
    #[must_use]
    pub const fn comes_before_default(&self) -> bool {
        self.limited_since.is_none()
            && !self.is_paused
            && self.wanted.is_none()
            && self.cap.is_none()
    }

    /// Forgets what the charge point had, as after its restart.
    pub fn forget_written(&mut self) {
        self.has_default = false;
        self.written = None;
        self.retry_at = None;
        self.check = Check::Unknown;
    }

    /// Returns true if a limit is to be written: it is another, in another transaction, or due.
    #[must_use]
    pub fn is_due(&self, limit: Limit, transaction: Option<&str>, now: DateTime<Utc>) -> bool {
        self.written.as_ref().is_none_or(|written| {
            written.limit != limit
                || written.transaction.as_deref() != transaction
                || written.refresh_at <= now
        })
    }
}

//! Limits of a connector: a default that is safe without us, and above it a profile that expires.
//!
//! Both come from [`write_profiles`]. The profile is written again before it expires, when a
//! transaction begins, and when another limit is wanted. If the connection is lost, the charge point
//! returns to the default by its own clock.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::charging_profile::charge_point::{ChargePoint, Pause, RateUnits};
use slackwater_control::charging_profile::compare::Agreement;
use slackwater_control::charging_profile::composite::{CompositeStep, Installed};
use slackwater_control::charging_profile::profile::{Profile, Purpose, SchedulePeriod};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::charging_profile::write::{
    LimitStep, Terms, WriteError, Writing, write_profiles,
};
use slackwater_control::quirk::catalogue::{Boot, Catalogue};
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::{Current, Power, amps};

use crate::facts::{Connector, Reply, Request, Status, Variable};
use crate::station::connector::ConnectorState;
use crate::station::limit_state::{Check, Written};
use crate::station::state::{Rules, Station};

/// Pause before a profile that failed is written again.
pub(crate) const RETRY_AFTER: TimeDelta = TimeDelta::seconds(30);

/// Length of the composite schedule that is asked for, s.
pub(crate) const CHECKED_SECONDS: u32 = 60;

/// Differences that count as none: half an ampere, and a few seconds.
const ROUNDING: Current = amps(0.5);
const LATE_MAX: TimeDelta = TimeDelta::seconds(10);

impl Station {
    /// Restrictions of the charge point: as it says, as is known of its model, and as it has shown.
    #[must_use]
    pub fn charge_point(&self, rules: &Rules) -> ChargePoint {
        let number =
            |variable| self.variables.get(&variable).and_then(|text| text.trim().parse().ok());
        let mut point = ChargePoint::new(rules.supply, rules.current_max);
        point.units = match self.variables.get(&Variable::RateUnits).map(String::as_str) {
            Some("W") => RateUnits::Watts,
            Some("A,W") => RateUnits::Both,
            _ => RateUnits::Amps,
        };
        point.periods_max = number(Variable::PeriodsMax).unwrap_or(1).max(1) as usize;
        if let Some(level) = number(Variable::StackLevelMax) {
            point.stack_level_max = level;
        }
        self.deviations().fold(point, |point, quirk| quirk.restrict(point))
    }

    /// Deviations that are known of its model, that trials have found, and that refusals have shown.
    pub(crate) fn deviations(&self) -> impl Iterator<Item = Quirk> {
        let reports = Catalogue::built_in().reports(self.boot_names()).map(|report| report.kind);
        let found = self.trials.found(self.model.as_ref());
        reports.chain(found).chain(self.learned.quirks.iter().copied())
    }

    pub(crate) fn boot_names(&self) -> Boot<'_> {
        let model = self.model.as_ref();
        Boot {
            // No maker is known by this name.
            vendor: model.map_or("?", |model| &model.vendor),
            model: model.map_or("", |model| &model.model),
            firmware: model.and_then(|model| model.firmware.as_deref()),
        }
    }

    /// Returns true if limits can be expected to work.
    #[must_use]
    pub fn takes_limits(&self) -> bool {
        let is_ignored = |quirk: Quirk| quirk == Quirk::ProfileIgnored;
        let mut reports = Catalogue::built_in().reports(self.boot_names());
        self.is_smart() != Some(false)
            && !self.learned.is_hopeless
            && !reports.any(|report| is_ignored(report.kind))
    }

    /// Returns true if charging is paused by a limit of zero.
    #[must_use]
    pub fn pauses_by_limit(&self, rules: &Rules) -> bool {
        self.takes_limits() && self.charge_point(rules).pause == Pause::ZeroLimit
    }

    /// Identifier of the default of a connector; that of the limit above it is the next one.
    pub(crate) fn profile_id(number: Connector) -> i32 {
        i32::try_from(number).unwrap_or(1).saturating_mul(2)
    }

    /// Profiles for a limit.
    pub(crate) fn writing(
        &self,
        number: Connector,
        limit: Limit,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Writing, WriteError> {
        let state = self.connectors.get(&number);
        let open = state.and_then(|state| state.transactions.open.as_ref());
        let terms = Terms {
            safe: state.map_or(rules.safe_current, |state| state.limits.safe(rules.safe_current)),
            lifetime: rules.limit_lifetime,
            refresh_before: rules.refresh_before(),
            transaction_start: open.map(|open| open.started_at),
            first_id: Self::profile_id(number),
        };
        let plan = [LimitStep { start: now, limit }];
        write_profiles(&plan, &self.charge_point(rules), &terms, now)
    }

    /// The next request about the limits of a connector.
    ///
    /// # Errors
    /// The charge point has no place for a limit that expires.
    pub fn limit_request(
        &self,
        number: Connector,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, WriteError> {
        let Some(state) = self.connectors.get(&number) else { return Ok(None) };
        if state.limits.balanced.is_some() {
            return Ok(self.balanced_request(number, rules, now));
        }
        let Some(limit) = state.limits.held(rules.current_max, rules.supply) else {
            return Ok(None);
        };
        if !self.takes_limits() || state.limits.retry_at.is_some_and(|retry| now < retry) {
            return Ok(None);
        }
        let writing = self.writing(number, limit, rules, now)?;
        let open = state.transactions.open.as_ref().map(|open| open.id.clone());
        let set = |profile: Profile| Request::SetProfile {
            connector: number,
            transaction: open.clone().filter(|_| profile.purpose == Purpose::Transaction),
            profile,
        };
        let is_due = state.limits.is_due(limit, open.as_deref(), now);
        let is_limit_first = is_due && state.limits.comes_before_default();
        if !state.limits.has_default && !is_limit_first {
            return Ok(Some(set(writing.default)));
        }
        if writing.stop_at.is_some_and(|at| at <= now) {
            let flows = state.status == Some(Status::Charging);
            return Ok(open.filter(|_| flows).map(|transaction| Request::Stop { transaction }));
        }
        if is_due {
            return Ok(writing.limit.map(set));
        }
        let connector = number;
        let ask = Request::ReadSchedule { connector, seconds: CHECKED_SECONDS };
        Ok(Some(ask).filter(|_| state.limits.is_check_due))
    }

    /// Takes over the reply to a profile.
    pub(crate) fn was_written(
        &mut self,
        number: Connector,
        profile: &Profile,
        reply: &Reply,
        rules: &Rules,
        now: DateTime<Utc>,
    ) {
        // Some answer an error to a form that they do not take.
        let is_refused = matches!(reply, Reply::Refused { .. } | Reply::Failed { .. });
        match reply {
            Reply::Accepted => self.learned.accept(profile),
            Reply::NotSupported => self.learned.is_hopeless = true,
            _ if is_refused => self.learned.refuse(profile),
            _ => {}
        }
        if self.balanced(number).is_some() {
            return self.was_balanced(number, profile, reply, rules, now);
        }
        let writes = profile.valid_to;
        let held = self.connector(number).limits.held(rules.current_max, rules.supply);
        let Some(limit) = held else { return };
        // Another limit may be wanted by now: that one is to be written still.
        let writing = self.writing(number, limit, rules, now).ok().and_then(|one| one.limit);
        let written = profile.schedule.periods();
        let is_wanted = writing.is_some_and(|one| one.schedule.periods() == written);
        let limit = if is_wanted { limit } else { written.first().map_or(limit, |one| one.limit) };
        let ignores_first = self.deviations().any(|quirk| quirk == Quirk::FirstLimitIgnored);
        let state = self.connector(number);
        match (reply, writes) {
            (Reply::Accepted, None) => {
                state.limits.has_default = true;
                state.limits.limited_since.get_or_insert(now);
            }
            (Reply::Accepted, Some(expires)) => {
                let transaction = state.transactions.open.as_ref().map(|open| open.id.clone());
                let was_paused =
                    state.limits.written.as_ref().is_some_and(|one| is_zero(one.limit));
                let is_ignored = was_paused && !is_zero(limit) && ignores_first;
                let renewal = expires - rules.refresh_before();
                let refresh_at = if is_ignored { now + RETRY_AFTER } else { renewal };
                state.limits.written = Some(Written { limit, transaction, expires, refresh_at });
                state.limits.is_check_due = true;
                state.limits.check = Check::Unknown;
            }
            // Another form of the default goes with another form of the limit.
            _ if is_refused => state.limits.has_default = false,
            _ => state.limits.retry_at = Some(now + RETRY_AFTER),
        }
    }

    /// Takes over that the end of a transaction was asked for: not again at once, whatever the reply.
    pub(crate) fn was_stopped(&mut self, transaction: &str, now: DateTime<Utc>) {
        let open = |state: &&mut Box<ConnectorState>| state.transactions.is_open(transaction);
        if let Some(state) = self.connectors.values_mut().find(open) {
            state.limits.retry_at = Some(now + RETRY_AFTER);
        }
    }

    /// Forgets profiles that a charge point loses with its connection.
    pub(crate) fn forget_profiles(&mut self) {
        let is_forgetful = Catalogue::built_in()
            .reports(self.boot_names())
            .any(|report| report.kind == Quirk::ProfilesForgotten);
        if is_forgetful {
            self.connectors.values_mut().for_each(|state| state.limits.forget_written());
        }
    }

    /// Compares the composite schedule of the charge point with the expected one.
    pub(crate) fn was_checked(
        &mut self,
        number: Connector,
        reply: &Reply,
        rules: &Rules,
        now: DateTime<Utc>,
    ) {
        let check = match reply {
            Reply::Schedule { start, periods } => {
                self.compare(number, start.unwrap_or(now), periods, rules, now)
            }
            _ => Check::Unknown,
        };
        let limits = &mut self.connector(number).limits;
        limits.is_check_due = false;
        limits.check = check;
    }

    fn compare(
        &self,
        number: Connector,
        start: DateTime<Utc>,
        periods: &[SchedulePeriod],
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Check {
        let Some(state) = self.connectors.get(&number) else { return Check::Unknown };
        let Some(limit) = state.limits.held(rules.current_max, rules.supply) else {
            return Check::Unknown;
        };
        let Ok(writing) = self.writing(number, limit, rules, now) else { return Check::Unknown };
        let open = state.transactions.open.as_ref();
        let profiles: Vec<Profile> = [writing.default].into_iter().chain(writing.limit).collect();
        let transaction_start = open.map(|open| open.started_at);
        let installed = Installed { profiles: &profiles, transaction_start, supply: rules.supply };
        let until = now + TimeDelta::seconds(i64::from(CHECKED_SECONDS));
        // A period beyond the calendar is none of the time that was asked for.
        let step = |period: &SchedulePeriod| {
            let limit = Some(rules.supply.current_of(period.limit, period.phases));
            Some(CompositeStep { start: start.checked_add_signed(period.offset)?, limit })
        };
        let reported: Vec<CompositeStep> = periods.iter().filter_map(step).collect();
        if reported.is_empty() {
            return Check::Unknown;
        }
        let agreement =
            Agreement { current: ROUNDING, time: LATE_MAX, current_max: rules.current_max };
        let expected = installed.composite(now, until);
        match agreement.first_difference(&expected, &reported, until) {
            None => Check::Agrees,
            Some(difference) => Check::Differs { reported_amps: difference.reported },
        }
    }
}

/// Returns true if a limit is a pause.
fn is_zero(limit: Limit) -> bool {
    matches!(limit, Limit::Current(current) if current == Current::ZERO)
        || matches!(limit, Limit::Power(power) if power == Power::ZERO)
}

impl ConnectorState {
    /// Limits as they are shown: as ordered, once the charge point has accepted them and does not
    /// report others.
    #[must_use]
    pub fn shown_limit(&self) -> Option<Limit> {
        if let Check::Differs { reported_amps } = self.limits.check {
            return Some(Limit::Current(reported_amps));
        }
        if self.limits.cap.is_some() && self.limits.balanced.is_none() && !self.limits.is_paused {
            return self.limits.written.as_ref().map(|one| one.limit);
        }
        let is_held = self.limits.is_paused
            || self.limits.balanced.as_ref().is_some_and(|balanced| balanced.keeps_wish)
            || self.limits.written.as_ref().map(|one| one.limit) == self.limits.wanted;
        self.limits.wanted.filter(|_| is_held)
    }
}

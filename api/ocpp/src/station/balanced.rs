//! Part of a connector in the balancing of a site: its ledger, the limit that was decided for it, and
//! the profile that waits for its answer.
//!
//! A limit is entered in the ledger when it is decided, with its expiry, and sent at most once. What
//! a start of the service needs of the ledger is kept in the file before a profile is sent: the
//! highest default that may be in force, and the longest lifetime of limits. A limit is sent without
//! waiting for the disk if the file has its lifetime already: with `kept` the last time at which the
//! file was written,
//!
//! ```text
//! expires <= last_expiry                     for limits that were sent before `kept`
//! expires <= sent_at + lifetime <= start + lifetime      for those that were sent after it
//! ```
//!
//! so that [`Station::limits_until`] bounds both.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::charging_profile::charge_point::{CURRENT_MIN, Pause, RateUnits};
use slackwater_control::charging_profile::compare::shows_excess;
use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose, Schedule};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::load_balancing::ledger::{Ledger, Place};
use slackwater_control::policy::need::ChargingNeed;
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::{Current, Power};
use tracing::warn;

use crate::facts::{Connector, Reply, Request, Status};
use crate::station::balance_state::{Balanced, Decided, Open};
use crate::station::connector::ConnectorState;
use crate::station::limit_state::{Check, Limits, Written};
use crate::station::limits::{CHECKED_SECONDS, RETRY_AFTER};
use crate::station::state::{Rules, Station};

/// Time after a limit before which a higher one is not sent, so that a flickering base load does not
/// keep a charge point busy. Lower ones are sent at once.
const RAISE_AFTER: TimeDelta = TimeDelta::seconds(30);

/// Time after which a vehicle has followed a lower limit, and its meter shows that.
const FOLLOWED_AFTER: TimeDelta = TimeDelta::seconds(60);

impl Station {
    /// Enters the balancing of a site at a start of the service: nothing is known of what was sent
    /// before but what the file says. Limits of that time, none of which holds beyond `until`, count
    /// up to then.
    pub fn join(&mut self, rules: &Rules, until: DateTime<Utc>, now: DateTime<Utc>) {
        let Some(balancing) = rules.balancing else { return };
        for number in 1..=balancing.connectors {
            let ledger = |default| {
                let error = balancing.clock_error_max;
                Ledger::recovered(rules.current_max, error, default, until - now, now)
            };
            let limits = &mut self.connector(number).limits;
            // Limits of now on may have another lifetime than those of the time before.
            limits.last_expiry = limits.last_expiry.max(Some(until));
            limits.lifetime_seconds = None;
            // A default that is to be raised counts as raised.
            let default = limits.default_max.map(|held| held.max(rules.safe_current));
            limits.has_default &= limits.default_max == Some(rules.safe_current);
            limits.written = None;
            limits.balanced = Some(Balanced::new(ledger(default.unwrap_or(rules.current_max))));
        }
    }

    /// Instant up to which limits that were sent before a start of the service may be in force, by what
    /// the file says. Nothing outlives the lifetime of the settings but limits of other settings.
    #[must_use]
    pub fn limits_until(&self, rules: &Rules, start: DateTime<Utc>) -> DateTime<Utc> {
        let until = |limits: &Limits| {
            let lifetime = limits.lifetime_seconds.and_then(TimeDelta::try_seconds);
            limits.last_expiry.max(lifetime.and_then(|longest| start.checked_add_signed(longest)))
        };
        let kept = self.connectors.values().filter_map(|state| until(&state.limits));
        kept.fold(start + rules.limit_lifetime, DateTime::max)
    }

    /// Part of a connector in the balancing of a site, if it has one.
    #[must_use]
    pub fn balanced(&self, number: Connector) -> Option<&Balanced> {
        self.connectors.get(&number)?.limits.balanced.as_ref()
    }

    /// Returns true if a limit was decided that was not sent yet.
    #[must_use]
    pub fn has_decision(&self) -> bool {
        let mut balanced =
            self.connectors.values().filter_map(|state| state.limits.balanced.as_ref());
        balanced.any(|balanced| balanced.decided.is_some())
    }

    /// Number of connectors beyond those that take part.
    #[must_use]
    pub fn strange_connectors(&self, taking_part: u32) -> usize {
        self.connectors.keys().filter(|number| **number > taking_part).count()
    }

    /// Highest current that a connector is to have: an upper bound of its limits.
    #[must_use]
    pub fn wished(&self, number: Connector, rules: &Rules) -> Current {
        let Some(state) = self.connectors.get(&number).filter(|state| state.may_take_current())
        else {
            return Current::ZERO;
        };
        // By a clock that is late a higher limit would hold beyond the time for which it counts.
        let has_right_clock = self.is_clock_right(rules) == Some(true);
        let wish = state.wish(rules);
        let wish = if has_right_clock { wish } else { wish.min(rules.safe_current) };
        // A vehicle that takes none gets what it needs to begin again.
        let is_resting = state.status == Some(Status::SuspendedByVehicle);
        if is_resting { wish.min(CURRENT_MIN) } else { wish }
    }

    /// Takes over the charging that the plan of a connector still wants.
    pub fn note_need(&mut self, number: Connector, need: Option<ChargingNeed>) {
        let Some(state) = self.connectors.get_mut(&number) else { return };
        state.limits.is_planned |= need.is_some();
        if let Some(balanced) = &mut state.limits.balanced {
            balanced.need = need;
        }
    }

    /// Judges for each connector whether limits bound it, and whether it keeps to the wanted one.
    pub fn judge_limits(&mut self, rules: &Rules, now: DateTime<Utc>) {
        let is_unsafe = self.limits_are_unsafe(rules);
        for state in self.connectors.values_mut() {
            let (differs, wish) = (state.exceeds_limit(), Limit::Current(state.wish(rules)));
            let written = state.limits.written.as_ref().map(|written| written.limit);
            let measured = state.power.zip(state.power_at);
            let Some(balanced) = &mut state.limits.balanced else { continue };
            balanced.watch_meter(measured, rules, now);
            balanced.follow_need(rules.current_max, now);
            balanced.ledger.set_unbounded(is_unsafe || differs || balanced.draws_more);
            let held = [Some(Limit::Current(balanced.ledger.may_draw(now))), written];
            let is_within = |held: Limit| rules.current_under(held) <= rules.current_under(wish);
            balanced.keeps_wish = held.into_iter().flatten().any(is_within);
        }
    }

    /// Returns true if no limit bounds the charge point: it takes none, or not in a form that holds, is
    /// known to deviate, or is of a model that has yet to be tried out.
    #[must_use]
    pub fn limits_are_unsafe(&self, rules: &Rules) -> bool {
        // On one phase, a vehicle takes all of the power that is meant for three.
        let is_by_power = self.charge_point(rules).units == RateUnits::Watts;
        let is_vague = is_by_power && rules.supply.phases() > 1;
        let deviates = self.deviations().any(Quirk::makes_limits_unsafe);
        !self.takes_limits() || is_vague || deviates || self.needs_trials(rules)
    }

    /// Decides a limit that may be sent now, if it is due, and enters it in the ledger.
    pub fn decide(&mut self, number: Connector, limit: Current, rules: &Rules, now: DateTime<Utc>) {
        let Some(limit) = self.due_limit(number, limit, rules, now) else { return };
        let Ok(writing) = self.writing(number, Limit::Current(limit), rules, now) else { return };
        let state = self.connector(number);
        let transaction = state.transactions.open.as_ref().map(|open| open.id.clone());
        let (Some(balanced), Some(profile)) = (&mut state.limits.balanced, writing.limit) else {
            return;
        };
        balanced.cancel();
        let profile = begun_early(profile, balanced.ledger.clock_error_max());
        let expires = writing.expires;
        let number = balanced.ledger.send(Place::Limit { expires }, limit, now);
        let decided = Decided { number, limit, profile, transaction, expires };
        balanced.decided = Some(Box::new(decided));
    }

    /// Limit to decide now; `None` if none is due, or none can be written.
    fn due_limit(
        &self,
        number: Connector,
        limit: Current,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Option<Current> {
        let state = self.connectors.get(&number)?;
        let balanced = state.limits.balanced.as_ref().filter(|one| one.open.is_none())?;
        let is_barred = !self.is_settled(now)
            || !self.takes_limits()
            || !state.limits.has_default
            || state.limits.retry_at.is_some_and(|retry| now < retry)
            || self.is_under_trial(number);
        let floor = balanced.ledger.floor();
        // Without a vehicle, and above nothing but its default, there is nothing to limit.
        let is_idle = !state.may_take_current() && balanced.ledger.may_draw(now) <= floor;
        if is_barred || is_idle {
            return None;
        }
        let zero_is_written = self.charge_point(rules).pause == Pause::ZeroLimit;
        // Where zero is no limit, the lowest that frees any room is that of the default.
        let limit = if zero_is_written { limit } else { limit.max(rules.safe_current) };
        if limit < CURRENT_MIN && !zero_is_written {
            return None;
        }
        let open = state.transactions.open.as_ref().map(|open| open.id.as_str());
        if let Some(decided) = &balanced.decided {
            let is_same = decided.limit == limit && decided.transaction.as_deref() == open;
            let is_fresh = decided.expires - now > rules.refresh_before();
            return Some(limit).filter(|_| !is_same || !is_fresh);
        }
        let is_due = state.limits.is_due(Limit::Current(limit), open, now);
        (is_due && !state.is_hasty(limit, rules, now)).then_some(limit)
    }

    /// The next request about the limits of a connector that takes part in a balancing.
    pub(crate) fn balanced_request(
        &self,
        number: Connector,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Option<Request> {
        let state = self.connectors.get(&number)?;
        let balanced = state.limits.balanced.as_ref()?;
        let is_barred = !self.takes_limits() || self.is_under_trial(number);
        if is_barred || state.limits.retry_at.is_some_and(|retry| now < retry) {
            return None;
        }
        let open = state.transactions.open.as_ref().map(|open| &open.id);
        let set = |profile: &Profile| Request::SetProfile {
            connector: number,
            transaction: open.cloned().filter(|_| profile.purpose == Purpose::Transaction),
            profile: profile.clone(),
        };
        // A default is raised once no limit of an earlier time may be in force.
        let is_raised = state.limits.default_max.is_some_and(|held| held < rules.safe_current);
        let is_known = balanced.ledger.may_draw(now) <= balanced.ledger.known(now);
        if !state.limits.has_default && (is_known || !is_raised) {
            let safe = Limit::Current(rules.safe_current);
            return self
                .writing(number, safe, rules, now)
                .ok()
                .map(|writing| set(&writing.default));
        }
        let ends = state.may_take_current() && state.wish(rules) < CURRENT_MIN;
        if ends && self.charge_point(rules).pause != Pause::ZeroLimit {
            let flows = state.status == Some(Status::Charging);
            return open
                .cloned()
                .filter(|_| flows)
                .map(|transaction| Request::Stop { transaction });
        }
        let is_current =
            |decided: &&Decided| decided.transaction.as_ref() == open && now < decided.expires;
        if let Some(decided) = balanced.decided.as_deref().filter(is_current) {
            return Some(set(&decided.profile));
        }
        let ask = Request::ReadSchedule { connector: number, seconds: CHECKED_SECONDS };
        Some(ask).filter(|_| state.limits.is_check_due)
    }

    /// Takes over that a request is about to be sent. Returns true if the state must be kept first.
    pub fn sends(&mut self, request: &Request, rules: &Rules, now: DateTime<Utc>) -> bool {
        let Request::SetProfile { connector, transaction, profile } = request else {
            return self.sends_trial(request, rules, now);
        };
        if self.sends_trial(request, rules, now) {
            return true;
        }
        let limits = &mut self.connector(*connector).limits;
        let Some(balanced) = &mut limits.balanced else {
            // Should it enter a balancing later, less is known of it.
            limits.default_max = None;
            limits.last_expiry = limits.last_expiry.max(profile.valid_to);
            return false;
        };
        if profile.valid_to.is_none() {
            let limit = rules.safe_current;
            limits.default_max = limits.default_max.map(|held| held.max(limit));
            let number = balanced.ledger.send(Place::Default, limit, now);
            balanced.open = Some(Open { number, limit, transaction: transaction.clone() });
            return true;
        }
        let decided = balanced.decided.take().map(|decided| *decided);
        let Some(Decided { number, limit, transaction, expires, .. }) = decided else {
            balanced.open = None;
            return true;
        };
        balanced.open = Some(Open { number, limit, transaction });
        limits.last_expiry = limits.last_expiry.max(Some(expires));
        // The disk would delay each lower limit, and it knows how long a limit may hold.
        let lifetime = Some(rules.limit_lifetime.num_seconds());
        let is_known = lifetime <= limits.lifetime_seconds;
        limits.lifetime_seconds = limits.lifetime_seconds.max(lifetime);
        !is_known
    }

    /// Returns true if the state must be kept before anything is sent after a reply. That of an accepted
    /// limit of the balancing, or of a comparison, changes nothing that a start of the service needs.
    #[must_use]
    pub fn keeps_reply(&self, request: &Request, reply: &Reply) -> bool {
        let is_balanced =
            |number: &Connector| self.balanced(*number).is_some() && !self.is_under_trial(*number);
        match (request, reply) {
            (Request::SetProfile { connector, profile, .. }, Reply::Accepted) => {
                profile.valid_to.is_none() || !is_balanced(connector)
            }
            (Request::ReadSchedule { connector, .. }, _) => !is_balanced(connector),
            _ => true,
        }
    }

    /// Takes over the reply to a profile of the balancing.
    pub(crate) fn was_balanced(
        &mut self,
        number: Connector,
        profile: &Profile,
        reply: &Reply,
        rules: &Rules,
        now: DateTime<Utc>,
    ) {
        let limits = &mut self.connector(number).limits;
        let Some(balanced) = &mut limits.balanced else { return };
        let Some(open) = balanced.open.take() else { return };
        match (reply, profile.valid_to) {
            (Reply::Accepted, until) => {
                balanced.ledger.accept(open.number, now);
                let Some(expires) = until else {
                    limits.has_default = true;
                    limits.default_max = balanced.ledger.default_max();
                    return;
                };
                let refresh_at = expires - rules.refresh_before();
                let (limit, transaction) = (Limit::Current(open.limit), open.transaction);
                limits.written = Some(Written { limit, transaction, expires, refresh_at });
                limits.is_check_due = true;
                limits.check = Check::Unknown;
            }
            (Reply::Refused { .. } | Reply::NotSupported, _) => {
                balanced.ledger.refuse(open.number);
                limits.has_default = false;
            }
            // It may have been applied all the same: it counts until it has expired.
            (Reply::Failed { .. }, _) => {
                limits.has_default = false;
                limits.retry_at = Some(now + RETRY_AFTER);
            }
            _ => limits.retry_at = Some(now + RETRY_AFTER),
        }
    }

    /// Enters the limit of a trial in the ledger.
    pub(crate) fn count_trial_limit(
        &mut self,
        number: Connector,
        limit: Current,
        expires: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let limits = &mut self.connector(number).limits;
        limits.last_expiry = limits.last_expiry.max(Some(expires));
        if let Some(balanced) = &mut limits.balanced {
            balanced.ledger.send(Place::Limit { expires }, limit, now);
        }
    }

    /// Begins a ledger anew, as of a charge point of which nothing is known, after `until`.
    pub(crate) fn forget_ledger(
        &mut self,
        number: Connector,
        rules: &Rules,
        until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let Some(balancing) = rules.balancing else { return };
        let limits = &mut self.connector(number).limits;
        let until = limits.last_expiry.map_or(until, |last| last.max(until));
        let (most, error) = (rules.current_max, balancing.clock_error_max);
        let lifetime = (until - now).max(TimeDelta::zero());
        limits.balanced = Some(Balanced::new(Ledger::recovered(most, error, most, lifetime, now)));
        limits.default_max = None;
        limits.forget_written();
    }
}

impl Balanced {
    /// Compares the power that the meter has shown at a time with the current that is allowed. An excess
    /// that is not of a vehicle which has yet to follow a lower limit shows that limits do not bound the
    /// charge point.
    fn watch_meter(
        &mut self,
        measured: Option<(Power, DateTime<Utc>)>,
        rules: &Rules,
        now: DateTime<Utc>,
    ) {
        let may = self.ledger.may_draw(now);
        let since = self.allowed.filter(|(held, _)| *held <= may).map_or(now, |(_, since)| since);
        self.allowed = Some((may, since));
        let settled = measured.filter(|(_, at)| *at - since >= FOLLOWED_AFTER);
        let Some((power, _)) = settled.filter(|_| !self.draws_more) else { return };
        self.draws_more = shows_excess(power, may, rules.current_max, rules.supply);
        if self.draws_more {
            let (power_kw, may_draw_amps) = (power.as_kw(), may.as_amps());
            warn!(
                power_kw,
                may_draw_amps,
                "a charge point draws more than it may: all of its current counts until it restarts"
            );
        }
    }
}

/// The profile with an earlier start. By a clock that is late it would begin later, and the default would
/// hold in between, each time that it is written again.
fn begun_early(profile: Profile, early: TimeDelta) -> Profile {
    let Kind::Absolute { start } = profile.kind else { return profile };
    let (periods, duration) = (profile.schedule.periods(), profile.schedule.duration());
    let (Some(only), None) = (periods.first(), periods.get(1)) else { return profile };
    let duration = duration.map(|duration| duration + early);
    match Schedule::constant(only.limit, duration) {
        Ok(schedule) => {
            Profile { kind: Kind::Absolute { start: start - early }, schedule, ..profile }
        }
        Err(_) => profile,
    }
}

impl ConnectorState {
    /// Upper bound of the limit, as the service wants it.
    fn wish(&self, rules: &Rules) -> Current {
        if self.limits.is_paused {
            return Current::ZERO;
        }
        let wanted = self.limits.wanted.map(|limit| rules.current_under(limit));
        let cap = self.limits.cap.and_then(|cap| cap.now);
        [wanted, cap].into_iter().flatten().fold(rules.current_max, Current::min)
    }

    /// Returns true if a vehicle may take current.
    fn may_take_current(&self) -> bool {
        let is_there = match self.status {
            None => true,
            Some(Status::Finishing) => false,
            Some(status) => status.is_plugged_in() == Some(true),
        };
        is_there || self.transactions.open.is_some()
    }

    /// Returns true if the charge point reports a higher limit than the one that it accepted, and
    /// than its default: that one holds until the other begins by a clock that is late.
    fn exceeds_limit(&self) -> bool {
        let written = self.limits.written.as_ref().map(|written| written.limit);
        let default = self.limits.default_max.unwrap_or(Current::ZERO);
        match (self.limits.check, written) {
            (Check::Differs { reported_amps }, Some(Limit::Current(limit))) => {
                reported_amps > limit.max(default)
            }
            _ => false,
        }
    }

    /// Returns true if a limit raises another one that is young.
    fn is_hasty(&self, limit: Current, rules: &Rules, now: DateTime<Utc>) -> bool {
        let is_young =
            |written: &&Written| written.expires - rules.limit_lifetime + RAISE_AFTER > now;
        self.limits.written.as_ref().filter(is_young).is_some_and(|written| match written.limit {
            Limit::Current(held) => held >= CURRENT_MIN && held < limit,
            Limit::Power(_) => false,
        })
    }
}

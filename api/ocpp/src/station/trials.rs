//! Trials of a model that is not known, while no vehicle is connected: which profiles it takes, and
//! whether they hold and end. [`probe`](slackwater_control::quirk::probe) decides what is tried.
//!
//! Until they are done, all of the current of the charge point counts in the balancing of its site. A
//! vehicle that arrives ends them; they begin anew when the charge point is idle again.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::charging_profile::charge_point::RateUnits;
use slackwater_control::charging_profile::profile::{Kind, Profile, Purpose, Schedule};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::quirk::catalogue::Catalogue;
use slackwater_control::quirk::probe::{
    Answer, Form, Probe, TRIAL_DEFAULT, TRIAL_LIFETIME, TRIAL_LIMIT, Trial,
};
use slackwater_engine::units::Current;
use tracing::{info, warn};

use crate::facts::{Connector, Reply, Request, Status};
use crate::station::limits::CHECKED_SECONDS;
use crate::station::state::{Rules, Station};
use crate::station::trial_state::Run;

/// Connector that is tried out, in place of all.
const TRIED: Connector = 1;

impl Station {
    /// Returns true if the model is not known, and was not tried out to the end.
    pub(crate) fn needs_trials(&self, rules: &Rules) -> bool {
        let is_known = self.model.is_some()
            && Catalogue::built_in().reports(self.boot_names()).next().is_some();
        let is_tried = self.model.is_some() && self.trials.of == self.model;
        rules.balancing.is_some_and(|balancing| balancing.probes) && !is_known && !is_tried
    }

    /// Returns true if no limit is to be written to a connector, because trials are under way.
    pub(crate) fn is_under_trial(&self, number: Connector) -> bool {
        number == TRIED && self.trials.run.is_some()
    }

    fn is_idle(&self) -> bool {
        self.connectors.get(&TRIED).is_some_and(|state| {
            state.status == Some(Status::Available) && state.transactions.open.is_none()
        })
    }

    /// The next trial, if it is time for one.
    pub(crate) fn trial_request(&self, rules: &Rules, now: DateTime<Utc>) -> Option<Request> {
        let Some(run) = &self.trials.run else {
            let has_default = self.connectors.get(&TRIED)?.limits.has_default;
            // A limit that has not begun by a late clock would be taken for one that is ignored.
            let is_late = self.is_clock_late(rules);
            let may_begin = self.needs_trials(rules) && self.is_idle() && has_default && !is_late;
            let first = Probe::new().trial().filter(|_| may_begin)?;
            return request_of(first, rules, now);
        };
        let trial = run.probe.trial()?;
        let is_early = match trial {
            Trial::AskAfterEnd { wait } => now < run.limited_at + wait,
            _ => false,
        };
        if is_early { None } else { request_of(trial, rules, now) }
    }

    /// Takes over that a trial is about to be sent. Returns true if the request is one.
    pub(crate) fn sends_trial(
        &mut self,
        request: &Request,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> bool {
        // Nothing else is asked of its own accord in between, and a limit is decided elsewhere.
        if self.trial_request(rules, now).as_ref() != Some(request) {
            return false;
        }
        if self.trials.run.is_none() {
            let identity = self.model.as_ref().map(|model| model.model.clone());
            info!(model = ?identity, "trials of a model that is not known begin");
            let probe = Probe::new();
            let (is_sent, is_interrupted) = (false, false);
            let run = Run { probe, is_sent, is_interrupted, limited_at: now, until: now };
            self.trials.run = Some(run);
            self.forget_ledger(TRIED, rules, now, now);
        }
        let expires = match request {
            Request::SetProfile { profile, .. } => profile.valid_to,
            _ => None,
        };
        if let Some(run) = &mut self.trials.run {
            run.is_sent = true;
            run.until = run.until.max(expires.unwrap_or(now));
        }
        if let Some(expires) = expires {
            self.count_trial_limit(TRIED, TRIAL_LIMIT, expires, now);
        }
        true
    }

    /// Takes over the reply to a trial. Returns false if the request was none.
    pub(crate) fn takes_trial_reply(
        &mut self,
        request: &Request,
        reply: &Reply,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> bool {
        let is_trial = matches!(
            request,
            Request::SetProfile { connector: TRIED, .. }
                | Request::ReadSchedule { connector: TRIED, .. }
                | Request::ClearDefaults { connector: TRIED }
        );
        let Some(mut run) = self.trials.run.take_if(|run| is_trial && run.is_sent) else {
            return false;
        };
        if *reply == Reply::Lost {
            self.forget_ledger(TRIED, rules, run.until, now);
            return true;
        }
        if matches!(run.probe.trial(), Some(Trial::WriteLimit(_))) {
            run.limited_at = now;
        }
        run.probe = run.probe.after(answer_of(reply, rules));
        if run.is_interrupted {
            run.probe = run.probe.interrupt();
        }
        run.is_sent = false;
        if run.probe.trial().is_some() {
            self.trials.run = Some(run);
        } else {
            self.end_trials(&run, rules, now);
        }
        true
    }

    fn end_trials(&mut self, run: &Run, rules: &Rules, now: DateTime<Utc>) {
        self.forget_ledger(TRIED, rules, run.until, now);
        if run.is_interrupted {
            return;
        }
        self.trials.of.clone_from(&self.model);
        self.trials.found = run.probe.findings().iter().map(|finding| finding.quirk).collect();
        let model = self.model.as_ref().map(|model| (&model.vendor, &model.model));
        let found = &self.trials.found;
        if found.iter().any(|quirk| quirk.makes_limits_unsafe()) {
            warn!(?model, ?found, "limits do not bound a charge point: all of its current counts");
        } else {
            info!(?model, ?found, "trials of a model have ended");
        }
    }

    /// Ends the trials once the connector is not idle.
    pub(crate) fn interrupt_trials(&mut self) {
        let is_idle = self.is_idle();
        let Some(run) = self.trials.run.as_mut().filter(|run| !is_idle && !run.is_interrupted)
        else {
            return;
        };
        run.is_interrupted = true;
        if !run.is_sent {
            run.probe = run.probe.clone().interrupt();
        }
    }

    /// Gives trials up, as with a new connection. They begin anew.
    pub(crate) fn abandon_trials(&mut self) {
        self.trials.run = None;
    }
}

fn request_of(trial: Trial, rules: &Rules, now: DateTime<Utc>) -> Option<Request> {
    let connector = TRIED;
    let set = |profile| Request::SetProfile { connector, transaction: None, profile };
    Some(match trial {
        Trial::WriteDefault(form) => set(profile_of(form, TRIAL_DEFAULT, None, rules, now)?),
        Trial::WriteLimit(form) => {
            set(profile_of(form, TRIAL_LIMIT, Some(TRIAL_LIFETIME), rules, now)?)
        }
        Trial::AskComposite | Trial::AskAfterEnd { .. } => {
            Request::ReadSchedule { connector, seconds: CHECKED_SECONDS }
        }
        Trial::Clear => Request::ClearDefaults { connector },
    })
}

/// Profile of a trial. It has the identifier of the one in its place, so that each replaces the other.
fn profile_of(
    form: Form,
    current: Current,
    lifetime: Option<TimeDelta>,
    rules: &Rules,
    now: DateTime<Utc>,
) -> Option<Profile> {
    let limit = match form.unit {
        RateUnits::Watts => Limit::Power(rules.supply.power_of(current)),
        RateUnits::Amps | RateUnits::Both => Limit::Current(current),
    };
    // It has begun by a clock that is late, too: the charge point is asked at once.
    let early = rules.balancing.map_or(TimeDelta::zero(), |balancing| balancing.clock_error_max);
    let above = i32::from(lifetime.is_some());
    Some(Profile {
        id: Station::profile_id(TRIED) + above,
        stack_level: form.stack_level + above.unsigned_abs(),
        purpose: Purpose::TransactionDefault,
        kind: if form.is_absolute { Kind::Absolute { start: now - early } } else { Kind::Relative },
        valid_from: None,
        valid_to: lifetime.map(|lifetime| now + lifetime),
        schedule: Schedule::constant(limit, lifetime.map(|lifetime| lifetime + early)).ok()?,
    })
}

fn answer_of(reply: &Reply, rules: &Rules) -> Answer {
    match reply {
        Reply::Accepted => Answer::Accepted,
        Reply::TimedOut | Reply::Lost => Answer::Silent,
        // One that reports no limit at all does not tell.
        Reply::Schedule { periods, .. } => periods.first().map_or(Answer::Refused, |first| {
            Answer::Composite(Some(rules.supply.current_of(first.limit, first.phases)))
        }),
        _ => Answer::Refused,
    }
}

//! Probe of an unknown charge point: trials while no vehicle is connected, and the deviations that
//! their answers show.
//!
//! A default and a limit above it are written in the usual form first, and in other forms as long as
//! they are refused. Then the charge point's own composite schedule is asked for, once while the
//! limit holds and once after its end. The second question is the important one: a charge point
//! whose limits do not expire is not safe without us.
//!
//! ```text
//! default (form 0, 1, ...) ──accepted──► limit above ──accepted──► composite = limit?
//!        │ none left                        │ refused                  │
//!        ▼                                  ▼                          ▼ after the end
//!   ProfileIgnored                     LevelZeroOnly             composite = default?
//! ```
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use slackwater_engine::words;

use crate::charging_profile::charge_point::RateUnits;
use crate::quirk::kind::Quirk;
use slackwater_engine::units::{Current, amps};

/// Limit of the default in trials.
pub const TRIAL_DEFAULT: Current = amps(6.0);

/// Limit above the default in trials. It differs from the default by more than rounding.
pub const TRIAL_LIMIT: Current = amps(10.0);

/// Lifetime of the limit in trials.
pub const TRIAL_LIFETIME: TimeDelta = TimeDelta::seconds(60);

/// Time after the end of the limit at which the charge point is asked again, for its clock.
const AFTER_END: TimeDelta = TimeDelta::seconds(30);

/// Difference of a reported limit that counts as rounding: half an ampere, also in whole kilowatts.
const ROUNDING: Current = amps(0.5);

/// Form of a profile in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Unit of the limit.
    pub unit: RateUnits,
    /// True for an absolute profile, false for one that is relative to the transaction.
    pub is_absolute: bool,
    /// Stack level of the default.
    pub stack_level: u32,
}

/// Forms in the order of their trial: the usual one first, then with one difference, then more.
const FORMS: [Form; 8] = [
    form(RateUnits::Amps, true, 0),
    form(RateUnits::Amps, false, 0),
    form(RateUnits::Watts, true, 0),
    form(RateUnits::Amps, true, 1),
    form(RateUnits::Watts, false, 0),
    form(RateUnits::Amps, false, 1),
    form(RateUnits::Watts, true, 1),
    form(RateUnits::Watts, false, 1),
];

const fn form(unit: RateUnits, is_absolute: bool, stack_level: u32) -> Form {
    Form { unit, is_absolute, stack_level }
}

/// Next thing to do with the charge point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// Write the trial default in a form.
    WriteDefault(Form),
    /// Write the trial limit one stack level above the default, with an end.
    WriteLimit(Form),
    /// Ask for the composite schedule while the limit holds.
    AskComposite,
    /// Wait, and ask for the composite schedule after the end of the limit.
    AskAfterEnd {
        /// Time from the acceptance of the limit.
        wait: TimeDelta,
    },
    /// Remove the profiles of the trials.
    Clear,
}

/// Answer of the charge point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer {
    /// Accepted, or done.
    Accepted,
    /// Refused, or not supported.
    Refused,
    /// No answer in time.
    Silent,
    /// Composite schedule: the limit that it starts with, `None` if it has none.
    Composite(Option<Current>),
}

/// Deviation with its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// Deviation.
    pub quirk: Quirk,
    /// Trial that showed it.
    pub trial: Trial,
    /// Answer to the trial.
    pub answer: Answer,
}

words! {
    /// Step of a probe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ProbeStep {
        /// The default is written.
        Default = "default",
        /// The limit above it is written.
        Limit = "limit",
        /// The composite schedule is asked for.
        Composite = "composite",
        /// It is asked for again after the end of the limit.
        AfterEnd = "after_end",
        /// The profiles are removed.
        Clear = "clear",
        /// Nothing is left to do.
        Done = "done",
    }
}

/// Probe of a charge point.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    step: ProbeStep,
    form_index: usize,
    findings: Vec<Finding>,
}

impl Default for Probe {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe {
    /// Probe before its first trial.
    #[must_use]
    pub const fn new() -> Self {
        Self { step: ProbeStep::Default, form_index: 0, findings: Vec::new() }
    }

    /// Next trial; `None` at the end.
    ///
    /// Trials are for a charge point without a vehicle. When one arrives, [`Probe::interrupt`].
    #[must_use]
    pub fn trial(&self) -> Option<Trial> {
        let form = FORMS[self.form_index];
        match self.step {
            ProbeStep::Default => Some(Trial::WriteDefault(form)),
            ProbeStep::Limit => Some(Trial::WriteLimit(form)),
            ProbeStep::Composite => Some(Trial::AskComposite),
            ProbeStep::AfterEnd => Some(Trial::AskAfterEnd { wait: TRIAL_LIFETIME + AFTER_END }),
            ProbeStep::Clear => Some(Trial::Clear),
            ProbeStep::Done => None,
        }
    }

    /// Probe after the answer to its trial.
    #[must_use]
    pub fn after(mut self, answer: Answer) -> Self {
        let Some(trial) = self.trial() else { return self };
        let mut note = |quirk| self.findings.push(Finding { quirk, trial, answer });
        self.step = match (self.step, answer) {
            (ProbeStep::Default, Answer::Accepted) => {
                FORMS[self.form_index].deviations().for_each(note);
                ProbeStep::Limit
            }
            (ProbeStep::Default, _) if self.form_index + 1 < FORMS.len() => {
                self.form_index += 1;
                ProbeStep::Default
            }
            (ProbeStep::Default, _) => {
                note(Quirk::ProfileIgnored);
                ProbeStep::Clear
            }
            (ProbeStep::Limit, Answer::Accepted) => ProbeStep::Composite,
            (ProbeStep::Limit, _) => {
                note(Quirk::LevelZeroOnly);
                ProbeStep::Clear
            }
            (ProbeStep::Composite, Answer::Composite(limit)) => {
                let holds = is_about(limit, TRIAL_LIMIT);
                if !holds {
                    note(Quirk::ProfileIgnored);
                }
                if holds { ProbeStep::AfterEnd } else { ProbeStep::Clear }
            }
            (ProbeStep::AfterEnd, Answer::Composite(limit)) => {
                if !is_about(limit, TRIAL_DEFAULT) {
                    note(Quirk::ExpiryIgnored);
                }
                ProbeStep::Clear
            }
            // A charge point that does not tell its composite schedule shows nothing here.
            (ProbeStep::Composite | ProbeStep::AfterEnd, _) => ProbeStep::Clear,
            (ProbeStep::Clear | ProbeStep::Done, _) => ProbeStep::Done,
        };
        self
    }

    /// Probe that a vehicle has interrupted: profiles of trials are removed, and it ends.
    #[must_use]
    pub fn interrupt(mut self) -> Self {
        self.step = match self.step {
            // The first trial may have been carried out without an answer.
            ProbeStep::Done => ProbeStep::Done,
            _ => ProbeStep::Clear,
        };
        self
    }

    /// Deviations found so far.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl Form {
    /// Deviations of a charge point that refuses every form before this one.
    fn deviations(self) -> impl Iterator<Item = Quirk> {
        let found = [
            (self.unit == RateUnits::Watts).then_some(Quirk::WattsOnly),
            (!self.is_absolute).then_some(Quirk::RelativeOnly),
            (self.stack_level > 0).then_some(Quirk::LevelZeroRefused),
        ];
        found.into_iter().flatten()
    }
}

fn is_about(limit: Option<Current>, expected: Current) -> bool {
    limit.is_some_and(|limit| (limit - expected).max(expected - limit) <= ROUNDING)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Charge point with hidden deviations.
    #[derive(Debug, Clone, Copy)]
    struct Hidden {
        watts_only: bool,
        relative_only: bool,
        level_zero_refused: bool,
        level_zero_only: bool,
        refuses: bool,
        ignores: bool,
        keeps: bool,
        is_silent: bool,
    }

    impl Hidden {
        fn answer(self, trial: Trial) -> Answer {
            let takes = |form: Form, level: u32| {
                !self.refuses
                    && (form.unit == RateUnits::Watts) == self.watts_only
                    && form.is_absolute != self.relative_only
                    && !(self.level_zero_refused && level == 0)
                    && !(self.level_zero_only && level > 0)
            };
            let written = |is_taken| match (is_taken, self.is_silent) {
                (true, _) => Answer::Accepted,
                (false, true) => Answer::Silent,
                (false, false) => Answer::Refused,
            };
            let default = if self.ignores { amps(32.0) } else { TRIAL_DEFAULT };
            match trial {
                Trial::WriteDefault(form) => written(takes(form, form.stack_level)),
                Trial::WriteLimit(form) => written(takes(form, form.stack_level + 1)),
                Trial::AskComposite if self.ignores => Answer::Composite(None),
                Trial::AskComposite => Answer::Composite(Some(TRIAL_LIMIT)),
                Trial::AskAfterEnd { .. } if self.keeps => Answer::Composite(Some(TRIAL_LIMIT)),
                Trial::AskAfterEnd { .. } => Answer::Composite(Some(default)),
                Trial::Clear => Answer::Accepted,
            }
        }

        /// Deviations that trials can show, in the order of their discovery.
        fn quirks(self) -> Vec<Quirk> {
            if self.refuses || (self.level_zero_refused && self.level_zero_only) {
                return vec![Quirk::ProfileIgnored];
            }
            let shown = [
                (self.watts_only, Quirk::WattsOnly),
                (self.relative_only, Quirk::RelativeOnly),
                (self.level_zero_refused, Quirk::LevelZeroRefused),
                (self.level_zero_only, Quirk::LevelZeroOnly),
                (self.ignores && !self.level_zero_only, Quirk::ProfileIgnored),
                (self.keeps && !self.ignores && !self.level_zero_only, Quirk::ExpiryIgnored),
            ];
            shown.into_iter().filter_map(|(is_shown, quirk)| is_shown.then_some(quirk)).collect()
        }
    }

    fn run(mut probe: Probe, hidden: Hidden) -> (Probe, Vec<Trial>) {
        let mut trials = Vec::new();
        while let Some(trial) = probe.trial() {
            assert!(trials.len() < 20, "a probe ends: {trials:?}");
            trials.push(trial);
            probe = probe.after(hidden.answer(trial));
        }
        (probe, trials)
    }

    proptest! {
        /// Hidden deviations are found, no others, and no profile of a trial is left behind.
        #[test]
        fn hidden_deviations_are_found(bits in 0..256u32, stop in 0..30usize) {
            let bit = |index: u32| bits >> index & 1 == 1;
            let hidden = Hidden {
                watts_only: bit(0), relative_only: bit(1), level_zero_refused: bit(2), level_zero_only: bit(3),
                refuses: bit(4), ignores: bit(5), keeps: bit(6), is_silent: bit(7),
            };
            let (probe, trials) = run(Probe::new(), hidden);
            let found: Vec<Quirk> = probe.findings().iter().map(|finding| finding.quirk).collect();
            prop_assert_eq!(found, hidden.quirks());
            prop_assert_eq!(trials.last(), Some(&Trial::Clear));

            // A vehicle arrives after some of the trials.
            let mut early = Probe::new();
            for trial in trials.iter().take(stop) {
                early = early.after(hidden.answer(*trial));
            }
            let (early, rest) = run(early.interrupt(), hidden);
            prop_assert!(rest.is_empty() == (stop >= trials.len()), "{rest:?}");
            prop_assert!(rest.iter().all(|trial| *trial == Trial::Clear));
            prop_assert!(probe.findings().starts_with(early.findings()));
        }
    }

    #[test]
    fn a_finding_carries_its_evidence() {
        let mut probe = Probe::new();
        for answer in [Answer::Accepted, Answer::Accepted, Answer::Composite(Some(TRIAL_LIMIT))] {
            probe = probe.after(answer);
        }
        let wait = TimeDelta::seconds(90);
        assert_eq!(probe.trial(), Some(Trial::AskAfterEnd { wait }));
        let answer = Answer::Composite(Some(TRIAL_LIMIT));
        let probe = probe.after(answer);
        let trial = Trial::AskAfterEnd { wait };
        assert_eq!(probe.findings(), [Finding { quirk: Quirk::ExpiryIgnored, trial, answer }]);
        assert!(Quirk::ExpiryIgnored.makes_limits_unsafe());
    }
}

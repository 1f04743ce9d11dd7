//! Events of a charge point, and their answers.
use chrono::{DateTime, Utc};
use slackwater_control::quirk::kind::Quirk;
use slackwater_engine::units::{Current, Energy};

use crate::assumption::Assumption;
use crate::facts::{
    Answer, Connector, Event, Model, Quantity, Sample, Samples, Stage, Status, TransactionFacts,
};
use crate::station::clock::Promptness;
use crate::station::connector::{ConnectorState, time_of, was_set};
use crate::station::limit_state::Learned;
use crate::station::state::{MeasuredCurrent, OWN_TOKEN, Rules, Station};
use crate::station::transactions::{Given, Transaction};

impl Station {
    /// Takes over an event that came at `now`, and returns its answer. A message that is sent
    /// again is answered again and changes nothing.
    pub fn receive(&mut self, event: Event, rules: &Rules, now: DateTime<Utc>) -> Answer {
        self.heard_at = Some(now);
        let event = self.distrust_units(event);
        let answer = self.take_event(event, rules, now);
        self.interrupt_trials();
        answer
    }

    /// The event without units of energy, if those of the charge point are known to be wrong: the register
    /// and the power tell them then.
    fn distrust_units(&self, mut event: Event) -> Event {
        let samples = match &mut event {
            Event::Metered { samples, .. } => samples,
            Event::Transaction(facts) => &mut facts.samples,
            _ => return event,
        };
        if self.deviations().any(|quirk| quirk == Quirk::EnergyInKwh) {
            samples.values.iter_mut().for_each(|sample| sample.has_unit = false);
        }
        event
    }

    fn take_event(&mut self, event: Event, rules: &Rules, now: DateTime<Utc>) -> Answer {
        match event {
            Event::Booted(model) => self.boot(model, rules, now),
            Event::Heartbeat => Answer::Time(now),
            Event::Authorize { token } => Answer::Authorized { is_accepted: rules.accepts(&token) },
            Event::Status { connector, status, at } => {
                self.note_clock(at, Promptness::MayWait, now);
                if connector > 0 {
                    self.connector(connector).set_status(status);
                }
                Answer::Empty
            }
            Event::Metered { connector, samples } => {
                if samples.values.is_empty() && samples.unreadable == 0 {
                    self.assume(Assumption::SamplesMissing, now);
                }
                let newest = samples.values.iter().filter_map(|sample| sample.at).max();
                self.note_clock(newest, Promptness::Periodic, now);
                self.note_current(connector, &samples, now);
                // Connector 0 is the meter of the whole charge point.
                if connector > 0 {
                    let measured = self.connector(connector).measure(&samples, now);
                    self.note_all(measured.assumed, now);
                }
                Answer::Empty
            }
            Event::Transaction(facts) => self.transact(&facts, rules, now),
            Event::Identified(vehicles) => {
                for (connector, vehicle) in vehicles {
                    self.connector(connector).identification.vehicle = Some(vehicle.into());
                }
                Answer::Empty
            }
            Event::Noted => Answer::Empty,
            Event::SignCertificate => Answer::Rejected,
            Event::DataTransfer => Answer::UnknownVendor,
        }
    }

    fn note_current(&mut self, connector: Connector, samples: &Samples, now: DateTime<Utc>) {
        let is_current = |sample: &&Sample| sample.quantity == Quantity::Current;
        let timed = samples.values.iter().filter(is_current).filter_map(|sample| {
            let (at, current) = (time_of(sample.at, now).0, Current::from_amps(sample.value).ok()?);
            Some(MeasuredCurrent { at, current })
        });
        // Values that were kept without a connection arrive late: the newest counts, from its own time on.
        let known = self.currents.get(&connector).copied();
        let newest = known.into_iter().chain(timed).max_by_key(|measured| measured.at);
        self.currents.extend(newest.map(|newest| (connector, newest)));
    }

    fn note_all(&mut self, assumed: impl IntoIterator<Item = Assumption>, now: DateTime<Utc>) {
        for assumption in assumed {
            self.assume(assumption, now);
        }
    }

    fn boot(&mut self, model: Model, rules: &Rules, now: DateTime<Utc>) -> Answer {
        // Other firmware may take other forms of profiles, and one that refused all of them may have been
        // busy, or out of order.
        if self.model.as_ref() != Some(&model) || self.learned.is_hopeless {
            self.learned = Learned::default();
        }
        self.model = Some(model);
        self.abandon_trials();
        // A restart may have lost the profiles.
        for state in self.connectors.values_mut() {
            state.limits.forget_written();
            if let Some(balanced) = &mut state.limits.balanced {
                balanced.draws_more = false;
            }
        }
        if let Some(link) = &mut self.link {
            link.settled_from = now;
            // The answer sets its clock.
            link.clock_lag = None;
        }
        Answer::Booted { now, interval_seconds: rules.heartbeat_seconds }
    }

    fn transact(&mut self, facts: &TransactionFacts, rules: &Rules, now: DateTime<Utc>) -> Answer {
        if self.model.is_none() {
            self.assume(Assumption::BootMissing, now);
        }
        let promptness = match facts.stage {
            Stage::Updated => Promptness::Periodic,
            Stage::Started | Stage::Ended => Promptness::MayWait,
        };
        self.note_clock(facts.at, promptness, now);
        let is_accepted = facts.token.as_deref().map(|token| rules.accepts(token));
        let id = match facts.stage {
            Stage::Started => self.start(facts, now),
            Stage::Updated => self.update(facts, now),
            Stage::Ended => self.end(facts, now),
        };
        Answer::Transaction { id, is_accepted }
    }

    /// Begins a transaction, unless the message is one that was sent before.
    fn start(&mut self, facts: &TransactionFacts, now: DateTime<Utc>) -> String {
        let connector = self.place_of(facts, now);
        let given = read_given(facts);
        let transactions = &self.connector(connector).transactions;
        let is_dated = facts.at.is_some_and(was_set);
        let known = match &facts.id {
            Some(id) => transactions.has(id).then(|| id.clone()),
            None => transactions.started_as(&given, is_dated).map(|known| known.id.clone()),
        };
        if let Some(known) = known {
            self.complete_start(facts, connector, given, now);
            return known;
        }
        if given.register.is_none() {
            self.assume(Assumption::MeterStartMissing, now);
        }
        self.open(facts, connector, given, now)
    }

    /// Takes over the start of a transaction that was known already. If it began here with a later message,
    /// its start and its first register are known from now on; a repeated start changes nothing.
    fn complete_start(
        &mut self,
        facts: &TransactionFacts,
        connector: Connector,
        given: Given,
        now: DateTime<Utc>,
    ) {
        let (started_at, wrong) = time_of(facts.at, now);
        let state = self.connector(connector);
        let is_new = |open: &Transaction| {
            let began_later = open.given.register.is_none() && given.register.is_some();
            began_later && facts.id.as_ref() == Some(&open.id) && started_at <= open.started_at
        };
        if wrong.is_some() || !state.transactions.open.as_ref().is_some_and(is_new) {
            return;
        }
        let measured = state.measure(&facts.samples, now);
        if let Some(open) = &mut state.transactions.open {
            (open.started_at, open.given, open.meter_start) =
                (started_at, given, measured.imported);
        }
        self.note_all(measured.assumed, now);
    }

    /// Opens a transaction in place of one that is open still.
    fn open(
        &mut self,
        facts: &TransactionFacts,
        connector: Connector,
        given: Given,
        now: DateTime<Utc>,
    ) -> String {
        let (started_at, wrong) = time_of(facts.at, now);
        // One that began before the open one comes late, and is over.
        let is_over = !self.may_end_at(connector, facts.at);
        if self.connector(connector).transactions.open.is_some() && !is_over {
            self.assume(Assumption::TransactionReplaced, now);
            let last = self.connector(connector).register();
            self.connector(connector).transactions.end(started_at, last);
        }
        let id = facts.id.clone().unwrap_or_else(|| {
            self.last_transaction += 1;
            self.last_transaction.to_string()
        });
        let has_register = given.register.is_some();
        let measured = self.connector(connector).measure(&facts.samples, now);
        let state = self.connector(connector);
        let meter_start = measured.imported.filter(|_| has_register);
        let transaction = Transaction { id: id.clone(), started_at, given, meter_start };
        if is_over {
            state.transactions.add_ended(transaction);
        } else {
            state.transactions.open = Some(transaction);
            if let Some(status) = facts.status {
                state.set_status(status);
            }
            state.identification.note_token(read_foreign_token(facts));
        }
        self.note_all(measured.assumed.into_iter().chain(wrong), now);
        id
    }

    /// Goes on with a transaction; one that is unknown began while nobody listened.
    fn update(&mut self, facts: &TransactionFacts, now: DateTime<Utc>) -> String {
        let connector = self.place_of(facts, now);
        let id = facts.id.clone().unwrap_or_default();
        if !self.connector(connector).transactions.has(&id) {
            self.assume(Assumption::TransactionUnknown, now);
            let given = Given { register: None, ..read_given(facts) };
            return self.open(facts, connector, given, now);
        }
        let assumed = self.connector(connector).measure(&facts.samples, now).assumed;
        let state = self.connector(connector);
        if state.transactions.is_open(&id) {
            if let Some(status) = facts.status {
                state.set_status(status);
            }
            // In 2.0.1 the token may come after the start.
            state.identification.note_token(read_foreign_token(facts));
        }
        self.note_all(assumed, now);
        id
    }

    /// Ends a transaction. One with an unknown or negative identifier is the one that is open.
    fn end(&mut self, facts: &TransactionFacts, now: DateTime<Utc>) -> String {
        let id = facts.id.clone().unwrap_or_default();
        let is_known = |state: &ConnectorState| state.transactions.has(&id);
        let known =
            self.connectors.iter().find(|(_, state)| is_known(state)).map(|(number, _)| *number);
        let connector = known.or_else(|| {
            self.assume(Assumption::TransactionUnknown, now);
            self.only_open(facts.connector).filter(|number| self.may_end_at(*number, facts.at))
        });
        let Some(connector) = connector else { return id };
        let is_repeated = known.is_some() && !self.connector(connector).transactions.is_open(&id);
        let measured = self.connector(connector).measure(&facts.samples, now);
        self.note_all(measured.assumed, now);
        if !is_repeated {
            self.close(facts, connector, measured.imported, now);
        }
        id
    }

    /// Closes the open transaction at its register, or at the last one that is known.
    fn close(
        &mut self,
        facts: &TransactionFacts,
        connector: Connector,
        register: Option<Energy>,
        now: DateTime<Utc>,
    ) {
        let (ended_at, wrong) = time_of(facts.at, now);
        self.note_all(wrong, now);
        if register.is_none() {
            self.assume(Assumption::MeterStopMissing, now);
        }
        let state = self.connector(connector);
        let register = register.or_else(|| state.register());
        state.transactions.end(ended_at, register);
        let flowed = matches!(
            state.status,
            Some(Status::Charging | Status::SuspendedByVehicle | Status::SuspendedByCharger)
        );
        if let Some(status) = facts.status.or_else(|| flowed.then_some(Status::Finishing)) {
            state.set_status(status);
        }
    }

    /// The connector with the only open transaction.
    fn only_open(&self, said: Option<Connector>) -> Option<Connector> {
        let is_open = |number: &Connector| {
            self.connectors.get(number).is_some_and(|state| state.transactions.open.is_some())
        };
        if let Some(said) = said {
            return Some(said).filter(is_open);
        }
        let mut open = self.connectors.keys().copied().filter(is_open);
        open.next().filter(|_| open.next().is_none())
    }

    /// Returns false if the open transaction of a connector began after a time: an end of that time is that
    /// of an earlier one.
    fn may_end_at(&self, number: Connector, at: Option<DateTime<Utc>>) -> bool {
        let state = self.connectors.get(&number);
        let open = state.and_then(|state| state.transactions.open.as_ref());
        let began = open.map(|open| open.started_at);
        at.filter(|at| was_set(*at)).zip(began).is_none_or(|(at, began)| began <= at)
    }

    /// The connector of a transaction: as it says, where its identifier is known, or the first.
    fn place_of(&mut self, facts: &TransactionFacts, now: DateTime<Utc>) -> Connector {
        if let Some(connector) = facts.connector {
            return connector;
        }
        let id = facts.id.as_deref().unwrap_or_default();
        let known = self.connectors.iter().find(|(_, state)| state.transactions.has(id));
        if let Some((number, _)) = known {
            return *number;
        }
        self.assume(Assumption::ConnectorMissing, now);
        self.connectors.keys().next().copied().unwrap_or(1)
    }
}

/// Token of a transaction, unless it is ours, which says nothing about the vehicle.
fn read_foreign_token(facts: &TransactionFacts) -> Option<&str> {
    facts.token.as_deref().filter(|token| *token != OWN_TOKEN)
}

fn read_given(facts: &TransactionFacts) -> Given {
    let register = facts.samples.values.iter().find(|one| one.quantity == Quantity::Imported);
    Given { at: facts.at, register: register.map(|one| one.value), token: facts.token.clone() }
}

//! Commands of the service, as requests to the charge point.
use chrono::{DateTime, Utc};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::device::command::{Command, Switch};

use crate::facts::{Connector, Request, Status};
use crate::station::state::{OWN_TOKEN, Rules, Station};

/// Reason why a command is not passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The charge point has no such connector.
    #[error("there is no connector {number}")]
    NoConnector {
        /// Number of the connector.
        number: Connector,
    },
    /// The connector charges in a transaction that is not known here.
    #[error("the transaction is not known: it began while the charger was not connected")]
    UnknownTransaction,
    /// The charge point cannot be limited.
    #[error("the charger cannot be limited: {reason}")]
    NoLimit {
        /// Reason in words.
        reason: String,
    },
    /// A charger has no such command.
    #[error("a charger has no such command")]
    NoSuchCommand,
}

impl Station {
    /// The first request that carries out a command; the others follow of our own accord. `None`
    /// where nothing is left to do.
    ///
    /// # Errors
    /// The command cannot be passed on.
    pub fn order(
        &mut self,
        number: Connector,
        command: &Command,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, OrderError> {
        if !self.connectors.contains_key(&number) {
            return Err(OrderError::NoConnector { number });
        }
        match command {
            Command::Charge(Switch::Start) => self.order_start(number, rules, now),
            Command::Charge(Switch::Stop) => self.order_stop(number, rules, now),
            Command::MaxCurrent(current) => {
                self.order_limit(number, Limit::Current(*current), rules, now)
            }
            Command::ChargeRateLimit(power) => {
                self.order_limit(number, Limit::Power(*power), rules, now)
            }
            _ => Err(OrderError::NoSuchCommand),
        }
    }

    /// Starts a transaction, or lifts the pause of the open one.
    fn order_start(
        &mut self,
        number: Connector,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, OrderError> {
        let state = self.connector(number);
        let was_paused = std::mem::take(&mut state.limits.is_paused);
        if state.transactions.open.is_some() {
            return if was_paused { self.write_limit(number, rules, now) } else { Ok(None) };
        }
        self.last_start += 1;
        let token = OWN_TOKEN.to_owned();
        Ok(Some(Request::Start { connector: number, token, number: self.last_start }))
    }

    /// Pauses the open transaction by a limit of zero, or ends it where that does not work: after
    /// the end many vehicles need to be plugged in anew.
    fn order_stop(
        &mut self,
        number: Connector,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, OrderError> {
        let pauses = self.pauses_by_limit(rules);
        let state = self.connector(number);
        match &state.transactions.open {
            Some(_) if pauses => {
                state.limits.is_paused = true;
                self.write_limit(number, rules, now)
            }
            Some(open) => Ok(Some(Request::Stop { transaction: open.id.clone() })),
            None if state.status == Some(Status::Charging) => Err(OrderError::UnknownTransaction),
            None => Ok(None),
        }
    }

    fn order_limit(
        &mut self,
        number: Connector,
        limit: Limit,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, OrderError> {
        if !self.takes_limits() {
            let reason = "it takes no charging profiles".to_owned();
            return Err(OrderError::NoLimit { reason });
        }
        self.connector(number).limits.wanted = Some(limit);
        self.write_limit(number, rules, now)
    }

    fn write_limit(
        &mut self,
        number: Connector,
        rules: &Rules,
        now: DateTime<Utc>,
    ) -> Result<Option<Request>, OrderError> {
        let limits = &mut self.connector(number).limits;
        limits.retry_at = None;
        if limits.balanced.is_some() {
            // The balancing of the site takes it as an upper bound.
            return Ok(None);
        }
        self.limit_request(number, rules, now)
            .map_err(|error| OrderError::NoLimit { reason: error.to_string() })
    }
}

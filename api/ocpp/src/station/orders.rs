//! Commands of the service, as requests to the charge point.
use slackwater_control::device::command::{Command, Switch};

use crate::facts::{Connector, Request, Status};
use crate::station::state::{OWN_TOKEN, Station};

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
    /// A charger has no such command.
    #[error("a charger has no such command")]
    NoSuchCommand,
}

impl Station {
    /// Requests that carry out a command. There are none where nothing is left to do.
    ///
    /// # Errors
    /// The command cannot be passed on.
    pub fn order(
        &mut self,
        number: Connector,
        command: &Command,
    ) -> Result<Vec<Request>, OrderError> {
        if !self.connectors.contains_key(&number) {
            return Err(OrderError::NoConnector { number });
        }
        match command {
            Command::Charge(Switch::Start) => Ok(self.start_requests(number)),
            Command::Charge(Switch::Stop) => self.stop_requests(number),
            _ => Err(OrderError::NoSuchCommand),
        }
    }

    fn start_requests(&mut self, number: Connector) -> Vec<Request> {
        let is_open = self.connector(number).transactions.open.is_some();
        if is_open {
            return Vec::new();
        }
        self.last_start += 1;
        let token = OWN_TOKEN.to_owned();
        vec![Request::Start { connector: number, token, number: self.last_start }]
    }

    fn stop_requests(&mut self, number: Connector) -> Result<Vec<Request>, OrderError> {
        let state = self.connector(number);
        let is_charging = state.status == Some(Status::Charging);
        match &state.transactions.open {
            Some(open) => Ok(vec![Request::Stop { transaction: open.id.clone() }]),
            None if is_charging => Err(OrderError::UnknownTransaction),
            None => Ok(Vec::new()),
        }
    }
}

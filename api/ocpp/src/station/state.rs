//! State of a charge point, and the rules that it is held to.
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use slackwater_control::charging_profile::supply::{Limit, Supply};
use slackwater_engine::units::Current;

use crate::assumption::{Assumption, Assumptions};
use crate::facts::{Connector, Model, Variable};
use crate::station::connector::ConnectorState;
use crate::station::limit_state::Learned;
use crate::station::setup::Probe;
use crate::station::trial_state::Trials;

/// Token with which this system starts transactions.
pub const OWN_TOKEN: &str = "slackwater";

/// Pause after a start or a new connection. Charge points send the states of their connectors
/// first, and some restart if they are asked meanwhile.
const SETTLING: TimeDelta = TimeDelta::seconds(10);

/// Rules for a charge point.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Interval of heartbeats, s.
    pub heartbeat_seconds: u32,
    /// Interval of meter values during a transaction, s.
    pub meter_interval_seconds: u32,
    /// Tokens that may charge; `None` for all.
    pub tokens: Option<BTreeSet<String>>,
    /// Phases and voltage.
    pub supply: Supply,
    /// Highest current of charge point and cable.
    pub current_max: Current,
    /// Limit that is safe without us.
    pub safe_current: Current,
    /// Time from the writing of a limit to its expiry.
    pub limit_lifetime: TimeDelta,
    /// Rules of the site whose balancing it takes part in, if any.
    pub balancing: Option<Balancing>,
}

/// Rules for a charge point that takes part in the balancing of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balancing {
    /// Number of connectors that take part, from 1.
    pub connectors: u32,
    /// Largest error of its clock.
    pub clock_error_max: TimeDelta,
    /// True if a model that is not known is tried out while it is idle.
    pub probes: bool,
}

impl Rules {
    /// Time before the expiry of a limit at which it is written again.
    #[must_use]
    pub fn refresh_before(&self) -> TimeDelta {
        self.limit_lifetime / 3
    }

    /// Current under a limit, on each phase; at most that of the charge point.
    #[must_use]
    pub fn current_under(&self, limit: Limit) -> Current {
        self.supply.current_of(limit, None).min(self.current_max)
    }

    /// Returns true if a token may charge.
    #[must_use]
    pub fn accepts(&self, token: &str) -> bool {
        token == OWN_TOKEN || self.tokens.as_ref().is_none_or(|tokens| tokens.contains(token))
    }
}

/// State of a charge point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Model, once it has introduced itself.
    pub model: Option<Model>,
    /// Time of its last message.
    pub heard_at: Option<DateTime<Utc>>,
    /// Connectors by number. Boxed, since a node of the map has room for eleven of them.
    pub connectors: BTreeMap<Connector, Box<ConnectorState>>,
    /// Last identifier that was given to a transaction.
    pub last_transaction: i64,
    /// Last number of a start that was asked for.
    pub last_start: i64,
    /// Variables that were read or set.
    pub variables: BTreeMap<Variable, String>,
    /// Model that the variables were read of.
    pub variables_of: Option<Model>,
    /// Search for the quantities that its meter reports.
    pub probe: Probe,
    /// Deviations that refusals have shown.
    pub learned: Learned,
    /// Trials of its model, and the deviations that they have shown.
    #[serde(default)]
    pub trials: Trials,
    /// Everything that was assumed.
    pub assumptions: Assumptions,
    /// Connection, while there is one.
    #[serde(skip)]
    pub link: Option<Link>,
    /// Last currents of its connectors, and of the charge point as a whole at zero.
    #[serde(skip)]
    pub currents: BTreeMap<Connector, MeasuredCurrent>,
}

/// Current as a meter has shown it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredCurrent {
    /// Time of the measurement.
    pub at: DateTime<Utc>,
    /// Highest current of a phase.
    pub current: Current,
}

/// Facts about a connection that end with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Time at which it was made, or at which the charge point last introduced itself.
    pub settled_from: DateTime<Utc>,
    /// Number of requests of our own accord that failed.
    pub failures: u32,
    /// True if the charge point was asked to introduce itself.
    pub has_asked_boot: bool,
    /// True if the charge point was asked for the state of its connectors.
    pub has_asked_status: bool,
    /// Time by which the clock of the charge point is late at most, as its messages have shown.
    pub clock_lag: Option<TimeDelta>,
}

impl Station {
    /// Takes over a new connection.
    pub fn connect(&mut self, now: DateTime<Utc>) {
        self.heard_at = Some(now);
        self.abandon_trials();
        self.forget_profiles();
        self.link = Some(Link {
            settled_from: now,
            failures: 0,
            has_asked_boot: false,
            has_asked_status: false,
            clock_lag: None,
        });
    }

    /// Takes over the end of the connection.
    pub fn disconnect(&mut self) {
        self.link = None;
    }

    /// Returns true if it is connected, and has had time to report after its start.
    #[must_use]
    pub fn is_settled(&self, now: DateTime<Utc>) -> bool {
        self.link.as_ref().is_some_and(|link| now - link.settled_from >= SETTLING)
    }

    /// Records that something was assumed.
    pub fn assume(&mut self, assumption: Assumption, now: DateTime<Utc>) {
        self.assumptions.note(assumption, now);
    }

    /// State of a connector, which is there from now on.
    pub fn connector(&mut self, number: Connector) -> &mut ConnectorState {
        self.connectors.entry(number).or_default()
    }

    /// Returns true if the charge point takes charging profiles, as far as it said.
    #[must_use]
    pub fn is_smart(&self) -> Option<bool> {
        self.variables.get(&Variable::SmartCharging).map(|value| value == "true")
    }
}

//! Part of a connector in the balancing of a site, as it is kept in memory. What is done with it is in
//! [`balanced`](super::balanced).
use chrono::{DateTime, Utc};
use slackwater_control::charging_profile::profile::Profile;
use slackwater_control::load_balancing::ledger::Ledger;
use slackwater_control::policy::need::ChargingNeed;
use slackwater_engine::units::Current;

/// Part of a connector in the balancing of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct Balanced {
    /// Limits that the connector may hold.
    pub ledger: Ledger,
    /// Limit that was decided and not sent yet. Boxed, since it is there for moments only.
    pub(crate) decided: Option<Box<Decided>>,
    /// Profile that was sent and not answered yet.
    pub(crate) open: Option<Open>,
    /// True if the connector keeps to the limit that the service wants.
    pub(crate) keeps_wish: bool,
    /// Highest current that it may have drawn, and the time at which it fell to that.
    pub(crate) allowed: Option<(Current, DateTime<Utc>)>,
    /// True if its meter has shown more.
    pub(crate) draws_more: bool,
    /// Charging that the plan of the charger still wants, as the service said last.
    pub(crate) need: Option<ChargingNeed>,
    /// Average current for it, in whole amperes.
    pub(crate) needed: Option<Current>,
}

/// Limit that was decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decided {
    /// Number in the ledger.
    pub(crate) number: u64,
    pub(crate) limit: Current,
    pub(crate) profile: Profile,
    /// Transaction in which it was decided.
    pub(crate) transaction: Option<String>,
    pub(crate) expires: DateTime<Utc>,
}

/// Profile that was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Open {
    /// Number in the ledger.
    pub(crate) number: u64,
    pub(crate) limit: Current,
    pub(crate) transaction: Option<String>,
}

impl Balanced {
    /// Part of a connector that was told nothing yet.
    pub(crate) const fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            decided: None,
            open: None,
            keeps_wish: false,
            allowed: None,
            draws_more: false,
            need: None,
            needed: None,
        }
    }

    /// Follows the need as time passes.
    pub(crate) fn follow_need(&mut self, highest: Current, now: DateTime<Utc>) {
        self.needed = self.need.and_then(|need| need.current(highest, self.needed, now));
    }

    /// Takes back a limit that was decided: it was not sent, and will not be.
    pub(crate) fn cancel(&mut self) {
        if let Some(decided) = self.decided.take() {
            self.ledger.refuse(decided.number);
        }
    }
}

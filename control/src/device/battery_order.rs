//! Orders to a battery that last: each poll renews them while the device shows them.
//!
//! A device ends the limits of an order by itself, when its timer has run out. An order is therefore
//! written again at each poll, until there is another one. It is given up where the device no
//! longer shows it, since its owner or another controller changed it, and where no poll succeeded
//! for as long as the device's timer runs: after that the device is on its own, and stays so.
use chrono::{DateTime, TimeDelta, Utc};

use crate::device::battery::OperationMode;

/// Order that a battery was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatteryOrder {
    /// Mode that was ordered.
    pub mode: OperationMode,
    /// True if the device has shown the mode since.
    pub is_shown: bool,
    /// End of the device's timer.
    pub ends_at: DateTime<Utc>,
}

/// Decision about an order after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// Write it again.
    Renew,
    /// Leave the device alone: it has yet to show the mode.
    Wait,
    /// Forget it.
    GiveUp,
}

impl BatteryOrder {
    /// Order of a mode that was written at `now`. A device in its own control needs none.
    #[must_use]
    pub fn begin(mode: OperationMode, revert_seconds: u16, now: DateTime<Utc>) -> Option<Self> {
        let ends_at = now.checked_add_signed(TimeDelta::seconds(revert_seconds.into()))?;
        let order = Self { mode, is_shown: false, ends_at };
        (mode != OperationMode::SelfReliance).then_some(order)
    }

    /// Decides after a poll in which the device showed a mode, or none that is known.
    #[must_use]
    pub fn judge(&self, shown: Option<OperationMode>, now: DateTime<Utc>) -> Renewal {
        match (shown == Some(self.mode), self.is_shown) {
            _ if now >= self.ends_at => Renewal::GiveUp,
            (true, _) => Renewal::Renew,
            (false, false) => Renewal::Wait,
            (false, true) => Renewal::GiveUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_renewed_while_the_device_shows_it() {
        let now: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        let order = BatteryOrder::begin(OperationMode::Idle, 1800, now).unwrap();
        let judged = |order: &BatteryOrder, shown, seconds| {
            order.judge(shown, now + TimeDelta::seconds(seconds))
        };
        let (idle, own) = (Some(OperationMode::Idle), Some(OperationMode::SelfReliance));
        assert_eq!(
            (judged(&order, idle, 60), judged(&order, own, 60)),
            (Renewal::Renew, Renewal::Wait)
        );
        assert_eq!(judged(&order, None, 60), Renewal::Wait);
        let shown = BatteryOrder { is_shown: true, ..order };
        assert_eq!(
            (judged(&shown, idle, 1799), judged(&shown, own, 60)),
            (Renewal::Renew, Renewal::GiveUp)
        );
        // The timer of the device has ended.
        assert_eq!(
            (judged(&shown, idle, 1800), judged(&order, own, 1800)),
            (Renewal::GiveUp, Renewal::GiveUp)
        );
        assert_eq!(BatteryOrder::begin(OperationMode::SelfReliance, 1800, now), None);
    }
}

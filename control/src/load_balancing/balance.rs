//! Limits to send to the charge points of a site, from its meter and from their ledgers.
//!
//! Divisions by [`share_current`], with `floor_i` the current that a charge point may draw at any time,
//! `known_i(t)` the current that it may draw at `t` by what this controller has sent, and
//! `may_i(t)` that by anything sent, also before a start without memory:
//!
//! ```text
//! target     = division of the room with floor_i reserved: where currents should be
//! allowed(t) = division of the room with may_i(t) reserved, up to the targets
//! limit_i    = min over t of max(allowed_i(t), min(target_i, known_i(t)))
//! ```
//!
//! `t` is now, and each instant of the validity of the new limit at which an earlier one stops to
//! count. A limit exceeds `known_i(t)` only where the sum of all `may(t)` leaves room, hence
//!
//! ```text
//! base + sum of known_i(t) <= fuse      for every t, as long as the base load does not rise
//! ```
//!
//! Reductions go out at once; raises follow when reductions have been answered, or old limits have
//! expired. Two shorter rules are wrong, as the simulation showed. To compare with `may_i(now)` alone
//! prolongs currents: while an old limit of 32 A may be in force, a new one of 11 A is a reduction now,
//! and a raise from the end of the old one on. To take `may` for `known` raises after a restart: all
//! that a charge point may draw is far above what it draws.
use chrono::{DateTime, TimeDelta, Utc};

use crate::load_balancing::ledger::{Ledger, Place};
use slackwater_engine::current_share::{Room, Sharer, share_current, turn_at};
use slackwater_engine::units::Current;

/// Number of phases.
const PHASES: usize = 3;

/// Grid connection, or a branch of it behind one fuse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Current of the fuse on each phase, less the margin of its operator.
    pub fuse: [Current; PHASES],
    /// Other load on each phase as measured; below zero is a surplus, such as from solar panels.
    pub base: [Current; PHASES],
    /// Current that may be drawn from the grid, as a sum over the phases; `None` without an order.
    pub grid: Option<Current>,
    /// Current that the charge points keep under an order whatever the other load draws, as a sum over
    /// the phases; zero if there is no such rule.
    pub least: Current,
}

/// Charge point of a site.
#[derive(Debug, Clone, Copy)]
pub struct Station<'a> {
    /// Phases that it uses, as phases of the site.
    pub phases: [bool; PHASES],
    /// Lowest current of charging.
    pub min: Current,
    /// Highest current that its vehicle can use now; zero without a vehicle.
    pub wanted: Current,
    /// Step of its limits.
    pub step: Current,
    /// Rank: higher ranks are served first.
    pub priority: i32,
    /// Current that its vehicle needs on average until it leaves, if that is known.
    pub need: Option<Current>,
    /// Limit that is safe without a controller.
    pub default: Current,
    /// True if a message is expected to reach it.
    pub is_reachable: bool,
    /// Limits that it may hold.
    pub ledger: &'a Ledger,
}

/// Times of load balancing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Lifetime of a limit. [`Ledger::recovered`] needs the longest ever used.
    pub lifetime: TimeDelta,
    /// Time before its end at which a limit is sent again.
    pub refresh_before: TimeDelta,
    /// Time after which an unanswered message is given up, and the next one may be sent.
    pub answer_timeout: TimeDelta,
    /// Length of a turn, when not all vehicles can have their lowest current.
    pub turn: TimeDelta,
}

/// Limit to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    /// Index of the charge point.
    pub station: usize,
    /// Place of the limit.
    pub place: Place,
    /// Amperes on each phase.
    pub limit: Current,
}

/// Limits to send now, at most one to each charge point, in their order.
///
/// The caller records each in the ledger before it is sent, even if sending fails. Charge points
/// that wait for an answer get nothing. A surplus does not raise the room under the fuse, because it
/// may vanish faster than limits can follow; it counts under a limit of the grid.
///
/// # Example
///
/// A fuse of 25 A with 5 A in use, and two charge points with a default of 6 A. Both have room for
/// 10 A at once, since neither holds more than its default.
///
/// ```
/// use chrono::{DateTime, TimeDelta, Utc};
/// use slackwater_control::load_balancing::balance::{Pace, Site, Station, balance};
/// use slackwater_control::load_balancing::ledger::Ledger;
/// use slackwater_engine::units::amps;
///
/// let noon: DateTime<Utc> = "2026-01-05T12:00:00Z".parse().unwrap();
/// let seconds = TimeDelta::seconds;
/// let long_ago = noon - seconds(3600);
/// let ledger = Ledger::recovered(amps(16.0), seconds(10), amps(6.0), seconds(300), long_ago);
/// let station = Station {
///     phases: [true; 3],
///     min: amps(6.0),
///     wanted: amps(16.0),
///     step: amps(1.0),
///     priority: 0,
///     need: None,
///     default: amps(6.0),
///     is_reachable: true,
///     ledger: &ledger,
/// };
/// let site = Site { fuse: [amps(25.0); 3], base: [amps(5.0); 3], grid: None, least: amps(0.0) };
/// let pace = Pace {
///     lifetime: seconds(300),
///     refresh_before: seconds(120),
///     answer_timeout: seconds(30),
///     turn: seconds(900),
/// };
///
/// let orders = balance(&site, &[station, station], &pace, noon);
///
/// assert_eq!(orders.iter().map(|order| order.limit).collect::<Vec<_>>(), [amps(10.0); 2]);
/// ```
#[must_use]
pub fn balance(
    site: &Site,
    stations: &[Station<'_>],
    pace: &Pace,
    now: DateTime<Utc>,
) -> Vec<Order> {
    let limits = divide(site, stations, pace.lifetime, pace.turn, now);
    let stations = stations.iter().zip(limits).enumerate();
    let orders = stations.map(|(index, (station, limit))| {
        let due = station.due(limit, pace, now)?;
        Some(Order { station: index, place: due.0, limit: due.1 })
    });
    orders.flatten().collect()
}

/// Highest limit of each charge point that may be sent now to hold for `lifetime`, in their order:
/// whole steps, and zero below the lowest current. `turn` is the length of a turn.
///
/// All of them may be sent, or any part. The caller decides which are due, and records each in the
/// ledger before it is sent; [`balance`] is a rule for that.
#[must_use]
pub fn divide(
    site: &Site,
    stations: &[Station<'_>],
    lifetime: TimeDelta,
    turn: TimeDelta,
    now: DateTime<Utc>,
) -> Vec<Current> {
    let room = site.room();
    let first = turn_at(now, turn, stations.len());
    let sharers: Vec<Sharer> = stations.iter().map(|station| station.sharer(now)).collect();
    let targets = share_current(&room, &sharers, first);
    let mut limits = targets.clone();
    for at in instants(stations, now, now + lifetime) {
        let may: Vec<Current> =
            stations.iter().map(|station| station.ledger.may_draw(at)).collect();
        let reserved =
            |index: usize| Sharer { reserved: may[index], max: targets[index], ..sharers[index] };
        let sharers: Vec<Sharer> = (0..stations.len()).map(reserved).collect();
        let allowed = share_current(&room, &sharers, first);
        for (index, limit) in limits.iter_mut().enumerate() {
            let known = stations[index].ledger.known(at);
            *limit = limit.min(allowed[index].max(targets[index].min(known)));
        }
    }
    stations.iter().zip(limits).map(|(station, limit)| station.rounded(limit)).collect()
}

/// Now, and the instants of the validity of new limits at which earlier ones stop to count.
fn instants(
    stations: &[Station<'_>],
    now: DateTime<Utc>,
    expires: DateTime<Utc>,
) -> Vec<DateTime<Utc>> {
    let ends = stations.iter().flat_map(|station| station.ledger.ends(now));
    let mut instants: Vec<DateTime<Utc>> = std::iter::once(now).chain(ends).collect();
    let error_max = stations.iter().map(|station| station.ledger.clock_error_max()).max();
    instants.retain(|at| *at < expires + error_max.unwrap_or_default());
    instants.sort_unstable();
    instants.dedup();
    instants
}

impl Site {
    /// Current for charge points, on each phase and in all.
    fn room(&self) -> Room {
        let phase = |index: usize| self.fuse[index] - self.base[index].max(Current::ZERO);
        let total = self.grid_max().map(|grid| grid - self.base_sum());
        Room { phases: [phase(0), phase(1), phase(2)], total }
    }

    /// Highest current drawn from the grid, as a sum over the phases: that of the order, or as much as
    /// the other load takes with the least current of the charge points. `None` without an order.
    #[must_use]
    pub fn grid_max(&self) -> Option<Current> {
        let least = self.base_sum().max(Current::ZERO) + self.least;
        self.grid.map(|grid| if self.least > Current::ZERO { grid.max(least) } else { grid })
    }

    fn base_sum(&self) -> Current {
        self.base.into_iter().fold(Current::ZERO, |sum, base| sum + base)
    }
}

impl Station<'_> {
    /// Part in the division of targets. One that cannot be reached keeps what it may hold.
    fn sharer(&self, now: DateTime<Utc>) -> Sharer {
        let (max, reserved) = if self.is_reachable {
            (self.wanted, self.ledger.floor())
        } else {
            (Current::ZERO, self.ledger.may_draw(now))
        };
        let (phases, min, step, priority) = (self.phases, self.min, self.step, self.priority);
        Sharer { phases, min, max, step, reserved, priority, need: self.need }
    }

    /// Limit in whole steps, and zero below the lowest current.
    fn rounded(&self, limit: Current) -> Current {
        let limit = limit.round_down(self.step);
        if limit < self.min { Current::ZERO } else { limit }
    }

    /// Limit to send, if one is due.
    fn due(&self, limit: Current, pace: &Pace, now: DateTime<Utc>) -> Option<(Place, Current)> {
        if !self.is_reachable || self.ledger.is_waiting(now, pace.answer_timeout) {
            return None;
        }
        if !self.ledger.has_default() {
            return Some((Place::Default, self.default));
        }
        let held = self.ledger.may_draw(now);
        // Without a vehicle and above nothing but its default there is nothing to limit.
        let is_idle = self.wanted < self.min && held <= self.ledger.floor();
        let is_due = self.ledger.latest().is_none_or(|latest| match latest.place {
            Place::Limit { expires } => {
                latest.limit != limit
                    || latest.accepted_at.is_none()
                    || expires - now <= pace.refresh_before
            }
            Place::Default => true,
        });
        (is_due && !is_idle).then_some((Place::Limit { expires: now + pace.lifetime }, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_engine::units::amps;

    fn second(seconds: i64) -> DateTime<Utc> {
        "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
    }

    const PACE: Pace = Pace {
        lifetime: TimeDelta::seconds(300),
        refresh_before: TimeDelta::seconds(120),
        answer_timeout: TimeDelta::seconds(30),
        turn: TimeDelta::seconds(900),
    };

    fn ledger() -> Ledger {
        let (error, life) = (TimeDelta::seconds(10), TimeDelta::seconds(300));
        Ledger::recovered(amps(32.0), error, amps(6.0), life, second(-3600))
    }

    fn station(ledger: &Ledger) -> Station<'_> {
        Station {
            phases: [true; 3],
            min: amps(6.0),
            wanted: amps(32.0),
            step: amps(1.0),
            priority: 0,
            need: None,
            default: amps(6.0),
            is_reachable: true,
            ledger,
        }
    }

    fn site(fuse: f64) -> Site {
        let (fuse, base) = ([amps(fuse); 3], [Current::ZERO; 3]);
        Site { fuse, base, grid: None, least: Current::ZERO }
    }

    fn limits(orders: &[Order]) -> Vec<(usize, f64)> {
        orders.iter().map(|order| (order.station, order.limit.as_amps())).collect()
    }

    /// Sends and answers the orders.
    fn carry_out(orders: &[Order], ledgers: &mut [Ledger], at: i64) {
        for order in orders {
            let ledger = &mut ledgers[order.station];
            let number = ledger.send(order.place, order.limit, second(at));
            ledger.accept(number, second(at));
        }
    }

    #[test]
    fn a_raise_waits_for_the_reduction_to_be_answered() {
        let mut ledgers = [ledger(), ledger()];
        let alone =
            [station(&ledgers[0]), Station { wanted: Current::ZERO, ..station(&ledgers[1]) }];
        let orders = balance(&site(32.0), &alone, &PACE, second(0));
        assert_eq!(limits(&orders), [(0, 26.0)], "the other may take its default at any time");
        carry_out(&orders, &mut ledgers, 0);
        // The second vehicle arrives: only the reduction goes out.
        let both = [station(&ledgers[0]), station(&ledgers[1])];
        let orders = balance(&site(32.0), &both, &PACE, second(10));
        assert_eq!(limits(&orders), [(0, 16.0), (1, 6.0)]);
        carry_out(&orders, &mut ledgers, 10);
        let both = [station(&ledgers[0]), station(&ledgers[1])];
        let orders = balance(&site(32.0), &both, &PACE, second(11));
        assert_eq!(limits(&orders), [(1, 16.0)]);
    }

    #[test]
    fn the_larger_need_gets_more_once_the_other_has_answered() {
        let mut ledgers = [ledger(), ledger()];
        let needs = [Some(amps(20.0)), Some(amps(10.0))];
        let decide = |ledgers: &[Ledger; 2], needs: [Option<Current>; 2], at: i64| {
            let with = |index: usize| Station { need: needs[index], ..station(&ledgers[index]) };
            balance(&site(32.0), &[with(0), with(1)], &PACE, second(at))
        };
        let orders = decide(&ledgers, [None; 2], 0);
        assert_eq!(limits(&orders), [(0, 16.0), (1, 16.0)]);
        carry_out(&orders, &mut ledgers, 0);
        let orders = decide(&ledgers, needs, 10);
        assert_eq!(limits(&orders), [(1, 12.0)]);
        carry_out(&orders, &mut ledgers, 10);
        assert_eq!(limits(&decide(&ledgers, needs, 11)), [(0, 20.0)]);
    }

    #[test]
    fn one_that_cannot_be_reached_counts_with_its_limit_and_then_with_its_default() {
        let mut ledgers = [ledger(), ledger()];
        let number = ledgers[0].send(Place::Limit { expires: second(300) }, amps(20.0), second(0));
        ledgers[0].accept(number, second(0));
        let second_limit = |ledgers: &[Ledger; 2], at: i64| {
            let gone = Station { is_reachable: false, ..station(&ledgers[0]) };
            limits(&balance(&site(32.0), &[gone, station(&ledgers[1])], &PACE, second(at)))
        };
        assert_eq!(second_limit(&ledgers, 1), [(1, 12.0)]);
        assert_eq!(second_limit(&ledgers, 309), [(1, 12.0)]);
        assert_eq!(second_limit(&ledgers, 310), [(1, 26.0)]);
        ledgers[0].refuse(99);
        assert_eq!(second_limit(&ledgers, 310), [(1, 26.0)]);
    }

    #[test]
    fn a_limit_is_not_prolonged_into_a_time_without_room() {
        // 32 A may be in force on the second one until 44 s. It shares 17 A with the first one, that
        // may hold 8 A by a message without answer. 11 A would be less than it may draw now, and from
        // 44 s on more than there is.
        let mut ledgers = [ledger(), ledger()];
        ledgers[0].send(Place::Limit { expires: second(90) }, amps(8.0), second(-30));
        ledgers[1].send(Place::Limit { expires: second(34) }, amps(32.0), second(-86));
        let both = [Station { is_reachable: false, ..station(&ledgers[0]) }, station(&ledgers[1])];
        assert_eq!(limits(&balance(&site(17.0), &both, &PACE, second(0))), [(1, 9.0)]);
    }

    #[test]
    fn a_start_without_memory_raises_nothing_before_old_limits_have_expired() {
        let (error, life) = (TimeDelta::seconds(10), TimeDelta::seconds(300));
        let fresh = || Ledger::recovered(amps(32.0), error, amps(6.0), life, second(0));
        let ledgers = [fresh(), fresh()];
        let both = [station(&ledgers[0]), station(&ledgers[1])];
        let limits_at = |at| limits(&balance(&site(32.0), &both, &PACE, second(at)));
        assert_eq!(limits_at(1), [(0, 6.0), (1, 6.0)]);
        assert_eq!(limits_at(309), [(0, 6.0), (1, 6.0)]);
        assert_eq!(limits_at(310), [(0, 16.0), (1, 16.0)]);
        // All that both can draw fits: nothing has to be waited for.
        assert_eq!(limits(&balance(&site(64.0), &both, &PACE, second(1))), [(0, 32.0), (1, 32.0)]);
    }

    #[test]
    fn the_default_is_written_first() {
        let fresh = Ledger::new(amps(32.0), TimeDelta::seconds(10));
        let orders = balance(&site(63.0), &[station(&fresh)], &PACE, second(0));
        assert_eq!(orders, [Order { station: 0, place: Place::Default, limit: amps(6.0) }]);
    }

    #[test]
    fn limits_are_renewed_before_their_end_and_not_earlier() {
        let mut ledgers = [ledger()];
        let orders = balance(&site(16.0), &[station(&ledgers[0])], &PACE, second(0));
        carry_out(&orders, &mut ledgers, 0);
        assert_eq!(balance(&site(16.0), &[station(&ledgers[0])], &PACE, second(179)), []);
        let orders = balance(&site(16.0), &[station(&ledgers[0])], &PACE, second(180));
        assert_eq!(limits(&orders), [(0, 16.0)]);
        // Nothing more is sent until the answer, or the time for it, has passed.
        ledgers[0].send(orders[0].place, orders[0].limit, second(180));
        assert_eq!(balance(&site(16.0), &[station(&ledgers[0])], &PACE, second(209)), []);
        assert_eq!(balance(&site(16.0), &[station(&ledgers[0])], &PACE, second(210)).len(), 1);
    }

    #[test]
    fn sun_comes_on_top_of_a_grid_limit_and_not_of_the_fuse() {
        let ledger = ledger();
        let stations = [station(&ledger)];
        // 4.2 kW at 230 V are 18.26 A in all; 5 A of surplus on each phase are 15 A more.
        let grid = Some(amps(18.26));
        let limit = |base: f64, grid, fuse: f64| {
            let site = Site { base: [amps(base); 3], grid, ..site(fuse) };
            limits(&balance(&site, &stations, &PACE, second(0)))
        };
        assert_eq!(limit(0.0, grid, 35.0), [(0, 6.0)]);
        assert_eq!(limit(-5.0, grid, 35.0), [(0, 11.0)]);
        assert_eq!(limit(-5.0, None, 20.0), [(0, 20.0)]);
        assert_eq!(limit(4.0, None, 20.0), [(0, 16.0)]);
    }

    #[test]
    fn the_least_current_is_kept_whatever_the_other_load_draws() {
        let ledger = ledger();
        let idle = Station { default: Current::ZERO, ..station(&ledger) };
        // 4.2 kW at 230 V are 18.26 A: 6 A on each phase of one charge point.
        let limit = |base: f64, grid: f64, least: f64, fuse: f64| {
            let (grid, least) = (Some(amps(grid)), amps(least));
            let site = Site { base: [amps(base); 3], grid, least, ..site(fuse) };
            limits(&balance(&site, &[idle], &PACE, second(0)))
        };
        for (base, grid, least, fuse, expected) in [
            (4.0, 18.26, 0.0, 35.0, 0.0),
            (4.0, 18.26, 18.26, 35.0, 6.0),
            (20.0, 0.0, 18.26, 35.0, 6.0),
            (4.0, 60.0, 18.26, 35.0, 16.0),
            // A surplus comes on top of the least current, too; the fuse holds in any case.
            (-5.0, 0.0, 18.26, 35.0, 11.0),
            (30.0, 0.0, 18.26, 35.0, 0.0),
        ] {
            let found = limit(base, grid, least, fuse);
            assert_eq!(found, [(0, expected)], "base {base} A, grid {grid} A, least {least} A");
        }
    }
}

//! Limits of the charge points of a site, from their states and the time.
//!
//! Each second, and after each message, the room is divided by [`divide`], and limits that are due are entered in the
//! ledgers of their connectors. Their charge points send them when they are free, with the expiry
//! that was entered.
use chrono::{DateTime, Utc};
use slackwater_control::charging_profile::charge_point::CURRENT_MIN;
use slackwater_control::load_balancing::balance::{self, divide};
use slackwater_engine::units::Current;

use crate::facts::Connector;
use crate::site::plan::{Bounds, PHASES, Site};
use crate::station::state::{Rules, Station};

/// Charge point of a site with its rules, in the order of the site.
#[derive(Debug)]
pub struct Member<'a> {
    /// Its rules.
    pub rules: &'a Rules,
    /// Its state.
    pub station: &'a mut Station,
}

/// Connector that takes part.
#[derive(Debug, Clone, Copy)]
struct Part {
    member: usize,
    number: Connector,
}

impl Site {
    /// Decides the limits that are due, and returns the current on each phase that counts at any
    /// time: base load and defaults, and all of the current of what no limit bounds.
    ///
    /// `members` are the charge points of the site, in its order, all of which have
    /// [joined](Station::join). A grid order bounds the sum over the phases; a surplus of the base
    /// load comes on top of it, and the charge points keep the least power of the bounds.
    pub fn balance(
        &self,
        members: &mut [Member<'_>],
        bounds: Bounds,
        now: DateTime<Utc>,
    ) -> [Current; PHASES] {
        let mut parts = Vec::new();
        let mut base = self.base_at(bounds.measured, now);
        for (index, (charger, member)) in self.chargers.iter().zip(members.iter_mut()).enumerate() {
            member.station.judge_limits(member.rules, now);
            let numbers = 1..=charger.connectors;
            parts.extend(numbers.map(|number| Part { member: index, number }));
            let strange = member.station.strange_connectors(charger.connectors);
            let more = (0..strange).fold(Current::ZERO, |sum, _| sum + member.rules.current_max);
            add(&mut base, charger.phases, more);
        }
        let stations: Vec<balance::Station<'_>> =
            parts.iter().filter_map(|part| self.station(*part, members, now)).collect();
        let Some(first) = members.first().filter(|_| stations.len() == parts.len()) else {
            return base;
        };
        let site = self.connection(bounds, base);
        // The lifetime is the one with which profiles are written.
        let limits = divide(&site, &stations, first.rules.limit_lifetime, self.turn, now);
        let mut counted = base.map(|base| base.max(Current::ZERO));
        for station in &stations {
            add(&mut counted, station.phases, station.ledger.floor());
        }
        for (part, limit) in parts.iter().zip(limits) {
            let member = &mut members[part.member];
            member.station.decide(part.number, limit, member.rules, now);
        }
        counted
    }

    fn station<'a>(
        &self,
        part: Part,
        members: &'a [Member<'_>],
        now: DateTime<Utc>,
    ) -> Option<balance::Station<'a>> {
        let charger = &self.chargers[part.member];
        let member = &members[part.member];
        let balanced = member.station.balanced(part.number)?;
        let point = member.station.charge_point(member.rules);
        Some(balance::Station {
            phases: charger.phases,
            min: CURRENT_MIN,
            wanted: member.station.wished(part.number, member.rules),
            step: point.current_step,
            priority: charger.priority,
            need: balanced.needed,
            default: member.rules.safe_current,
            is_reachable: member.station.is_settled(now),
            ledger: &balanced.ledger,
        })
    }
}

/// Adds a current on phases.
fn add(currents: &mut [Current; PHASES], phases: [bool; PHASES], more: Current) {
    for (current, _) in currents.iter_mut().zip(phases).filter(|(_, is_on)| *is_on) {
        *current = *current + more;
    }
}

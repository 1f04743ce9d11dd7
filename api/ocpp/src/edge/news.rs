//! News of connectors, as the service is told of them.
use std::collections::BTreeMap;

use crate::edge::files::Kept;
use crate::edge::hub::Hub;
use crate::edge::point::Point;
use crate::facts::Connector;
use crate::station::show::Occupancy;

/// State of the connectors of a charge point, as the service was told last.
#[derive(Debug, Default)]
pub(crate) struct ToldState {
    connectors: BTreeMap<Connector, Occupancy>,
}

impl ToldState {
    /// Tells of connectors whose plug or transaction has changed: of all, the first time.
    pub(crate) fn tell_changes(&mut self, hub: &Hub, point: &Point) {
        let changed = self.note_changes(&point.kept());
        tell_of_connectors(hub, point, &changed);
    }

    /// Takes over the state of the connectors, and returns those that have changed.
    fn note_changes(&mut self, kept: &Kept) -> Vec<Connector> {
        let mut is_new = |number: Connector, occupancy: Occupancy| {
            self.connectors.insert(number, occupancy) != Some(occupancy)
        };
        let all = kept.station.connectors.iter();
        all.filter(|(number, state)| is_new(**number, state.occupancy()))
            .map(|(number, _)| *number)
            .collect()
    }
}

/// Tells that all connectors of a charge point have news.
pub(crate) fn tell_all(hub: &Hub, point: &Point) {
    let all: Vec<Connector> = point.kept().station.connectors.keys().copied().collect();
    tell_of_connectors(hub, point, &all);
}

/// Tells of connectors, unless nobody has linked the charge point. Its state is not locked meanwhile:
/// whoever is told may wait for other locks.
fn tell_of_connectors(hub: &Hub, point: &Point, connectors: &[Connector]) {
    if connectors.is_empty() || point.kept().links.is_empty() {
        return;
    }
    for number in connectors {
        hub.news().tell_of(format!("{}/{number}", point.identity));
    }
}

//! Limits of areas in memory: those of the settings, those that operators set meanwhile, and below
//! both those of grid operators.
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_engine::shared_supply::SharedLimit;
use slackwater_engine::units::Power;

use crate::config::plans::AreaLimit;
use slackwater_store::database::Store;
use slackwater_store::error::StoreError;
use slackwater_store::limits::{LimitRow, all_limits};
use slackwater_store::rows::Pair;

/// Limit of a grid operator, which counts where it is lower than others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridCap {
    /// Highest power.
    pub power: Power,
    /// First instant.
    pub since: DateTime<Utc>,
    /// First instant after it; `None` without an end.
    pub until: Option<DateTime<Utc>>,
}

/// Time for which a limit of a grid operator without an end is planned with, far beyond all prices.
const WITHOUT_END: TimeDelta = TimeDelta::days(3_650);

impl GridCap {
    /// The lower one of a limit and this one. It is a period also without an end: devices above the
    /// limit of a period are off there, while one that is above a limit at all times would keep it
    /// in the mean of each slot only.
    fn lower(&self, limit: &SharedLimit) -> SharedLimit {
        let until = self.until.or_else(|| self.since.checked_add_signed(WITHOUT_END));
        limit.capped(self.power, self.since, until)
    }
}

/// Limits of areas, by zone and area.
#[derive(Debug, Default)]
pub struct AreaLimits {
    configured: BTreeMap<Pair, Power>,
    kept: RwLock<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    set: BTreeMap<Pair, SharedLimit>,
    caps: BTreeMap<Pair, GridCap>,
    /// All together, by zone and then by area, so that a look-up needs no texts of its own.
    in_force: BTreeMap<String, BTreeMap<String, Arc<SharedLimit>>>,
}

impl AreaLimits {
    /// Limits of the settings and of the database.
    ///
    /// # Errors
    /// The database failed, or holds what no version of this service has written.
    pub async fn load(store: &Store, settings: &[AreaLimit]) -> Result<Self, StoreError> {
        let configured = settings.iter().map(|limit| {
            let AreaLimit { zone, area, power_max } = limit.clone();
            ((zone, area), power_max)
        });
        let limits = Self { configured: configured.collect(), kept: RwLock::default() };
        for area in limits.configured.keys() {
            limits.replace(area, None);
        }
        for LimitRow { area, limit } in all_limits(store).await? {
            limits.replace(&area, Some(limit));
        }
        Ok(limits)
    }

    /// Returns `true` if no area has a limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read(|kept| kept.in_force.is_empty())
    }

    /// The limit in force of an area: what an operator set, and the settings where nothing is set; the
    /// limit of a grid operator where that is lower.
    #[must_use]
    pub fn of(&self, zone_id: &str, area_id: &str) -> Option<Arc<SharedLimit>> {
        self.read(|kept| kept.in_force.get(zone_id)?.get(area_id).cloned())
    }

    /// Part of a limit that an operator set.
    #[must_use]
    pub fn set_for(&self, area: &Pair) -> Option<SharedLimit> {
        self.read(|kept| kept.set.get(area).cloned())
    }

    /// Limit of the settings.
    #[must_use]
    pub fn configured_for(&self, area: &Pair) -> Option<Power> {
        self.configured.get(area).copied()
    }

    /// Areas with a limit.
    #[must_use]
    pub fn areas(&self) -> Vec<Pair> {
        self.read(|kept| {
            let zones = kept.in_force.iter();
            let all = zones.flat_map(|(zone, areas)| areas.keys().map(move |area| (zone, area)));
            all.map(|(zone, area)| (zone.clone(), area.clone())).collect()
        })
    }

    /// Areas with a limit that an operator set.
    #[must_use]
    pub fn areas_set(&self) -> Vec<Pair> {
        self.read(|kept| kept.set.keys().cloned().collect())
    }

    /// Puts what an operator set in the place of what was set before, after the database.
    pub fn replace(&self, area: &Pair, set: Option<SharedLimit>) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        match set {
            Some(set) => kept.set.insert(area.clone(), set),
            None => kept.set.remove(area),
        };
        self.put_in_force(&mut kept, area);
    }

    /// Puts the limit of a grid operator in the place of the one before, after the database.
    pub fn replace_cap(&self, area: &Pair, cap: Option<GridCap>) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.caps.get(area) == cap.as_ref() {
            return;
        }
        match cap {
            Some(cap) => kept.caps.insert(area.clone(), cap),
            None => kept.caps.remove(area),
        };
        self.put_in_force(&mut kept, area);
    }

    fn put_in_force(&self, kept: &mut Kept, area: &Pair) {
        let base = match (kept.set.get(area), self.configured_for(area)) {
            (Some(set), Some(usual)) if set.usual().is_none() => {
                Some(set.clone().with_usual(usual))
            }
            (Some(set), _) => Some(set.clone()),
            (None, usual) => usual.map(SharedLimit::from),
        };
        let in_force = match kept.caps.get(area) {
            Some(cap) => Some(cap.lower(&base.unwrap_or_default())),
            None => base,
        };
        let (zone, area) = area.clone();
        let areas = kept.in_force.entry(zone.clone()).or_default();
        match in_force {
            Some(limit) => areas.insert(area, Arc::new(limit)),
            None => areas.remove(&area),
        };
        if areas.is_empty() {
            kept.in_force.remove(&zone);
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Kept) -> T) -> T {
        look(&self.kept.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::kw;

    use super::*;

    #[test]
    fn settings_count_where_nothing_is_set() {
        let area = ("NO1".to_owned(), "north".to_owned());
        let limits =
            AreaLimits { configured: [(area.clone(), kw(500.0))].into(), ..Default::default() };
        let start = "2026-01-05T18:00:00Z".parse().unwrap();
        let end = "2026-01-05T19:00:00Z".parse().unwrap();
        let at = |limits: &AreaLimits| {
            let limit = limits.of("NO1", "north").unwrap();
            [start, end].map(|at| limit.at(at).map(Power::as_kw))
        };
        limits.replace(&area, None);
        assert_eq!(at(&limits), [Some(500.0), Some(500.0)]);
        let dimmed =
            slackwater_engine::plan::charge::PowerLimit { start, end, power_max: kw(50.0) };
        let set = SharedLimit::new(None, vec![dimmed]).unwrap();
        limits.replace(&area, Some(set.clone()));
        assert_eq!(at(&limits), [Some(50.0), Some(500.0)]);
        limits.replace(&area, Some(set.with_usual(kw(800.0))));
        assert_eq!(at(&limits), [Some(50.0), Some(800.0)]);
        limits.replace(&area, None);
        assert_eq!(at(&limits), [Some(500.0), Some(500.0)]);
        // A grid order counts where it is lower, with and without another limit.
        let half = start + TimeDelta::minutes(30);
        let cap = |power, until| Some(GridCap { power: kw(power), since: start, until });
        limits.replace_cap(&area, cap(70.0, Some(half)));
        assert_eq!(at(&limits), [Some(70.0), Some(500.0)]);
        limits.replace_cap(&area, cap(900.0, None));
        assert_eq!(at(&limits), [Some(500.0), Some(500.0)]);
        limits.replace_cap(&area, None);
        let west = ("NO1".to_owned(), "west".to_owned());
        limits.replace_cap(&west, cap(7.0, None));
        assert_eq!(limits.of("NO1", "west").unwrap().at(end), Some(kw(7.0)));
        limits.replace_cap(&west, None);
        assert_eq!(limits.of("NO1", "west"), None);
        // An area that the settings do not name, and whose limit is taken away again.
        let south = ("NO1".to_owned(), "south".to_owned());
        limits.replace(&south, Some(kw(9.0).into()));
        assert_eq!(limits.areas().len(), 2);
        limits.replace(&south, None);
        assert_eq!((limits.areas(), limits.of("NO1", "south")), (vec![area], None));
    }
}

//! Counts what random cases have in them, so that none of it dies out.
use std::collections::BTreeMap;

use crate::case::{Case, Slot};
use crate::lp::{Model, Optimum};

/// How many cases have which feature, and the largest deviations seen.
#[derive(Debug, Default)]
pub(crate) struct Census {
    cases: u32,
    features: BTreeMap<&'static str, u32>,
    deviations: BTreeMap<&'static str, f64>,
}

impl Census {
    pub(crate) fn count(&mut self, features: &[(&'static str, bool)]) {
        self.cases += 1;
        for &(feature, is_present) in features {
            *self.features.entry(feature).or_default() += u32::from(is_present);
        }
    }

    pub(crate) fn measure(&mut self, what: &'static str, deviation: f64) {
        let most = self.deviations.entry(what).or_default();
        *most = most.max(deviation);
    }

    /// Share of the cases that have a feature.
    pub(crate) fn share(&self, feature: &str) -> f64 {
        f64::from(self.features[feature]) / f64::from(self.cases)
    }

    /// Prints the counts, and asserts that every feature has at least this share.
    #[track_caller]
    pub(crate) fn assert_each(&self, share_min: f64) {
        println!("{} cases {:#?} {:#?}", self.cases, self.features, self.deviations);
        for feature in self.features.keys() {
            let share = self.share(feature);
            assert!(share >= share_min, "{feature}: {share} of the cases");
        }
    }
}

/// What a case has in it.
pub(crate) fn features(case: &Case, model: &Model, optimum: &Optimum) -> Vec<(&'static str, bool)> {
    let length = |slot: &Slot| slot.end - slot.start;
    let cuts = |minute| case.slots.iter().any(|slot| slot.start < minute && minute < slot.end);
    let is_missed = model.shortfalls.iter().any(|&shortfall| shortfall > 0.0);
    let wanted = case.targets.iter().fold(0.0, |most: f64, target| most.max(target.kwh));
    let slack = case.energy_max_kwh.map_or(0.0, |most| most - optimum.energy);
    vec![
        ("a deadline missed", is_missed),
        ("missed, then charging goes on", is_missed && !case.stops),
        ("missed, then charging stops", is_missed && case.stops),
        ("several missed", model.shortfalls.iter().filter(|&&s| s > 0.0).count() > 1),
        ("several deadlines", case.targets.len() > 1),
        ("one target and nothing else", is_plain(case)),
        ("a target by the last price", case.targets.iter().any(|target| target.by.is_none())),
        ("a deadline inside a slot", case.targets.iter().filter_map(|t| t.by).any(cuts)),
        (
            "a deadline before plug-in",
            case.targets.iter().any(|t| t.by.is_some_and(|by| by <= case.now)),
        ),
        ("plug-in inside a slot", cuts(case.now)),
        ("departure known", case.until.is_some()),
        ("a reserve", case.reserve_kwh > 0.0),
        ("a reserve above the targets", case.reserve_kwh > wanted),
        ("a power limit that binds", model.pieces.iter().any(|piece| piece.kw < case.kw)),
        (
            "slots of different lengths",
            case.slots.windows(2).any(|pair| length(&pair[0]) != length(&pair[1])),
        ),
        ("a gap in the prices", case.slots.windows(2).any(|pair| pair[0].end < pair[1].start)),
        ("a negative price", model.pieces.iter().any(|piece| piece.price < 0.0)),
        ("a price of zero", model.pieces.iter().any(|piece| piece.price.abs() < 1e-12)),
        (
            "neighbours of one price",
            case.slots.windows(2).any(|pair| (pair[0].price - pair[1].price).abs() < 1e-12),
        ),
        (
            "filling up where it pays",
            case.energy_max_kwh.is_some() && optimum.energy > wanted.max(case.reserve_kwh),
        ),
        ("full to the brim", case.energy_max_kwh.is_some() && slack < 1e-9 && optimum.energy > 0.0),
        ("over 256 slots", case.slots.len() > 256),
    ]
}

fn is_plain(case: &Case) -> bool {
    case.targets.len() == 1
        && case.limits.is_empty()
        && case.reserve_kwh <= 0.0
        && case.energy_max_kwh.is_none()
}

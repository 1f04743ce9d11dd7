//! Powers of plans over time: load curves, and what differs between two plans.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use pyo3::prelude::*;
use slackwater_engine::columns::IntervalColumns;
use slackwater_engine::plan as engine;
use slackwater_engine::plan::questions;
use slackwater_engine::plan::questions::power_changes;
use slackwater_engine::plan::switching::SwitchingInterval;

use crate::arrow::{Table, utc};
use crate::error::Refused;
use crate::evaluate::AnyPlan;
use crate::plan_table::load_table;
use crate::site::SitePlan;
use crate::time::time_zone;

record! {
    /// A period in which two plans differ in the power of a device.
    pub(crate) struct PowerChange in PowerChanges {
        /// Name of the device of a site; `None` for a plan of one device.
        device: Option<String>,
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Power of the first plan throughout, in kW at the plug; negative feeds.
        before_kw: f64,
        /// Power of the second plan throughout, in kW at the plug; negative feeds.
        after_kw: f64,
        /// The change as a sentence, with times on the wall clock that `diff` was asked for.
        sentence: String,
    }
}

/// Intervals of each device of a plan, by its name in a site.
type Powers<'a> = Vec<(Option<&'a str>, Cow<'a, [engine::Interval]>)>;

/// The intervals of a plan of one device.
fn list_alone(intervals: &[engine::Interval]) -> Powers<'_> {
    vec![(None, Cow::Borrowed(intervals))]
}

impl AnyPlan<'_> {
    /// First instant that the plan could use.
    fn now(&self) -> DateTime<Utc> {
        match self {
            Self::Charge(plan) => plan.now(),
            Self::Storage(plan) => plan.evaluated().0.now,
            Self::Heat(plan) => plan.now(),
            Self::Switching(plan) => plan.intended().request.now,
            Self::Site(plan) => plan.evaluated().0.now,
            Self::Capacity(plan) => plan.begins_at(),
        }
    }

    fn powers(&self) -> Powers<'_> {
        match self {
            Self::Charge(plan) => list_alone(&plan.intended().intervals),
            Self::Storage(plan) => list_alone(&plan.evaluated().1.intervals),
            Self::Heat(plan) => list_alone(&plan.intended().intervals),
            Self::Switching(plan) => {
                let interval = |one: &SwitchingInterval| engine::Interval {
                    start: one.start,
                    end: one.end,
                    power: one.power,
                };
                vec![(None, plan.intended().intervals.iter().map(interval).collect())]
            }
            Self::Capacity(plan) => vec![(None, Cow::Owned(plan.intended().intervals()))],
            Self::Site(plan) => {
                let devices = plan.evaluated().1.devices.iter();
                devices.map(|one| (Some(&*one.name), Cow::Borrowed(&*one.intervals))).collect()
            }
        }
    }
}

/// See `slackwater.Plan.load`.
#[pyfunction]
pub(crate) fn plan_load(plan: AnyPlan<'_>, resolution: TimeDelta) -> Result<Table, Refused> {
    let mut columns = IntervalColumns::default();
    for (_, intervals) in plan.powers() {
        for one in &*intervals {
            let (start, end) = (one.start.timestamp_micros(), one.end.timestamp_micros());
            columns.push(start, end, one.power.as_kw());
        }
    }
    load_table(&columns, resolution)
}

/// See `slackwater.SitePlan.intervals_table`.
#[pyfunction]
pub(crate) fn site_intervals(plan: PyRef<'_, SitePlan>) -> Result<Table, Refused> {
    let plan = AnyPlan::Site(plan);
    let powers = plan.powers();
    let rows = || {
        powers.iter().flat_map(|(name, intervals)| intervals.iter().map(move |one| (*name, one)))
    };
    let times = |at: fn(&engine::Interval) -> DateTime<Utc>| -> ArrayRef {
        let micros = rows().map(|(_, one)| at(one).timestamp_micros());
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    };
    let names: ArrayRef = Arc::new(rows().map(|(name, _)| name).collect::<StringArray>());
    let kws = rows().map(|(_, one)| one.power.as_kw());
    let kws: ArrayRef = Arc::new(Float64Array::from_iter_values(kws));
    Table::of_columns([
        ("id", names, true),
        ("start", times(|one| one.start), false),
        ("end", times(|one| one.end), false),
        ("power_kw", kws, false),
    ])
}

/// See `slackwater.SitePlan.diff`.
#[pyfunction]
#[pyo3(signature = (before, after, *, time_zone))]
pub(crate) fn plan_power_changes(
    before: AnyPlan<'_>,
    after: AnyPlan<'_>,
    time_zone: &str,
) -> Result<PowerChanges, Refused> {
    let zone = self::time_zone(time_zone)?;
    let named = |powers: Powers<'_>| -> Vec<(Option<String>, Vec<engine::Interval>)> {
        let owned = powers.into_iter();
        owned.map(|(name, intervals)| (name.map(str::to_owned), intervals.into_owned())).collect()
    };
    Ok(changes_of_devices(&named(before.powers()), &named(after.powers()), after.now(), zone))
}

/// Changes of power from an instant on: of the devices of the second plan, and then of those that
/// only the first one has.
pub(crate) fn changes_of_devices<N: Clone + Into<Option<String>> + Ord>(
    was: &[(N, Vec<engine::Interval>)],
    is: &[(N, Vec<engine::Interval>)],
    now: DateTime<Utc>,
    zone: Tz,
) -> PowerChanges {
    let by_name = |powers: &[(N, Vec<engine::Interval>)]| -> BTreeMap<N, usize> {
        powers.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect()
    };
    let (before, after) = (by_name(was), by_name(is));
    let gone = was.iter().filter(|(name, _)| !after.contains_key(name));
    let mut changes = Vec::new();
    for (name, _) in is.iter().chain(gone) {
        let find = |places: &BTreeMap<N, usize>, powers: &[(N, Vec<engine::Interval>)]| {
            places.get(name).map_or_else(Vec::new, |&at| powers[at].1.clone())
        };
        let device: Option<String> = name.clone().into();
        let change = |change: questions::PowerChange| PowerChange {
            device: device.clone(),
            start: change.start,
            end: change.end,
            before_kw: change.before.as_kw(),
            after_kw: change.after.as_kw(),
            sentence: device.as_ref().map_or_else(String::new, |name| format!("{name}: "))
                + &change.sentence(zone),
        };
        let found = power_changes(&find(&before, was), &find(&after, is), now);
        changes.extend(found.into_iter().map(change));
    }
    changes.into_iter().collect()
}

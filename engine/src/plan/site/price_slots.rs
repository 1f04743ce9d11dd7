//! Slots of a site: the price slots, cut wherever any other input changes.
//!
//! A cut is an instant at which a forecast, limit, carbon intensity, window or period of the
//! demand charge, session, drive or deadline begins or ends, or at which the outdoor temperature, a gain
//! or the comfort band of a heat unit changes. A [`ShiftableLoad`] of duration `D` adds the
//! instants `b − D` of all borders `b`: between two adjacent cuts the cost of a run is a linear
//! function of its start, so that a cheapest run starts at a cut.
//!
//! [`ShiftableLoad`]: crate::plan::site::device::ShiftableLoad
use crate::plan::heat::slots::HeatLayout;
use crate::plan::site::device::{Device, HeatUnit, SoftBound};
use crate::plan::site::request::SiteRequest;
use crate::plan::site::series::Series;
use crate::plan::storage::request::StorageLimit;
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::MICROS_PER_HOUR;

/// Microseconds in a minute.
const MICROS_PER_MINUTE: i64 = 60_000_000;

/// Slots in time order. Within a slot every price, limit and forecast is constant, and every
/// vehicle is either present or absent.
#[derive(Debug, Clone)]
pub(crate) struct SiteSlots {
    /// Start of each slot, in microseconds.
    pub(crate) starts: Vec<i64>,
    /// End of each slot, in microseconds.
    pub(crate) ends: Vec<i64>,
    /// Length of each slot in hours.
    pub(crate) hours: Vec<f64>,
    /// Slot of the import prices that contains each slot.
    pub(crate) price_slots: Vec<usize>,
    /// Price per imported kWh.
    pub(crate) import: Vec<f64>,
    /// Revenue per exported kWh.
    pub(crate) export: Vec<f64>,
    /// Emissions per imported kWh in kg; NaN if unknown, zero without [`SiteRequest::carbon`].
    pub(crate) carbon: Vec<f64>,
    /// Periods `(start, end)` up to the last deadline in which a price is missing, in time order,
    /// in microseconds.
    pub(crate) gaps: Vec<(i64, i64)>,
    /// Deadline of a target without one, in microseconds.
    pub(crate) open_end: i64,
    /// Present time, in microseconds.
    pub(crate) now: i64,
}

impl SiteSlots {
    /// Slots of a request: from `now` to `until`, at times at which both prices are known.
    pub(crate) fn new(request: &SiteRequest) -> Self {
        let cuts = cuts(request);
        let from = micros_of(request.now);
        let to = request.until.map_or(i64::MAX, micros_of);
        let mut grid = Self {
            starts: Vec::new(),
            ends: Vec::new(),
            hours: Vec::new(),
            price_slots: Vec::new(),
            import: Vec::new(),
            export: Vec::new(),
            carbon: Vec::new(),
            gaps: Vec::new(),
            open_end: open_end(request),
            now: from,
        };
        let curve = &request.import_prices;
        let horizon = curve.horizon();
        // Cut each price slot at the borders of export prices, then at all other changes.
        for index in horizon.overlapping(from, to) {
            let (start, end) = (horizon.starts()[index].max(from), horizon.ends()[index].min(to));
            for (start, end, export) in priced(request, start, end) {
                let first = cuts.partition_point(|&cut| cut <= start);
                let inner = cuts[first..].iter().copied().take_while(|&cut| cut < end);
                // `last` is the start of the next slot, `inner` the cuts inside the priced part.
                let mut last = start;
                for cut in inner.chain([end]) {
                    grid.push(request, (last, cut), index, (curve.prices()[index], export));
                    last = cut;
                }
            }
        }
        let mut last = from;
        let to = last_deadline(request, grid.open_end);
        // Gaps are the times between slots, up to the last deadline.
        let slots = grid.starts.iter().zip(&grid.ends).take_while(|(start, _)| **start < to);
        for (&start, &end) in slots {
            if last < start {
                grid.gaps.push((last, start));
            }
            last = end;
        }
        if last < to {
            grid.gaps.push((last, to));
        }
        grid
    }

    /// Total length in hours of [`Self::gaps`].
    pub(crate) fn unpriced_hours(&self) -> f64 {
        self.gaps.iter().map(|(start, end)| end - start).sum::<i64>() as f64 / MICROS_PER_HOUR
    }

    /// Total length in hours of the gaps inside `[from, to)`, given in microseconds.
    pub(crate) fn unpriced_between(&self, from: i64, to: i64) -> f64 {
        let inside = self.gaps.iter().map(|&(start, end)| (start.max(from), end.min(to)));
        let lengths = inside.filter(|(start, end)| start < end).map(|(start, end)| end - start);
        lengths.sum::<i64>() as f64 / MICROS_PER_HOUR
    }

    /// Adds the slot `[start, end)` of one price slot.
    fn push(
        &mut self,
        request: &SiteRequest,
        (start, end): (i64, i64),
        price_slot: usize,
        (import, export): (f64, f64),
    ) {
        self.starts.push(start);
        self.ends.push(end);
        self.hours.push((end - start) as f64 / MICROS_PER_HOUR);
        self.price_slots.push(price_slot);
        self.import.push(import);
        self.export.push(export);
        self.carbon.push(carbon_at(request, start));
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Powers of a series in kW, one per slot; `None` if unknown.
    pub(crate) fn powers(&self, series: &Series) -> Vec<Option<f64>> {
        let slots = self.price_slots.iter().zip(&self.starts);
        slots.map(|(&slot, &start)| series.at(slot, start)).collect()
    }

    /// Range of the slots inside `[from, to)`, given in microseconds. Borders of sessions and
    /// deadlines are cuts, so that no slot is inside in part.
    pub(crate) fn between(&self, from: i64, to: i64) -> std::ops::Range<usize> {
        let first = self.starts.partition_point(|&start| start < from);
        let last = self.ends.partition_point(|&end| end <= to);
        first..last.max(first)
    }
}

/// Parts `(start, end, price)` of `[start, end)` that have an export price. Without a curve of
/// export prices, the whole period at a price of zero.
fn priced(request: &SiteRequest, start: i64, end: i64) -> Vec<(i64, i64, f64)> {
    let Some(curve) = &request.export_prices else { return vec![(start, end, 0.0)] };
    let horizon: &Horizon = curve.horizon();
    let part = |index: usize| {
        let first = horizon.starts()[index].max(start);
        (first, horizon.ends()[index].min(end), curve.prices()[index])
    };
    horizon.overlapping(start, end).map(part).collect()
}

/// Carbon intensity at `start` in kg per kWh; NaN if unknown, zero without
/// [`SiteRequest::carbon`].
fn carbon_at(request: &SiteRequest, start: i64) -> f64 {
    let Some(carbon) = &request.carbon else { return 0.0 };
    let after = carbon.intensity.partition_point(|slot| micros_of(slot.start) <= start);
    match carbon.intensity[..after].last() {
        Some(slot) if start < micros_of(slot.end) => slot.kg_per_kwh,
        _ => f64::NAN,
    }
}

/// Deadline of a target without one, in microseconds: [`SiteRequest::until`], or else the end of
/// the import prices.
fn open_end(request: &SiteRequest) -> i64 {
    let known = || request.import_prices.horizon().end();
    request.until.or_else(known).map_or(i64::MIN, micros_of)
}

/// Latest of the deadlines of all devices, in microseconds; `open_end` for a device without one.
fn last_deadline(request: &SiteRequest, open_end: i64) -> i64 {
    let until = request.until.map_or(i64::MAX, micros_of);
    let end = |device: &Device| match device {
        Device::Vehicle(vehicle) => vehicle.last_deadline().min(until),
        Device::Shiftable(load) => load.latest.map_or(i64::MAX, micros_of).min(until),
        // These have no deadline, and go on to the end of the prices.
        Device::Battery(_) | Device::Solar(_) | Device::Load(_) | Device::Heat(_) => i64::MAX,
    };
    let ends = request.devices.iter().map(end);
    ends.map(|end| if end == i64::MAX { open_end } else { end }).max().unwrap_or(open_end)
}

/// Sorted instants (microseconds) at which any input other than a price changes.
fn cuts(request: &SiteRequest) -> Vec<i64> {
    let mut cuts = Vec::new();
    for device in &request.devices {
        device_cuts(request, device, &mut cuts);
    }
    let groups = request.groups.iter().flat_map(|group| [&group.limit, &group.phase_limit]);
    for limit in [&request.import_limit, &request.export_limit].into_iter().chain(groups).flatten()
    {
        limit.power.cuts(&mut cuts);
    }
    if let Some(carbon) = &request.carbon {
        let borders = carbon.intensity.iter().flat_map(|slot| [slot.start, slot.end]);
        cuts.extend(borders.map(micros_of));
    }
    for charge in [&request.demand_charge, &request.export_demand_charge].into_iter().flatten() {
        let borders = charge.periods.iter().flat_map(|period| [period.start, period.end]);
        cuts.extend(borders.map(micros_of));
        let window = i64::from(charge.window_minutes) * MICROS_PER_MINUTE;
        let horizon = request.import_prices.horizon();
        let from = micros_of(request.now);
        let to = request.until.map_or(i64::MAX, micros_of);
        for index in horizon.overlapping(from, to) {
            let (start, end) = (horizon.starts()[index].max(from), horizon.ends()[index].min(to));
            // Windows start at whole multiples of their length since 1970.
            let first = start.div_euclid(window) + 1;
            let inside = (first..).map(|index| index * window).take_while(|&cut| cut < end);
            // `WINDOWS_MAX` cuts exceed the allowed number of slots: the request is rejected.
            cuts.extend(inside.take(WINDOWS_MAX));
        }
    }
    run_cuts(request, &mut cuts);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Adds the starts of runs that end at a border of a price slot or at another cut. Between
/// adjacent cuts the cost of a run is then a linear function of its start.
fn run_cuts(request: &SiteRequest, cuts: &mut Vec<i64>) {
    let curves = [Some(&request.import_prices), request.export_prices.as_ref()];
    let horizons = curves.into_iter().flatten().map(PriceCurve::horizon);
    let mut borders: Vec<i64> = horizons
        .flat_map(|horizon| horizon.starts().iter().chain(horizon.ends()))
        .copied()
        .collect();
    // A change of another input is a border for runs as well.
    borders.extend_from_slice(cuts);
    borders.sort_unstable();
    borders.dedup();
    for device in &request.devices {
        let Device::Shiftable(load) = device else { continue };
        let duration = load.duration().num_microseconds().unwrap_or(i64::MAX);
        let from = load.earliest.map_or(i64::MIN, micros_of).max(micros_of(request.now));
        let to = load.latest.map_or(i64::MAX, micros_of);
        let ends = borders.iter().filter(|&&end| end <= to);
        cuts.extend(ends.map(|end| end.saturating_sub(duration)).filter(|&start| start > from));
    }
}

/// Most windows of a demand charge that are cut inside one price slot; more than the slots that a
/// site may have.
const WINDOWS_MAX: usize = 30_000;

/// Adds the instants (microseconds) at which the session, drives, forecast or targets of a device
/// change.
fn device_cuts(request: &SiteRequest, device: &Device, cuts: &mut Vec<i64>) {
    match device {
        Device::Vehicle(vehicle) => {
            let by = vehicle.targets.iter().map(|target| target.by);
            let soc_by = vehicle.soc_targets.iter().map(|target| target.by);
            let stay = [vehicle.arrival, vehicle.departure];
            cuts.extend(by.chain(soc_by).chain(stay).flatten().map(micros_of));
            let drives = vehicle.consumption.iter().flat_map(|period| [period.start, period.end]);
            cuts.extend(drives.map(micros_of));
            bound_cuts(&vehicle.soft_bounds, &vehicle.limits, cuts);
            vehicle.power_wanted.iter().for_each(|power| power.cuts(cuts));
        }
        Device::Solar(solar) => solar.forecast.cuts(cuts),
        Device::Load(load) => load.forecast.cuts(cuts),
        Device::Shiftable(load) => {
            cuts.extend([load.earliest, load.latest].into_iter().flatten().map(micros_of));
        }
        Device::Battery(battery) => {
            bound_cuts(&battery.soft_bounds, &battery.limits, cuts);
            battery.power_wanted.iter().for_each(|power| power.cuts(cuts));
        }
        Device::Heat(unit) => heat_cuts(request, unit, cuts),
    }
}

/// Adds the instants (microseconds) at which the outdoor temperature, gains, power limits or the band
/// of a heat unit change. The slots of an invalid request are cut nowhere.
fn heat_cuts(request: &SiteRequest, unit: &HeatUnit, cuts: &mut Vec<i64>) {
    let Ok(problem) = unit.problem(instant_at(open_end(request).max(micros_of(request.now))))
    else {
        return;
    };
    let layout = HeatLayout::new(&request.import_prices, &problem);
    cuts.extend(layout.parts.iter().flat_map(|part| [part.start, part.end]));
}

/// Adds the instants (microseconds) at which soft bounds and limits begin and end.
fn bound_cuts(bounds: &[SoftBound], limits: &[StorageLimit], cuts: &mut Vec<i64>) {
    let soft = bounds.iter().flat_map(|bound| [bound.start, bound.end]).flatten();
    let hard = limits.iter().flat_map(|limit| [limit.start, limit.end]);
    cuts.extend(soft.chain(hard).map(micros_of));
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::site::request::tests::{at, demand, hard, site, van, washer};
    use crate::plan::site::request::{Carbon, CarbonSlot, Period, SiteRequest};
    use crate::plan::site::series::PowerPeriod;
    use crate::prices::curve::tests::curve_of;
    use crate::time::civil::instant_of;
    use crate::units::kw;

    /// Minutes from the first price to an instant.
    fn minute(micros: i64) -> i64 {
        (micros - micros_of(at(0))) / MICROS_PER_MINUTE
    }

    fn starts(grid: &SiteSlots) -> Vec<i64> {
        grid.starts.iter().map(|&start| minute(start)).collect()
    }

    #[test]
    fn a_plan_begins_now_and_ends_where_it_is_told_to() {
        let mut request = site(&[10, 20, 30], &[]);
        (request.now, request.until) = (at(15), Some(at(150)));
        let grid = SiteSlots::new(&request);
        assert_eq!((starts(&grid), grid.len()), (vec![15, 60, 120], 3));
        assert_eq!(grid.hours, [0.75, 1.0, 0.5]);
        assert_eq!(
            (grid.import.clone(), grid.price_slots.clone()),
            (vec![0.1, 0.2, 0.3], vec![0, 1, 2])
        );
        assert!(grid.gaps.is_empty());
    }

    #[test]
    fn time_without_an_export_price_is_not_used() {
        let mut request = site(&[10, 20, 30, 40], &[]);
        // Three slots of 50 minutes.
        request.export_prices = Some(curve_of(50, &[5, 6, 7]));
        let grid = SiteSlots::new(&request);
        assert_eq!(starts(&grid), [0, 50, 60, 100, 120]);
        assert_eq!(grid.export, [0.05, 0.06, 0.06, 0.07, 0.07]);
        assert_eq!(
            grid.gaps.iter().map(|&gap| (minute(gap.0), minute(gap.1))).collect::<Vec<_>>(),
            [(150, 240)]
        );
        assert!((grid.unpriced_hours() - 1.5).abs() < 1e-12);
        let between = |from, to| grid.unpriced_between(micros_of(at(from)), micros_of(at(to)));
        assert_eq!((between(0, 180), between(200, 210), between(0, 150)), (0.5, 1.0 / 6.0, 0.0));
    }

    #[test]
    fn a_gap_after_the_last_deadline_is_none() {
        let mut late = van("van", 5.0, 1.0);
        late.targets[0].by = Some(at(200));
        let request = site(&[10, 20], &[Device::Vehicle(late.clone())]);
        let gap = (micros_of(at(120)), micros_of(at(200)));
        assert_eq!(SiteSlots::new(&request).gaps, [gap]);
        late.targets[0].by = Some(at(90));
        let request = site(&[10, 20], &[Device::Vehicle(late)]);
        assert!(SiteSlots::new(&request).gaps.is_empty());
    }

    #[test]
    fn a_run_may_start_where_it_would_end_with_a_slot() {
        let mut load = washer(1.0, 45.0);
        load.earliest = Some(at(10));
        let request = site(&[10, 20, 30], &[Device::Shiftable(load)]);
        // 45 minutes before 60, 120 and 180; 45 before 10 has passed.
        assert_eq!(starts(&SiteSlots::new(&request)), [0, 10, 15, 60, 75, 120, 135]);
    }

    #[test]
    fn limits_and_emissions_cut_slots_and_are_read_at_their_starts() {
        let mut request = site(&[10, 20], &[]);
        let period = PowerPeriod { start: at(20), end: at(70), power: kw(4.0) };
        request.import_limit = Some(hard(1.0));
        request.import_limit.as_mut().unwrap().power = Series::Periods(vec![period]);
        let intensity = vec![
            CarbonSlot { start: at(0), end: at(40), kg_per_kwh: 0.5 },
            CarbonSlot { start: at(60), end: at(120), kg_per_kwh: 0.25 },
        ];
        request.carbon = Some(Carbon { price_per_kg: 1.0, intensity });
        let grid = SiteSlots::new(&request);
        assert_eq!(starts(&grid), [0, 20, 40, 60, 70]);
        let powers = grid.powers(&request.import_limit.unwrap().power);
        assert_eq!(powers, [None, Some(4.0), Some(4.0), Some(4.0), None]);
        assert!(grid.carbon[2].is_nan());
        assert_eq!((grid.carbon[1], grid.carbon[4]), (0.5, 0.25));
    }

    #[test]
    fn slots_between_instants_are_those_inside() {
        let grid = SiteSlots::new(&site(&[10, 20, 30], &[]));
        let between = |from, to| grid.between(micros_of(at(from)), micros_of(at(to)));
        assert_eq!((between(0, 180), between(60, 120)), (0..3, 1..2));
        assert_eq!((between(30, 150), between(90, 91), between(500, 600)), (1..2, 2..2, 3..3));
        assert_eq!(grid.between(i64::MIN, i64::MAX), 0..3);
    }

    proptest! {
        /// From midnight to midnight on the clocks of Oslo: 24 hours of windows, one less on
        /// the last Sunday of March, and one more on that of October.
        #[test]
        fn a_day_has_as_many_windows_as_its_clocks_have_hours(
            day in prop_oneof![Just(87u64), Just(297), 0..364u64],
            minutes in prop_oneof![Just(30u32), Just(60)],
        ) {
            let midnight = |day: u64| {
                let date = NaiveDate::from_ymd_opt(2026, 1, 1).unwrap() + chrono::Days::new(day);
                instant_of(date.and_time(chrono::NaiveTime::MIN), chrono_tz::Europe::Oslo)
            };
            // 29 March is day 87 after 1 January, and 25 October is day 297.
            let hours = match day { 87 => 23, 297 => 25, _ => 24 };
            let horizon = Horizon::new([(midnight(day), midnight(day + 1))]).unwrap();
            let prices = PriceCurve::from_parts(horizon, vec![0.1]).unwrap();
            let mut request = SiteRequest::new(prices, midnight(day));
            request.demand_charge = Some(demand(1.0, 0.0));
            request.demand_charge.as_mut().unwrap().window_minutes = minutes;
            let grid = SiteSlots::new(&request);
            prop_assert_eq!(grid.len(), hours * 60 / minutes as usize);
            prop_assert!(grid.hours.iter().all(|&h| (h * 60.0 - f64::from(minutes)).abs() < 1e-9));
        }

        /// Slots follow each other without overlap, and no border of a period lies inside one.
        #[test]
        fn no_slot_holds_a_border(
            arrival in 0..240i64, by in 0..240i64, now in 0..100i64, minutes in 1..240i64,
        ) {
            let mut van = van("van", 5.0, 1.0);
            van.arrival = Some(at(arrival));
            van.targets[0].by = Some(at(by));
            let mut request = site(&[10, 20, 30, 40], &[Device::Vehicle(van)]);
            let mut charge = demand(1.0, 0.0);
            charge.periods = vec![Period { start: at(arrival), end: at(arrival + minutes) }];
            (request.demand_charge, request.now) = (Some(charge), at(now));
            let grid = SiteSlots::new(&request);
            prop_assert_eq!(minute(grid.starts[0]), now);
            prop_assert_eq!(minute(*grid.ends.last().unwrap()), 240);
            prop_assert!(grid.starts.windows(2).zip(&grid.ends).all(|(two, end)| two[1] == *end));
            for border in [arrival, by, arrival + minutes] {
                let border = micros_of(at(border));
                let mut slots = grid.starts.iter().zip(&grid.ends);
                prop_assert!(!slots.any(|(&start, &end)| start < border && border < end));
            }
        }
    }
}

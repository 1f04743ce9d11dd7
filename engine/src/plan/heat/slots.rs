//! Slots of a heat problem, from temperatures to stored energy.
//!
//! Slots are cut where a price, the outdoor temperature, a gain, a power limit or the band
//! changes. Within a slot all inputs are constant, so the differential equation of the room,
//! `C·dT/dt = −UA·(T − T_out) + q`, has an exact solution over the length `h_t` (Åström and
//! Wittenmark, Computer-Controlled Systems, section 2.3: zero-order hold). With the stored energy
//! `e = σ·C·T`, and `σ = 1` for heating and `−1` for cooling:
//!
//! ```text
//! k_t = h_t·UA/C
//! a_t = exp(−k_t)                                         share of the energy that remains
//! φ_t = (1 − a_t)/k_t                                     share of a slot's heat that remains
//! η_t = cop_t·φ_t
//! g_t = σ·( (1 − a_t)·C·T_out + φ_t·h_t·gain_t )
//! ```
//!
//! Within a slot the temperature moves towards one limit, so it is in a band throughout the slot if
//! it is at both ends. The band at the end of a slot is therefore the tightest of those before and
//! after that instant; of two bands without a common temperature the lower edge counts.
use crate::plan::heat::on_off::LeastTimes;
use crate::plan::heat::request::{ComfortBand, HeatMode, HeatProblem, HeatRequest};
use crate::prices::curve::PriceCurve;
use crate::time::hour_minute::MINUTES_PER_DAY;
use crate::time::instant::micros_of;
use crate::time::wall::stretches;
use crate::units::{MICROS_PER_HOUR, Power};
use chrono::Timelike;

/// One slot of the programme, in stored kWh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThermalStep {
    /// Share of the stored energy that remains after the slot, `a_t`.
    pub(crate) decay: f64,
    /// Stored energy at the end per electrical energy, `η_t`.
    pub(crate) stored_per_kwh: f64,
    /// Most electrical energy, `X_t`; zero without a price.
    pub(crate) power_kwh: f64,
    /// Energy from losses to the outside and gains, `g_t`.
    pub(crate) drift_kwh: f64,
    /// Price of electrical energy; zero without a price.
    pub(crate) price: f64,
    /// Weight of a degree outside the band at the end: the hours of the slot, `h_t`.
    pub(crate) hours: f64,
    /// Lower edge of the band at the end, `L_t`.
    pub(crate) low_kwh: f64,
    /// Upper edge of the band at the end, `H_t`.
    pub(crate) high_kwh: f64,
}

impl ThermalStep {
    /// Most energy that the unit adds to the store, `η_t·X_t`.
    #[inline]
    pub(crate) fn most_kwh(&self) -> f64 {
        self.stored_per_kwh * self.power_kwh
    }

    /// Energy after the slot from the energy before it and the electrical energy used.
    #[inline]
    pub(crate) fn after(&self, before_kwh: f64, used_kwh: f64) -> f64 {
        self.decay * before_kwh + self.stored_per_kwh * used_kwh + self.drift_kwh
    }
}

/// Room or tank over its slots.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ThermalProgramme {
    /// Stored energy at the start, `e_0`.
    pub(crate) stored_kwh: f64,
    /// Stored energy per degree, `C`.
    pub(crate) kwh_per_k: f64,
    /// Value of a kWh stored at the end, `v`.
    pub(crate) end_value: f64,
    pub(crate) steps: Vec<ThermalStep>,
}

/// Data of a slot that the programme does not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeatSlotPart {
    /// Start, in microseconds.
    pub(crate) start: i64,
    /// End, in microseconds.
    pub(crate) end: i64,
    pub(crate) is_priced: bool,
    pub(crate) power_max: Power,
    pub(crate) outdoor_celsius: f64,
    pub(crate) gain_kw: f64,
    pub(crate) cop: f64,
    /// Band at the end.
    pub(crate) band: ComfortBand,
}

/// Slots of a problem, with its programme.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeatLayout {
    pub(crate) programme: ThermalProgramme,
    pub(crate) parts: Vec<HeatSlotPart>,
}

/// Sign of the stored energy: one degree more is more energy to heat with, and less to cool with.
pub(crate) const fn sign(mode: HeatMode) -> f64 {
    match mode {
        HeatMode::Heat => 1.0,
        HeatMode::Cool => -1.0,
    }
}

/// Share of the stored energy that remains after `hours`, and of heat that comes in evenly over
/// them, `(a, φ)`. `per_hour` is `UA/C`.
pub(crate) fn decay(per_hour: f64, hours: f64) -> (f64, f64) {
    let exponent = per_hour * hours;
    if exponent > 0.0 { ((-exponent).exp(), -(-exponent).exp_m1() / exponent) } else { (1.0, 1.0) }
}

impl HeatLayout {
    /// Layout of a problem on prices.
    pub(crate) fn new(prices: &PriceCurve, problem: &HeatProblem) -> Self {
        let request = problem.request();
        let (from, to) = (micros_of(request.now), end_of(prices, problem));
        let bands = bands(request, from, to);
        let cuts = cuts(prices, problem, &bands, (from, to));
        let capacity = request.store.capacity.as_kwh_per_k();
        let signed = sign(request.mode) * capacity;
        let mut layout = Self {
            programme: ThermalProgramme {
                stored_kwh: signed * request.temperature.as_celsius(),
                kwh_per_k: capacity,
                end_value: request.end_value.as_per_kwh(),
                steps: Vec::with_capacity(cuts.len()),
            },
            parts: Vec::with_capacity(cuts.len()),
        };
        let starts = prices.horizon().starts();
        let mut tariff = PeriodCursor::new(prices.horizon().ends());
        let mut outdoor = PeriodCursor::new(&problem.outdoor);
        let mut gain = PeriodCursor::new(&problem.gains);
        let mut band = PeriodCursor::new(&bands);
        let store_per_hour = request.store.loss.as_kw_per_k() / capacity;
        let mut remains = (0.0_f64, (1.0, 1.0));
        for pair in cuts.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            let hours = (end - start) as f64 / MICROS_PER_HOUR;
            if remains.0.total_cmp(&hours).is_ne() {
                remains = (hours, decay(store_per_hour, hours));
            }
            let slot = tariff.at(start).filter(|&slot| starts[slot] <= start);
            let price = slot.map_or(0.0, |slot| prices.prices()[slot]);
            let outdoor_celsius = outdoor.at(start).map_or(0.0, |at| problem.outdoor[at].2);
            let gains = gain.at(start).filter(|&at| problem.gains[at].0 <= start);
            let power_max =
                if slot.is_some() { power_max(request, start, end) } else { Power::ZERO };
            let part = HeatSlotPart {
                start,
                end,
                is_priced: slot.is_some(),
                power_max,
                outdoor_celsius,
                gain_kw: gains.map_or(0.0, |at| problem.gains[at].2),
                cop: layout.cop(problem, outdoor_celsius),
                band: joined(&bands, band.at(start), end),
            };
            layout.programme.steps.push(step(&part, request.mode, capacity, remains, price));
            layout.parts.push(part);
        }
        layout
    }

    /// Least times of a unit that is on or off; `None` if it modulates, or without slots.
    pub(crate) fn least_times(&self, request: &HeatRequest) -> Option<LeastTimes> {
        let (on_off, first) = (request.on_off.as_ref()?, self.parts.first()?);
        let ends: Vec<i64> = self.parts.iter().map(|part| part.end).collect();
        let is_usable = self.parts.iter().map(|part| part.power_max > Power::ZERO).collect();
        Some(LeastTimes::new(on_off, first.start, &ends, is_usable))
    }

    /// Coefficient of performance, copied from the slot before if it is as cold.
    fn cop(&self, problem: &HeatProblem, outdoor_celsius: f64) -> f64 {
        let same = |part: &&HeatSlotPart| part.outdoor_celsius.total_cmp(&outdoor_celsius).is_eq();
        let last = self.parts.last().filter(same);
        last.map_or_else(|| problem.cop_at(outdoor_celsius), |part| part.cop)
    }
}

/// Step of the programme for a slot of so many hours, of which the share `(a, φ)` remains.
fn step(
    part: &HeatSlotPart,
    mode: HeatMode,
    capacity: f64,
    (hours, (remains, heat_remains)): (f64, (f64, f64)),
    price: f64,
) -> ThermalStep {
    let signed = sign(mode) * capacity;
    let gained = sign(mode) * heat_remains * hours * part.gain_kw;
    let edges = (signed * part.band.min.as_celsius(), signed * part.band.max.as_celsius());
    ThermalStep {
        decay: remains,
        stored_per_kwh: part.cop * heat_remains,
        power_kwh: part.power_max.over_micros(part.end - part.start).as_kwh(),
        drift_kwh: (1.0 - remains) * signed * part.outdoor_celsius + gained,
        price,
        hours,
        low_kwh: edges.0.min(edges.1),
        high_kwh: edges.0.max(edges.1),
    }
}

/// Position in a list of periods in time order, asked for at rising instants.
struct PeriodCursor<'a, T> {
    periods: &'a [T],
    at: usize,
}

/// Period that ends.
trait Ends {
    fn end(&self) -> i64;
}

impl Ends for i64 {
    fn end(&self) -> i64 {
        *self
    }
}

impl<T> Ends for (i64, i64, T) {
    fn end(&self) -> i64 {
        self.1
    }
}

impl<'a, T: Ends> PeriodCursor<'a, T> {
    fn new(periods: &'a [T]) -> Self {
        Self { periods, at: 0 }
    }

    /// Position of the first period that ends after `start`.
    fn at(&mut self, start: i64) -> Option<usize> {
        while self.periods.get(self.at).is_some_and(|period| period.end() <= start) {
            self.at += 1;
        }
        (self.at < self.periods.len()).then_some(self.at)
    }
}

/// End of the plan in microseconds.
fn end_of(prices: &PriceCurve, problem: &HeatProblem) -> i64 {
    let known = || {
        let end = prices.horizon().ends().last()?;
        Some(*problem.outdoor.last().map_or(end, |(_, known, _)| end.min(known)))
    };
    problem.request().until.map(micros_of).or_else(known).unwrap_or(i64::MIN)
}

/// Bands of `[from, to)` on the wall clock, as steps that follow each other.
///
/// The time is cut at each change of the clocks, so that a set-back in a skipped hour does not
/// happen, and one in a doubled hour happens twice.
fn bands(request: &HeatRequest, from: i64, to: i64) -> Vec<(i64, i64, ComfortBand)> {
    if request.set_backs.is_empty() {
        return vec![(from, to, request.comfort)];
    }
    let mut minutes: Vec<u16> =
        request.set_backs.iter().flat_map(|own| [own.from.minutes(), own.to.minutes()]).collect();
    minutes.sort_unstable();
    minutes.dedup();
    let mut bands: Vec<(i64, i64, ComfortBand)> = Vec::new();
    for piece in stretches(request.time_zone, from, to, &minutes) {
        let minute = (piece.local.hour() * 60 + piece.local.minute()) as u16;
        let band = band_at(request, minute);
        match bands.last_mut() {
            Some(last) if last.2 == band => last.1 = piece.end,
            _ => bands.push((piece.start, piece.end, band)),
        }
    }
    bands
}

/// Band at a minute of the day.
fn band_at(request: &HeatRequest, minute: u16) -> ComfortBand {
    let holds = |from: u16, to: u16| {
        let length = (to + MINUTES_PER_DAY - from) % MINUTES_PER_DAY;
        (minute + MINUTES_PER_DAY - from) % MINUTES_PER_DAY < length
    };
    let own = request.set_backs.iter().find(|own| holds(own.from.minutes(), own.to.minutes()));
    own.map_or(request.comfort, |own| own.band)
}

/// Band at the end of a slot: the tightest of the one in the slot and the one that follows.
fn joined(bands: &[(i64, i64, ComfortBand)], at: Option<usize>, end: i64) -> ComfortBand {
    let index = at.unwrap_or(0);
    let band = bands[index].2;
    let Some(next) = bands.get(index + 1).filter(|next| next.0 == end) else { return band };
    let min = band.min.max(next.2.min);
    ComfortBand { min, max: band.max.min(next.2.max).max(min) }
}

/// Highest power of a slot: the tightest of all limits that cover it. A unit that is on or off does not
/// run below its highest power.
fn power_max(request: &HeatRequest, start: i64, end: i64) -> Power {
    let covers = |limit: &&crate::plan::charge::request::PowerLimit| {
        micros_of(limit.start) <= start && end <= micros_of(limit.end)
    };
    let limits = request.power_limits.iter().filter(covers);
    let most = limits.fold(request.power_max, |most, limit| most.min(limit.power_max));
    if request.on_off.is_some() && most < request.power_max { Power::ZERO } else { most }
}

/// Instants within `[from, to]` at which the data change, both ends included.
fn cuts(
    prices: &PriceCurve,
    problem: &HeatProblem,
    bands: &[(i64, i64, ComfortBand)],
    (from, to): (i64, i64),
) -> Vec<i64> {
    if from >= to {
        return Vec::new();
    }
    let horizon = prices.horizon();
    let steps = problem.outdoor.iter().chain(&problem.gains);
    let mut cuts = Vec::with_capacity(2 * horizon.len() + 16);
    // The start of a period is a cut already, unless a gap lies before it.
    let mut push = |(start, end): (i64, i64)| {
        if cuts.last() != Some(&start) {
            cuts.push(start);
        }
        cuts.push(end);
    };
    push((from, to));
    for (&start, &end) in horizon.starts().iter().zip(horizon.ends()) {
        push((start, end));
    }
    for &(start, end, _) in steps {
        push((start, end));
    }
    for &(start, end, _) in bands {
        push((start, end));
    }
    for limit in &problem.request().power_limits {
        push((micros_of(limit.start), micros_of(limit.end)));
    }
    cuts.retain(|&cut| from <= cut && cut <= to);
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::heat::request::tests::{hour, room};
    use crate::plan::heat::request::{HeatGain, SetBack};
    use crate::prices::curve::tests::curve_of;
    use crate::time::hour_minute::HourMinute;
    use crate::time::instant::instant_at;
    use crate::units::{celsius, kw};
    use chrono::{DateTime, Utc};
    use chrono_tz::Tz;

    fn band(min: f64, max: f64) -> ComfortBand {
        ComfortBand { min: celsius(min), max: celsius(max) }
    }

    fn night(from: &str, to: &str, min: f64, max: f64) -> SetBack {
        let time = |text| HourMinute::parse(text).unwrap();
        SetBack { from: time(from), to: time(to), band: band(min, max) }
    }

    /// Starts of the bands between two instants, with their lowest temperature.
    fn shown(zone: Tz, from: &str, to: &str, set_backs: &[SetBack]) -> Vec<(String, f64)> {
        let mut request = room(4);
        (request.time_zone, request.set_backs) = (zone, set_backs.to_vec());
        let at = |text: &str| micros_of(text.parse::<DateTime<Utc>>().unwrap());
        let start = |micros| instant_at(micros).format("%d %H:%M").to_string();
        let bands = bands(&request, at(from), at(to));
        bands.iter().map(|&(from, _, band)| (start(from), band.min.as_celsius())).collect()
    }

    fn pieces(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
        expected.iter().map(|&(at, min)| (at.to_owned(), min)).collect()
    }

    #[test]
    fn a_set_back_passes_midnight() {
        let night = [night("22:00", "06:00", 16.0, 21.0)];
        let shown = shown(Tz::UTC, "2026-01-05T18:00:00Z", "2026-01-06T18:00:00Z", &night);
        assert_eq!(shown, pieces(&[("05 18:00", 20.0), ("05 22:00", 16.0), ("06 06:00", 20.0)]));
    }

    #[test]
    fn a_skipped_set_back_does_not_happen_and_a_doubled_one_happens_twice() {
        let night = [night("02:00", "03:00", 16.0, 21.0)];
        let zone = chrono_tz::Europe::Berlin;
        let spring = shown(zone, "2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z", &night);
        assert_eq!(spring, pieces(&[("28 23:00", 20.0)]));
        let autumn = shown(zone, "2026-10-24T22:00:00Z", "2026-10-25T04:00:00Z", &night);
        assert_eq!(autumn, pieces(&[("24 22:00", 20.0), ("25 00:00", 16.0), ("25 02:00", 20.0)]));
    }

    #[test]
    fn of_two_set_backs_the_first_holds() {
        let both = [night("22:00", "06:00", 16.0, 21.0), night("20:00", "23:00", 18.0, 21.0)];
        let shown = shown(Tz::UTC, "2026-01-05T18:00:00Z", "2026-01-06T00:00:00Z", &both);
        assert_eq!(shown, pieces(&[("05 18:00", 20.0), ("05 20:00", 18.0), ("05 22:00", 16.0)]));
    }

    #[test]
    fn the_band_at_an_instant_is_the_tightest_around_it() {
        let bands = [(0, 5, band(16.0, 21.0)), (5, 9, band(20.0, 23.0))];
        assert_eq!(joined(&bands, Some(0), 4), band(16.0, 21.0));
        assert_eq!(joined(&bands, Some(0), 5), band(20.0, 21.0));
        let apart = [(0, 5, band(20.0, 23.0)), (5, 9, band(15.0, 18.0))];
        assert_eq!(joined(&apart, Some(0), 5), band(20.0, 20.0));
    }

    #[test]
    fn slots_are_cut_where_anything_changes() {
        let mut request = room(3);
        let gain = HeatGain { start: hour(1), end: hour(2), power: kw(0.4) };
        request.gains.push(gain);
        request.set_backs.push(night("20:30", "06:00", 17.0, 23.0));
        let problem = HeatProblem::new(request).unwrap();
        let layout = HeatLayout::new(&curve_of(120, &[10, 20]), &problem);
        let minutes = |micros: i64| (micros - micros_of(hour(0))) / 60_000_000;
        let shown: Vec<_> = layout
            .parts
            .iter()
            .map(|part| (minutes(part.end), part.gain_kw, part.band.min.as_celsius()))
            .collect();
        assert_eq!(shown, [(60, 0.0, 20.0), (120, 0.4, 20.0), (150, 0.0, 20.0), (180, 0.0, 17.0)]);
    }

    #[test]
    fn without_a_price_no_power_is_used() {
        let problem = HeatProblem::new(room(3)).unwrap();
        let layout = HeatLayout::new(&curve_of(60, &[10]), &problem);
        let most: Vec<f64> = layout.programme.steps.iter().map(|step| step.power_kwh).collect();
        assert_eq!(most, [3.0, 0.0]);
        assert_eq!(
            layout.parts.iter().map(|part| part.is_priced).collect::<Vec<_>>(),
            [true, false]
        );
    }

    proptest! {
        /// In every zone, at any time of the year: bands tile the time, and the wall clock at the
        /// start of each says which band holds.
        #[test]
        fn bands_follow_the_wall_clock(
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
            day in 20_000..22_000_i64,
            from in 0..1440_u16,
            length in 1..1440_u16,
        ) {
            let zone = chrono_tz::TZ_VARIANTS[zone];
            let time = |minute: u16| {
                let minute = minute % 1440;
                HourMinute::parse(&format!("{:02}:{:02}", minute / 60, minute % 60)).unwrap()
            };
            let mut request = room(4);
            request.time_zone = zone;
            let own = band(16.0, 18.0);
            request.set_backs.push(SetBack { from: time(from), to: time(from + length), band: own });
            let start = day * 86_400_000_000;
            let bands = bands(&request, start, start + 3 * 86_400_000_000);
            prop_assert_eq!(bands.first().map(|b| b.0), Some(start));
            for pair in bands.windows(2) {
                prop_assert_eq!(pair[0].1, pair[1].0);
            }
            for &(first, end, band) in &bands {
                for probe in [first, first.midpoint(end), end - 1] {
                    let local = instant_at(probe).with_timezone(&zone).naive_local();
                    let minute = (local.hour() * 60 + local.minute()) as u16;
                    let passed = (minute + 1440 - from) % 1440;
                    prop_assert_eq!(band == own, passed < length, "{} in {}", local, zone);
                }
            }
        }
    }
}

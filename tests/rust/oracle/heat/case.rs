//! A heat problem in plain numbers, and random ones.
use proptest::prelude::*;
use proptest::sample::select;

use crate::case::Slot;
use crate::random::slots;

/// A number in a period of minutes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Period {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) value: f64,
}

/// A band on the clock: minutes of the day from and to, lowest and highest temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Night {
    pub(crate) from: i32,
    pub(crate) to: i32,
    pub(crate) band: (f64, f64),
}

/// Prices, weather and wishes of one room or tank.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) slots: Vec<Slot>,
    pub(crate) now: i32,
    pub(crate) until: i32,
    pub(crate) kwh_per_k: f64,
    pub(crate) kw_per_k: f64,
    pub(crate) cools: bool,
    pub(crate) celsius: f64,
    pub(crate) kw: f64,
    /// Coefficients of performance at -7 and 12 °C outdoors.
    pub(crate) cops: (f64, f64),
    pub(crate) outdoor: Vec<Period>,
    pub(crate) gains: Vec<Period>,
    pub(crate) limits: Vec<Period>,
    pub(crate) band: (f64, f64),
    pub(crate) night: Option<Night>,
    pub(crate) end_value: f64,
}

/// Building: heat capacity, time constant in hours (0 is no loss), and share of the heat that the
/// coldest hour needs which its unit can deliver.
fn building() -> impl Strategy<Value = (f64, f64, f64)> {
    let hours = prop_oneof![1 => Just(0.0), 8 => 2.0..120.0_f64];
    (select(vec![0.1, 0.3, 2.0, 5.0, 12.0]), hours, select(vec![0.0, 0.8, 1.1, 1.5, 3.0, 3.0]))
}

fn periods(lowest: f64, highest: f64, most: usize) -> impl Strategy<Value = Vec<(i32, i32, f64)>> {
    prop::collection::vec((0..1000_i32, 10..400_i32, lowest..highest), 0..most)
}

/// Any heat problem with at most so many slots.
pub(crate) fn cases(slots_max: usize) -> BoxedStrategy<Case> {
    let weather = (prop::collection::vec(-6.0..6.0_f64, 12), -8.0..16.0_f64, 20..200_i32);
    let band = (18.0..22.0_f64, prop_oneof![1 => Just(0.0), 6 => 0.2..4.0_f64], -2.0..2.0_f64);
    let night = prop::option::of((0..1440_i32, 30..900_i32, -4.0..3.0_f64, 0.0..4.0_f64));
    let value = prop_oneof![2 => Just(0.0), 1 => -0.02..0.2_f64];
    let cops = (1.0..3.0_f64, 3.0..5.0_f64);
    (
        (slots(), building(), weather, band, night),
        (periods(-1.0, 2.0, 4), periods(0.0, 1.0, 3), value, cops, any::<bool>(), -50..200_i32),
    )
        .prop_map(move |((mut slots, building, weather, band, night), rest)| {
            slots.truncate(slots_max);
            assemble(slots, building, &weather, band, night, rest)
        })
        .boxed()
}

type Rest = (Vec<(i32, i32, f64)>, Vec<(i32, i32, f64)>, f64, (f64, f64), bool, i32);

fn assemble(
    slots: Vec<Slot>,
    (kwh_per_k, hours, strength): (f64, f64, f64),
    (swings, mean, length): &(Vec<f64>, f64, i32),
    (low, width, start): (f64, f64, f64),
    night: Option<(i32, i32, f64, f64)>,
    (gains, limits, end_value, cops, cools, now): Rest,
) -> Case {
    let span = slots.last().map_or(60, |slot| slot.end);
    let minute = |thousandths: i32| span * thousandths / 1000;
    let now = minute(now);
    let loss = if hours > 0.0 { kwh_per_k / hours } else { 0.0 };
    let mean = if cools { low + width + mean } else { *mean };
    let needed = loss * (low - mean).abs() + 0.1 * kwh_per_k;
    let kw = needed * strength / cops.0;
    let place = |list: &[(i32, i32, f64)], scale: f64| {
        let period = |&(at, length, value): &(i32, i32, f64)| {
            let start = minute(at);
            Period { start, end: start + length, value: value * scale }
        };
        list.iter().map(period).collect::<Vec<_>>()
    };
    let first = now.min(0);
    let pieces = (span - first) / length + 1;
    let outdoor = (0..pieces).map(|index| Period {
        start: first + index * length,
        end: first + (index + 1) * length,
        value: mean + swings[index as usize % swings.len()],
    });
    let night = night.map(|(from, length, drop, width)| Night {
        from,
        to: (from + length) % 1440,
        band: (low + drop, low + drop + width),
    });
    Case {
        now,
        until: span,
        kwh_per_k,
        kw_per_k: loss,
        cools,
        celsius: low + start + if cools { width } else { 0.0 },
        kw,
        cops,
        outdoor: outdoor.collect(),
        gains: place(&gains, needed),
        limits: place(&limits, kw),
        band: (low, low + width),
        night,
        end_value,
        slots,
    }
}

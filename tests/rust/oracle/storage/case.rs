//! A storage problem in plain numbers, and random ones.
use proptest::prelude::*;
use proptest::sample::select;

use crate::case::Slot;
use crate::random::slots;

/// A period with limits of its own; what is `None` is as elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) charge_kw: Option<f64>,
    pub(crate) discharge_kw: Option<f64>,
    pub(crate) least_percent: Option<f64>,
    pub(crate) most_percent: Option<f64>,
}

/// A period in which stored energy is used up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drive {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) kwh: f64,
    pub(crate) plugged: bool,
}

/// A state of charge wanted by a minute, or by the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wish {
    pub(crate) by: Option<i32>,
    pub(crate) percent: f64,
}

/// Prices and wishes of one battery.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) import: Vec<Slot>,
    /// Slots in which something may be sold.
    pub(crate) export: Option<Vec<Slot>>,
    pub(crate) now: i32,
    pub(crate) until: Option<i32>,
    pub(crate) capacity: f64,
    pub(crate) percent: f64,
    pub(crate) limit_percent: f64,
    pub(crate) efficiency: f64,
    pub(crate) efficiency_out: f64,
    pub(crate) charge_kw: f64,
    pub(crate) discharge_kw: f64,
    pub(crate) limits: Vec<Limit>,
    pub(crate) targets: Vec<Wish>,
    pub(crate) reserve_percent: f64,
    pub(crate) drives: Vec<Drive>,
    pub(crate) end_value: f64,
    pub(crate) wear: f64,
    pub(crate) stops: bool,
}

impl Case {
    /// A battery without losses on these prices, to buy and to sell at.
    pub(crate) fn simple(slots: Vec<Slot>, capacity: f64, percent: f64, kw: f64) -> Self {
        Self {
            now: slots.first().map_or(0, |slot| slot.start),
            export: Some(slots.clone()),
            import: slots,
            until: None,
            capacity,
            percent,
            limit_percent: 100.0,
            efficiency: 1.0,
            efficiency_out: 1.0,
            charge_kw: kw,
            discharge_kw: kw,
            limits: Vec::new(),
            targets: Vec::new(),
            reserve_percent: 0.0,
            drives: Vec::new(),
            end_value: 0.0,
            wear: 0.0,
            stops: false,
        }
    }
}

/// How a sold kWh is paid.
#[derive(Debug, Clone, Copy)]
enum Selling {
    Nothing,
    /// As a bought one.
    Same,
    /// A share of the price less a fee.
    Share(f64, f64),
    /// As a bought one, but only in so many of the slots.
    Some(usize),
}

#[derive(Debug, Clone)]
struct Raw {
    selling: Selling,
    now: i32,
    until: Option<i32>,
    capacity: f64,
    percent: f64,
    limit: f64,
    efficiencies: (f64, f64),
    powers: (f64, f64),
    money: (f64, f64),
    stops: bool,
}

#[derive(Debug, Clone)]
struct RawWishes {
    targets: Vec<(Option<i32>, f64)>,
    reserve: f64,
    drives: Vec<(i32, i32, f64, bool)>,
    limits: Vec<(i32, i32, u32, f64)>,
}

fn raw() -> impl Strategy<Value = Raw> {
    let selling = prop_oneof![
        1 => Just(Selling::Nothing),
        4 => Just(Selling::Same),
        3 => (0.5..1.0_f64, 0.0..0.1_f64).prop_map(|(share, fee)| Selling::Share(share, fee)),
        1 => (1..6_usize).prop_map(Selling::Some),
    ];
    let until = prop::option::weighted(0.2, 400..1100_i32);
    let efficiency = prop_oneof![1 => Just(1.0), 3 => 0.8..1.0_f64];
    let limit = prop_oneof![3 => Just(100.0), 2 => 50.0..95.0_f64];
    let power = || select(vec![0.0, 2.3, 3.7, 7.4, 11.0, 11.0, 22.0]);
    let value = prop_oneof![2 => Just(0.0), 3 => -0.05..0.5_f64];
    let wear = prop_oneof![3 => Just(0.0), 2 => 0.0..0.1_f64];
    (
        (selling, -100..400_i32, until, 5.0..90.0_f64, 0.0..100.0_f64, limit),
        ((efficiency.clone(), efficiency), (power(), power()), (value, wear), any::<bool>()),
    )
        .prop_map(|((selling, now, until, capacity, percent, limit), rest)| {
            let (efficiencies, powers, money, stops) = rest;
            Raw {
                selling,
                now,
                until,
                capacity,
                percent,
                limit,
                efficiencies,
                powers,
                money,
                stops,
            }
        })
}

fn wishes() -> impl Strategy<Value = RawWishes> {
    let by = prop_oneof![1 => Just(None), 8 => (-30..1150_i32).prop_map(Some)];
    let targets = prop::collection::vec((by, 0.0..100.0_f64), 0..4);
    let reserve = prop_oneof![2 => Just(0.0), 1 => 0.0..60.0_f64];
    let drive = (0..500_i32, 5..200_i32, 0.0..30.0_f64, prop::bool::weighted(0.2));
    let drives = prop_oneof![2 => Just(Vec::new()), 2 => prop::collection::vec(drive, 1..3)];
    let limit = (0..1000_i32, 5..400_i32, 0..16_u32, 0.0..100.0_f64);
    let limits = prop_oneof![2 => Just(Vec::new()), 2 => prop::collection::vec(limit, 1..4)];
    (targets, reserve, drives, limits).prop_map(|(targets, reserve, drives, limits)| RawWishes {
        targets,
        reserve,
        drives,
        limits,
    })
}

/// Any storage problem with at most so many slots.
pub(crate) fn cases(slots_max: usize) -> BoxedStrategy<Case> {
    (slots(), raw(), wishes())
        .prop_map(move |(mut slots, raw, wishes)| {
            slots.truncate(slots_max);
            assemble(slots, &raw, &wishes)
        })
        .boxed()
}

fn sold(slots: &[Slot], selling: Selling) -> Option<Vec<Slot>> {
    let priced = |share: f64, fee: f64| {
        slots.iter().map(|slot| Slot { price: slot.price * share - fee, ..*slot }).collect()
    };
    match selling {
        Selling::Nothing => None,
        Selling::Same => Some(slots.to_vec()),
        Selling::Share(share, fee) => Some(priced(share, fee)),
        Selling::Some(step) => Some(
            // Shifted, so that they start and end inside the slots to buy in.
            slots
                .iter()
                .step_by(step)
                .map(|slot| Slot { start: slot.start + 5, ..*slot })
                .collect(),
        ),
    }
}

fn assemble(slots: Vec<Slot>, raw: &Raw, wishes: &RawWishes) -> Case {
    let span = slots.last().map_or(60, |slot| slot.end);
    let minute = |thousandths: i32| span * thousandths / 1000;
    let mut end = minute(raw.now) - 20;
    let drive = |&(gap, length, kwh, plugged): &(i32, i32, f64, bool)| {
        let start = end + gap;
        end = start + length;
        Drive { start, end, kwh, plugged }
    };
    let limit = |&(at, length, kind, value): &(i32, i32, u32, f64)| {
        let start = minute(at);
        let of = |bit: u32, value: f64| (kind & bit != 0).then_some(value);
        Limit {
            start,
            end: start + length,
            charge_kw: of(1, raw.powers.0 * value / 80.0),
            discharge_kw: of(2, raw.powers.1 * value / 80.0),
            least_percent: of(4, value / 2.0),
            most_percent: of(8, value),
        }
    };
    Case {
        export: sold(&slots, raw.selling),
        now: minute(raw.now),
        until: raw.until.map(minute),
        capacity: raw.capacity,
        percent: raw.percent,
        limit_percent: raw.limit,
        efficiency: raw.efficiencies.0,
        efficiency_out: raw.efficiencies.1,
        charge_kw: raw.powers.0,
        discharge_kw: raw.powers.1,
        limits: wishes.limits.iter().map(limit).collect(),
        targets: wishes
            .targets
            .iter()
            .map(|&(by, percent)| Wish { by: by.map(minute), percent })
            .collect(),
        reserve_percent: wishes.reserve,
        drives: wishes.drives.iter().map(drive).collect(),
        end_value: raw.money.0,
        wear: raw.money.1,
        stops: raw.stops,
        import: slots,
    }
}

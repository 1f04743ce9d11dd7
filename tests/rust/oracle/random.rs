//! Random problems with every feature that a request has.
//!
//! Wishes are drawn as shares of what is possible, because absolute numbers
//! would mostly give needs that are trivial or hopeless.
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::case::{Case, Limit, Slot, Target};
use crate::cut::{pieces, possible_by};

/// Share of the cases in which some target is raised above what is possible.
const MISSING_SHARE: f64 = 0.36;

/// How lengths and gaps of the slots are drawn.
#[derive(Debug, Clone, Copy)]
enum Grid {
    /// Seamless slots of one length.
    Even(i32),
    /// Hours, half and quarter hours in any order, with gaps.
    Mixed,
}

/// How prices are drawn from numbers below 10,000.
#[derive(Debug, Clone, Copy)]
enum Prices {
    Flat,
    /// Four different prices: ties everywhere.
    Few,
    /// Whole cents: some ties, some zeros.
    Cents,
    /// Hundredths of a cent: hardly a tie.
    Fine,
}

/// A slot in draft: length, gap ahead of it, price.
type RawSlot = (i32, i32, i32);

pub(crate) fn slots() -> impl Strategy<Value = Vec<Slot>> {
    let raw = || {
        let gap = prop_oneof![9 => Just(0), 1 => select(vec![7, 15, 60, 300])];
        (select(vec![15, 30, 60]), gap, 0..10_000_i32)
    };
    let raws = prop_oneof![
        1 => prop::collection::vec(raw(), 0..=1),
        60 => prop::collection::vec(raw(), 2..=40),
        3 => prop::collection::vec(raw(), 92..=100),
        1 => prop::collection::vec(raw(), 257..=300),
    ];
    let grid = prop_oneof![
        5 => Just(Grid::Mixed), 3 => Just(Grid::Even(15)), 1 => Just(Grid::Even(30)), 2 => Just(Grid::Even(60))
    ];
    let style = prop_oneof![
        1 => Just(Prices::Flat), 3 => Just(Prices::Few), 3 => Just(Prices::Cents), 4 => Just(Prices::Fine)
    ];
    let lowest = prop_oneof![Just(5), Just(-10), Just(-30), Just(-90)];
    (raws, grid, style, lowest)
        .prop_map(|(raws, grid, style, lowest)| lay_out(&raws, grid, style, lowest))
}

fn lay_out(raws: &[RawSlot], grid: Grid, style: Prices, lowest: i32) -> Vec<Slot> {
    let mut end = 0;
    let lay = |&(length, gap, raw): &RawSlot| {
        let (length, gap) = match grid {
            Grid::Even(length) => (length, 0),
            Grid::Mixed => (length, gap),
        };
        let hundredths = match style {
            Prices::Flat => 700,
            Prices::Few => raw % 4 * 1000,
            Prices::Cents => raw % 80 * 100,
            Prices::Fine => raw,
        };
        let start = end + gap;
        end = start + length;
        Slot { start, end, price: f64::from(hundredths + lowest * 100) / 10_000.0 }
    };
    raws.iter().map(lay).collect()
}

/// A place in the horizon: thousandths of its length, and whether to move it
/// to a whole quarter hour.
type RawPlace = (i32, bool);

fn place(thousandths: std::ops::Range<i32>) -> impl Strategy<Value = RawPlace> {
    (thousandths, any::<bool>())
}

fn minute_of(slots: &[Slot], (thousandths, aligned): RawPlace) -> i32 {
    let span = slots.last().map_or(60, |slot| slot.end);
    let minute = span * thousandths / 1000;
    if aligned { minute.div_euclid(15) * 15 } else { minute }
}

/// How much is wanted of what is possible.
#[derive(Debug, Clone, Copy)]
enum Wish {
    Share(f64),
    /// Rounded down to whole quarter hours at full power, so that slots fill exactly.
    Quarters(f64),
    /// All that is possible, to the last watt.
    All,
}

fn wish(most: f64) -> impl Strategy<Value = Wish> {
    prop_oneof![
        6 => (0.0..most).prop_map(Wish::Share),
        3 => (0.0..most).prop_map(Wish::Quarters),
        1 => Just(Wish::All),
    ]
}

fn kwh_of(wish: Wish, possible: f64, kw: f64) -> f64 {
    let quarter = kw / 4.0;
    match wish {
        Wish::Share(share) => share * possible,
        Wish::Quarters(share) if quarter > 0.0 => (share * possible / quarter).floor() * quarter,
        Wish::Quarters(_) => 0.0,
        Wish::All => possible,
    }
}

/// Who plugs in when, and at what power.
#[derive(Debug, Clone)]
struct RawStay {
    now: RawPlace,
    until: Option<RawPlace>,
    kw: f64,
    /// Gap ahead of the limit and its length in minutes, and its power as a share.
    limits: Vec<(i32, i32, f64)>,
    stops: bool,
}

/// What is wanted.
#[derive(Debug, Clone)]
struct RawWishes {
    targets: Vec<(Option<RawPlace>, Wish)>,
    /// Which targets go beyond what is possible, and by how many kWh.
    missed: Vec<(Index, f64)>,
    /// What is wanted at once, and a factor on it.
    reserve: Option<(Wish, f64)>,
    /// Room above what is wanted, as a share of what is possible.
    room: Option<f64>,
}

fn stay() -> impl Strategy<Value = RawStay> {
    let now = prop_oneof![3 => place(-100..300), 1 => place(0..1), 1 => place(300..900)];
    let until = prop::option::weighted(0.25, place(300..1100));
    let kw = prop_oneof![
        40 => select(vec![1.4, 3.7, 7.4, 10.0, 11.0, 22.0, 10.0 / 3.0]), 1 => Just(0.0)
    ];
    let share = prop_oneof![1 => Just(0.0), 4 => 0.1..1.3_f64];
    let limit = (0..120_i32, 10..200_i32, share);
    let limits = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(limit, 1..5)];
    (now, until, kw, limits, any::<bool>()).prop_map(|(now, until, kw, limits, stops)| RawStay {
        now,
        until,
        kw,
        limits,
        stops,
    })
}

fn wishes() -> impl Strategy<Value = RawWishes> {
    let by = prop_oneof![1 => Just(None), 9 => place(-30..1150).prop_map(Some)];
    let targets = prop_oneof![
        6 => prop::collection::vec((by.clone(), wish(1.0)), 1..2),
        10 => prop::collection::vec((by, wish(1.0)), 2..6),
        1 => Just(Vec::new()),
    ];
    let beyond = prop_oneof![6 => 0.3..40.0_f64, 1 => 0.001..0.1_f64];
    let missed = prop::collection::vec((any::<Index>(), beyond), 1..4);
    let missed = prop::option::weighted(MISSING_SHARE, missed).prop_map(Option::unwrap_or_default);
    let factor = prop_oneof![8 => Just(1.0), 1 => Just(1.7)];
    let reserve = prop::option::weighted(0.35, (wish(0.6), factor));
    let room = prop::option::weighted(0.35, prop_oneof![1 => Just(0.0), 4 => 0.0..1.1_f64]);
    (targets, missed, reserve, room).prop_map(|(targets, missed, reserve, room)| RawWishes {
        targets,
        missed,
        reserve,
        room,
    })
}

/// Any problem at all.
pub(crate) fn cases() -> BoxedStrategy<Case> {
    (slots(), stay(), wishes())
        .prop_map(|(slots, stay, wishes)| assemble(slots, &stay, &wishes))
        .boxed()
}

/// Problems in which every deadline can be met.
pub(crate) fn cases_in_time() -> BoxedStrategy<Case> {
    (slots(), stay(), wishes())
        .prop_map(|(slots, stay, wishes)| {
            assemble(slots, &stay, &RawWishes { missed: Vec::new(), ..wishes })
        })
        .boxed()
}

fn assemble(slots: Vec<Slot>, stay: &RawStay, wishes: &RawWishes) -> Case {
    let place = |raw: RawPlace| minute_of(&slots, raw);
    let now = place(stay.now);
    let until = stay.until.map(place);
    let deadlines: Vec<Option<i32>> = wishes.targets.iter().map(|(by, _)| by.map(place)).collect();
    let mut end = now - 30;
    let limit = |&(gap, length, share): &(i32, i32, f64)| {
        let start = end + gap;
        end = start + length;
        Limit { start, end, kw: share * stay.kw }
    };
    let mut case = Case {
        now,
        until,
        kw: stay.kw,
        limits: stay.limits.iter().map(limit).collect(),
        targets: deadlines.into_iter().map(|by| Target { by, kwh: 0.0 }).collect(),
        reserve_kwh: 0.0,
        energy_max_kwh: None,
        stops: stay.stops,
        slots,
    };
    let pieces = pieces(&case);
    let all = possible_by(&pieces, None);
    for (target, &(_, wish)) in case.targets.iter_mut().zip(&wishes.targets) {
        target.kwh = kwh_of(wish, possible_by(&pieces, target.by), case.kw);
    }
    for (index, beyond) in wishes.missed.iter().filter(|_| !wishes.targets.is_empty()) {
        let target = &mut case.targets[index.index(wishes.targets.len())];
        target.kwh = possible_by(&pieces, target.by) + beyond;
    }
    case.reserve_kwh =
        wishes.reserve.map_or(0.0, |(wish, factor)| factor * kwh_of(wish, all, case.kw));
    case.energy_max_kwh = wishes.room.map(|room| case.wanted() + room * all);
    case
}

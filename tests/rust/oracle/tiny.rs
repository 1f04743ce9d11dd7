//! Plans, and linear programmes as well, against all plans there are.
use std::cell::RefCell;

use proptest::prelude::*;
use proptest::sample::select;

use crate::agreement::agrees;
use crate::brute::{best, unit_kwh};
use crate::case::{Case, Limit, Slot, Target};
use crate::census::Census;
use crate::lp::Model;
use crate::planner;
use crate::runner::{for_all, near};

/// Full power; half of a quarter hour then is a whole kWh.
const KW: f64 = 8.0;

fn quarters(range: std::ops::Range<i32>) -> impl Strategy<Value = i32> {
    range.prop_map(|quarter| quarter * 15)
}

fn slots() -> impl Strategy<Value = Vec<Slot>> {
    let raw = (select(vec![15, 15, 30]), select(vec![0, 0, 0, 15]), -6..10_i32);
    prop::collection::vec(raw, 1..=5).prop_map(|raws| {
        let mut end = 0;
        let lay = |(length, gap, cents)| {
            let start = end + gap;
            end = start + length;
            Slot { start, end, price: f64::from(cents) / 100.0 }
        };
        raws.into_iter().map(lay).collect()
    })
}

/// Problems of at most ten quarter hours, everything in whole quarters and kWh.
fn tiny_cases() -> BoxedStrategy<Case> {
    let target = (prop::option::weighted(0.85, quarters(-1..13)), 0..9_i32);
    let limit = (quarters(0..3), quarters(1..4), select(vec![0.0, KW / 2.0, KW]));
    let stay = (quarters(-1..4), prop::option::weighted(0.2, quarters(3..12)), any::<bool>());
    let wishes =
        (prop::collection::vec(target, 1..4), 0..9_i32, prop::option::weighted(0.4, 0..9_i32));
    let limits = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(limit, 1..3)];
    (slots(), stay, wishes, limits)
        .prop_map(|(slots, (now, until, stops), (targets, reserve, room), limits)| {
            let mut end = 0;
            let limit = |(gap, length, kw)| {
                let start = end + gap;
                end = start + length;
                Limit { start, end, kw }
            };
            let target = |(by, kwh)| Target { by, kwh: f64::from(kwh) };
            let mut case = Case {
                slots,
                now,
                until,
                kw: KW,
                limits: limits.into_iter().map(limit).collect(),
                targets: targets.into_iter().map(target).collect(),
                reserve_kwh: f64::from((reserve - 4).max(0)),
                energy_max_kwh: None,
                stops,
            };
            case.energy_max_kwh = room.map(|room| case.wanted() + f64::from(room));
            case
        })
        .boxed()
}

#[test]
fn no_plan_on_a_grid_is_better() {
    let census = RefCell::new(Census::default());
    for_all(600, &tiny_cases(), |case| {
        prop_assert!(near(unit_kwh(&case), 1.0, 0.0));
        let best = best(&case);
        let model = Model::new(&case);
        let optimum = model.solve();
        for (least, found) in model.shortfalls.iter().zip(&best.shortfalls) {
            prop_assert!(
                near(*least, *found, 1e-9),
                "linear programme misses {least}, not {found}"
            );
        }
        prop_assert!(near(optimum.cost, best.cost, 1e-9), "linear programme {optimum:?}, {best:?}");
        prop_assert!(
            near(optimum.energy, best.energy, 1e-6),
            "linear programme {optimum:?}, {best:?}"
        );

        let answer = planner::plan(&case);
        for (planned, found) in answer.outcomes.iter().zip(&best.shortfalls) {
            prop_assert!(near(planned.shortfall, *found, 1e-9), "{planned:?} misses {found}");
        }
        prop_assert!(near(answer.cost, best.cost, 1e-9), "plan costs {}, {best:?}", answer.cost);
        prop_assert!(
            near(answer.energy, best.energy, 1e-9),
            "plan buys {}, {best:?}",
            answer.energy
        );
        census.borrow_mut().count(&[
            ("a deadline missed", best.shortfalls.iter().any(|&shortfall| shortfall > 0.0)),
            ("met", best.shortfalls.iter().all(|&shortfall| shortfall <= 0.0)),
            ("paid for charging", best.cost < 0.0),
            ("nothing bought", best.energy <= 0.0),
        ]);
        agrees(&case, &model, &optimum, &answer)
    });
    census.into_inner().assert_each(0.05);
}

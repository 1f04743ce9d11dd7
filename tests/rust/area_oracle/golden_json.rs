//! Golden JSON of areas: what is stored, and the messages between machines that plan one area.
//!
//! Lines are as in `tests/rust/json`. Questions, and what a part is told of its own, are those
//! of a real plan.
use expect_test::expect_file;
use slackwater_engine::area::distributed::{Overrides, Partition, PricingRequest, SessionUpdate};
use slackwater_engine::area::{
    AreaOptions, BlockLoad, Limit, LoadAndCost, Node, NodeOutcome, PriceBlock, Profile,
    SavedColumn, SavedRound, ShadowPrice, Status, Unmet, WarmStart,
};
use slackwater_engine::units::{kw, per_kwh};

use crate::area::Area;
use crate::examples::Examples;
use crate::workers::{Cluster, plan_by};

fn limits(examples: &mut Examples) {
    let per_slot = || Profile::PerSlot(vec![Some(kw(40.5)), None]);
    let price = Some(per_kwh(0.31));
    let limits = vec![
        Limit::Import { power_max: Profile::Constant(kw(100.0)), price: None },
        Limit::Export { power_max: per_slot(), price },
        Limit::Peak { price_per_kw: 0.25, incurred: kw(30.0) },
        Limit::Blocks(vec![
            PriceBlock { above: kw(10.0), price: per_kwh(0.02) },
            PriceBlock { above: kw(20.0), price: per_kwh(0.1) },
        ]),
        Limit::Follow { power: per_slot(), price: per_kwh(0.2) },
        Limit::FollowSquares { power: Profile::Constant(kw(-5.0)), weight: 0.001 },
    ];
    let (name, parent, base) = ("feeder".to_owned(), Some(3), Some(per_slot()));
    examples.add("Node", &Node { name, parent, base, limits });
}

fn outcomes(examples: &mut Examples) {
    let all = [Status::Gap, Status::Rounds, Status::Stopped, Status::Stalled, Status::Failed];
    examples.add("Status", &all);
    examples.add("LoadAndCost", &LoadAndCost { load_kw: vec![1.25, -0.5], cost: 3.75 });
    let outcome = NodeOutcome {
        name: "feeder".into(),
        load_kw: vec![1.25, -0.5],
        base_kw: vec![0.25, 0.125],
        breach_kw: 0.01,
        added_per_kwh: vec![0.0, 0.07],
    };
    examples.add("NodeOutcome", &outcome);
    examples.add("ShadowPrice", &ShadowPrice { node: 2, per_kwh: vec![0.0, 0.07] });
    examples.add("Unmet", &Unmet { row: 17, energy_kwh: 2.5, node: Some(2), is_unpriced: false });
    let state = WarmStart {
        duals_per_kwh: vec![0.1, 1.0 / 3.0],
        rounds_per_kwh: vec![vec![0.0, 0.3], vec![0.1, 0.2]],
    };
    examples.add("AreaState", &state);
    examples.add("AreaOptions", &AreaOptions { gap: 5e-4, max_rounds: 40, start: Some(state) });
}

fn rounds(examples: &mut Examples) {
    let group = SavedColumn {
        cost: 12.5,
        optimality_slack: 1e-9,
        shortfall: 1_500_000_000,
        loads: vec![-7, 2_000_000],
    };
    examples.add("GroupAnswer", &group);
    let prices_per_kwh = vec![0.0, 0.1 + 0.2];
    examples.add("Answered", &SavedRound { prices_per_kwh, groups: vec![group] });
    let place = Partition {
        first: 5,
        blocks: vec![(2, 0, 0), (4_096, 1, 3)],
        groups: 2,
        by_curve: true,
        priority_max: 2.5,
    };
    examples.add("Place", &place);
    let change = SessionUpdate {
        needs: Some(vec![1_000_000_000, 0]),
        reserves: vec![(1, 7)],
        deadlines: vec![(0, vec![500_000_000, 250_000_000])],
    };
    examples.add("Change", &change);
    examples.add("Change", &SessionUpdate::default());
    let sum = BlockLoad {
        group: 1,
        node: 3,
        cost: vec![1.5, -0.25],
        shortfall_penalty: vec![0.0, 10.0],
        optimality_slack: vec![0.0, 1e-12],
        load: vec![3_000_000_000, -4],
        shortfall: 5,
        discharged: 6,
        with_shortfall: vec![0, 9],
    };
    examples.add("Sum", &sum);
}

/// The first question of each kind, and what parts are told of their own.
fn messages(examples: &mut Examples) {
    let area = Area::two_alike([2.0, 1.0]);
    let mut workers = Cluster::new(&area, 1);
    let plan = plan_by(&area.problem(), &mut workers);
    for kind in ["at_once", "answer", "plans"] {
        let is_kind = |text: &&String| text.starts_with("{\"worth\"") && text.contains(kind);
        let found = workers.said.iter().find(is_kind).expect("every kind is asked");
        let question: PricingRequest = serde_json::from_str(found).expect("a question can be read");
        examples.add("Question", &question);
    }
    let (question, told) = plan.instructions(&workers.places());
    examples.add("Question", &question);
    for (own, change) in &told {
        assert!(*own != Overrides::default(), "the part is told something");
        examples.add("Own", own);
        examples.add("Change", change);
    }
}

#[test]
fn areas_are_written_as_they_were() {
    let mut examples = Examples::default();
    limits(&mut examples);
    outcomes(&mut examples);
    rounds(&mut examples);
    messages(&mut examples);
    expect_file!["../../golden/json/area.txt"].assert_eq(&examples.0);
}

//! Golden JSON of areas: what is stored, and the messages between machines that plan one area.
//!
//! Lines are as in `tests/rust/json`. Questions, and what a part is told of its own, are those
//! of a real plan.
use expect_test::expect_file;
use slackwater_engine::area::distributed::{Change, Own, Place, Question};
use slackwater_engine::area::{
    Answered, AreaOptions, AreaState, Block, GroupAnswer, Limit, LoadAndCost, Node, NodeOutcome,
    Profile, ShadowPrice, Status, Sum, Unmet, plan_area_watched,
};
use slackwater_engine::units::{kw, per_kwh};

use crate::area::Area;
use crate::examples::Examples;
use crate::workers::Workers;

fn limits(examples: &mut Examples) {
    let per_slot = || Profile::PerSlot(vec![Some(kw(40.5)), None]);
    let price = Some(per_kwh(0.31));
    let limits = vec![
        Limit::Import { power_max: Profile::Constant(kw(100.0)), price: None },
        Limit::Export { power_max: per_slot(), price },
        Limit::Peak { price_per_kw: 0.25, incurred: kw(30.0) },
        Limit::Blocks(vec![
            Block { above: kw(10.0), price: per_kwh(0.02) },
            Block { above: kw(20.0), price: per_kwh(0.1) },
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
    examples.add("Unmet", &Unmet { row: 17, energy_kwh: 2.5, node: Some(2) });
    let state = AreaState {
        duals_per_kwh: vec![0.1, 1.0 / 3.0],
        rounds_per_kwh: vec![vec![0.0, 0.3], vec![0.1, 0.2]],
    };
    examples.add("AreaState", &state);
    examples.add("AreaOptions", &AreaOptions { gap: 5e-4, max_rounds: 40, start: Some(state) });
}

fn rounds(examples: &mut Examples) {
    let group =
        GroupAnswer { value: 12.5, slack: 1e-9, shed: 1_500_000_000, loads: vec![-7, 2_000_000] };
    examples.add("GroupAnswer", &group);
    let prices_per_kwh = vec![0.0, 0.1 + 0.2];
    examples.add("Answered", &Answered { prices_per_kwh, groups: vec![group] });
    let place = Place {
        first: 5,
        blocks: vec![(2, 0, 0), (4_096, 1, 3)],
        groups: 2,
        by_curve: true,
        priority_max: 2.5,
    };
    examples.add("Place", &place);
    let change = Change {
        needs: Some(vec![1_000_000_000, 0]),
        reserves: vec![(1, 7)],
        wishes: vec![(0, vec![500_000_000, 250_000_000])],
    };
    examples.add("Change", &change);
    examples.add("Change", &Change::default());
    let sum = Sum {
        group: 1,
        node: 3,
        cost: vec![1.5, -0.25],
        shed_worth: vec![0.0, 10.0],
        slack: vec![0.0, 1e-12],
        load: vec![3_000_000_000, -4],
        shed: 5,
        sold: 6,
        short: vec![0, 9],
    };
    examples.add("Sum", &sum);
}

/// The first question of each kind, and what parts are told of their own.
fn messages(examples: &mut Examples) {
    let area = Area::two_alike([2.0, 1.0]);
    let mut workers = Workers::new(&area, 1);
    let plan = plan_area_watched(&area.problem(), &AreaOptions::default(), &mut workers);
    for kind in ["at_once", "answer", "plans"] {
        let is_kind = |text: &&String| text.starts_with("{\"worth\"") && text.contains(kind);
        let found = workers.said.iter().find(is_kind).expect("every kind is asked");
        let question: Question = serde_json::from_str(found).expect("a question can be read");
        examples.add("Question", &question);
    }
    let (question, told) = plan.told(&workers.places());
    examples.add("Question", &question);
    for (own, change) in &told {
        assert!(*own != Own::default(), "the part is told something");
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

//! Parts against the whole, and what a part refuses.
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::area::distributed::executor::partition;
use crate::area::distributed::protocol::Assigned;
use crate::area::{AreaOptions, AreaPlan, Hooks, Progress, Workers, plan_area, plan_area_with};
use crate::columns::plan_table::PlanTable;

pub(in crate::area) mod town;
use town::{Car, Columns, SLOTS, Town, car};

/// Copy of data after serialisation and deserialisation.
fn sent<T: Serialize + DeserializeOwned>(data: &T) -> T {
    serde_json::from_str(&serde_json::to_string(data).unwrap()).unwrap()
}

/// A part as it is kept elsewhere.
struct Kept {
    place: Partition,
    rows: Vec<u32>,
    columns: Columns,
    part: Worker,
    changed: Worker,
}

/// Somebody who keeps all parts.
struct Keepers<'a> {
    columns: &'a Columns,
    town: &'a Town,
    parts: usize,
    kept: Vec<Kept>,
    changes: usize,
    questions: usize,
}

impl<'a> Keepers<'a> {
    fn new(columns: &'a Columns, town: &'a Town, parts: usize) -> Self {
        Self { columns, town, parts, kept: Vec::new(), changes: 0, questions: 0 }
    }

    fn places(&self) -> Vec<Partition> {
        self.kept.iter().map(|kept| kept.place.clone()).collect()
    }
}

impl Workers for Keepers<'_> {
    fn parts(&self) -> usize {
        self.parts
    }

    fn assign(&mut self, shares: Vec<Assigned>) {
        for Assigned { partition: place, rows } in shares {
            let (place, columns) = (sent(&place), self.columns.taken(&rows));
            let part = Worker::new(&columns.problem(self.town), &place).unwrap();
            self.kept.push(Kept { changed: part.clone(), place, rows, columns, part });
        }
    }

    fn update(&mut self, changes: &[SessionUpdate]) {
        self.changes += 1;
        for (kept, change) in self.kept.iter_mut().zip(changes) {
            kept.changed = kept.part.updated(&sent(change)).unwrap();
        }
    }

    fn price(
        &mut self,
        question: &PricingRequest,
        own: &[Overrides],
    ) -> Option<Vec<Vec<BlockLoad>>> {
        self.questions += 1;
        let answer = |(kept, own): (&Kept, &Overrides)| {
            let sums =
                kept.changed.answer(self.town.curves(), &sent(question), &sent(own)).unwrap();
            assert!(kept.place.fits(&sums, SLOTS));
            sums
        };
        Some(self.kept.iter().zip(own).map(answer).collect())
    }
}

/// Rounds enough for a plan; the gap decides little here.
fn options() -> AreaOptions {
    AreaOptions { max_rounds: 25, ..AreaOptions::default() }
}

/// Each row of a run, every number to its last bit.
fn written(made: &PlanTable<AreaNumbers>) -> Vec<String> {
    let row = |row: usize| {
        let (at, intervals) = (made.intervals.range(row), &made.intervals);
        let numbers = [
            &made.numbers.cost,
            &made.numbers.energy_kwh,
            &made.numbers.discharged_kwh,
            &made.numbers.unmet_kwh,
            &made.numbers.baseline_cost,
            &made.numbers.savings,
        ];
        let times = (&intervals.start[at.clone()], &intervals.end[at.clone()]);
        format!("{:?} {times:?} {:?}", numbers.map(|of| of[row]), &intervals.power_kw[at])
    };
    (0..made.len()).map(row).collect()
}

/// The plans of all rows as their parts write them, in the order of all.
fn written_in_parts(plan: &AreaPlan, keepers: &Keepers<'_>) -> Vec<String> {
    let mut all = vec![String::new(); keepers.columns.arrival.len()];
    let (question, told) = plan.instructions(&keepers.places());
    for (kept, (own, change)) in keepers.kept.iter().zip(&told) {
        let part = kept.part.updated(&sent(change)).unwrap();
        let (question, own, mut rows) = (sent(&question), sent(own), kept.rows.iter());
        let problem = kept.columns.problem(keepers.town);
        part.rows(&problem, (&question, &own), 3, &mut |run| {
            assert!(run.len() <= 3);
            for (text, &row) in written(&run).into_iter().zip(&mut rows) {
                all[row as usize] = text;
            }
        })
        .unwrap();
        assert_eq!(rows.next(), None);
    }
    all
}

/// Plans an area in one and in `parts`; all that plans and their rows say is the same.
#[track_caller]
fn check_same<'a>(columns: &'a Columns, town: &'a Town, parts: usize) -> (AreaPlan, Keepers<'a>) {
    let problem = columns.problem(town);
    let alone = plan_area(&problem, &options());
    let mut keepers = Keepers::new(columns, town, parts);
    let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
    let hooks = Hooks { workers: Some(&mut keepers), ..Hooks::new(&mut to_the_end) };
    let plan = plan_area_with(&problem, &options(), hooks);
    // Text of a float is the shortest that reads as its bits.
    assert!(format!("{plan:?}") == format!("{alone:?}"), "{} in {parts}", columns.arrival.len());
    let mut rows = Vec::new();
    alone.rows(&problem, usize::MAX, &mut |run| rows.extend(written(&run))).unwrap();
    assert_eq!(written_in_parts(&plan, &keepers), rows);
    assert!(keepers.questions > plan.rounds && keepers.kept.len() <= parts.max(1));
    (plan, keepers)
}

#[test]
fn a_plan_in_parts_is_the_plan_of_one() {
    // Vehicles, parts wanted, parts there are: whole blocks, so no more than there are blocks.
    for (vehicles, parts, expected) in [(0, 3, 1), (1, 5, 1), (7, 1, 1), (7, 3, 3), (9, 40, 9)] {
        let columns = Columns::new(&(0..vehicles).map(car).collect::<Vec<_>>());
        let town = Town::new(40.0);
        let (_, keepers) = check_same(&columns, &town, parts);
        assert_eq!(keepers.kept.len(), expected, "{vehicles} in {parts}");
    }
}

#[test]
fn blocks_of_many_vehicles_are_never_cut() {
    let columns = Columns::new(&(0..240).map(car).collect::<Vec<_>>());
    let town = Town::new(700.0);
    let (plan, keepers) = check_same(&columns, &town, 5);
    let vehicles = keepers.places().iter().map(Partition::vehicles).collect::<Vec<_>>();
    assert_eq!(vehicles.iter().sum::<usize>(), 240);
    let blocks = keepers.kept.iter().map(|kept| kept.place.blocks.len()).sum::<usize>();
    assert_eq!(blocks, plan.sessions.blocks.len());
    assert!(blocks < 20, "{blocks} blocks are not of many vehicles");
}

#[test]
fn a_shortage_is_told_to_the_parts() {
    let columns = Columns::new(&(0..12).map(car).collect::<Vec<_>>());
    let town = Town::new(12.0);
    let (plan, keepers) = check_same(&columns, &town, 4);
    assert!(plan.unmet_kwh > 50.0 && keepers.changes > 0);
    let (_, told) = plan.instructions(&keepers.places());
    assert!(told.iter().all(|(_, change)| change.needs.is_some()));
    let unmet = told.iter().flat_map(|(own, _)| &own.unmet_kwh).map(|(_, kwh)| kwh).sum::<f64>();
    assert!((unmet - plan.unmet_kwh).abs() < 1e-9);
}

#[test]
fn a_reserve_that_comes_late_is_told_to_its_part() {
    let late = Car { discharge_max_kw: 10.0, reserve_percent: 60.0, soc_percent: 10.0, ..car(0) };
    let columns = Columns::new(&[late; 6]);
    let town = Town::new(25.0);
    let (plan, keepers) = check_same(&columns, &town, 2);
    assert!(!plan.late_reserves.is_empty() && keepers.changes > 0);
    let (_, told) = plan.instructions(&keepers.places());
    let reserves = told.iter().map(|(_, change)| change.reserves.len()).sum::<usize>();
    assert_eq!(reserves, plan.late_reserves.len());
}

#[test]
fn a_level_that_comes_late_is_told_to_its_part() {
    let late = Car { reserve_percent: 60.0, soc_percent: 10.0, hours: 16, ..car(0) };
    let columns = Columns::new(&[late; 6]);
    let town = Town::new(25.0);
    let (plan, keepers) = check_same(&columns, &town, 2);
    assert!(plan.late_reserves.len() > 3 && keepers.changes > 0);
    assert!(plan.unmet_kwh < 1e-6, "{} kWh", plan.unmet_kwh);
    let (_, told) = plan.instructions(&keepers.places());
    let levels = told.iter().map(|(_, change)| change.deadlines.len()).sum::<usize>();
    assert_eq!(levels, plan.late_reserves.len());
}

#[test]
fn rows_in_error_are_of_the_last_part() {
    let mut cars: Vec<Car> = (0..6).map(car).collect();
    (cars[1].hours, cars[4].power_max_kw) = (-2, f64::NAN);
    let columns = Columns::new(&cars);
    let town = Town::new(30.0);
    let (plan, keepers) = check_same(&columns, &town, 3);
    assert_eq!(plan.errors.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(keepers.kept[2].rows[keepers.kept[2].rows.len() - 2..], [1, 4]);
    let errors = keepers.kept.iter().map(|kept| kept.part.errors().len()).collect::<Vec<_>>();
    assert_eq!(errors, [0, 0, 2]);
}

#[test]
fn a_battery_that_is_there_before_all_prices_goes_without() {
    let early = Car { from_hour: -5, hours: 3, discharge_max_kw: 9.0, ..car(0) };
    let columns = Columns::new(&[car(1), early]);
    let town = Town::new(30.0);
    let (plan, _) = check_same(&columns, &town, 2);
    // From 20 % to 80 % of 50 kWh.
    assert_eq!(plan.unmet.iter().map(|unmet| unmet.row).collect::<Vec<_>>(), [1]);
    assert!((plan.unmet[0].energy_kwh - 30.0).abs() < 1e-9 && plan.unmet[0].node.is_none());
}

prop_compose! {
    fn any_car()(
        (from_hour, hours, soc_percent) in (-3..18i64, -1..22i64, 0.0..79.0f64),
        reserve_percent in prop::sample::select(vec![0.0, 0.0, 45.0]),
        power_max_kw in prop::sample::select(vec![3.7, 11.0, 22.0]),
        (power_min_kw, discharge_max_kw) in prop::sample::select(vec![
            (f64::NAN, f64::NAN), (f64::NAN, f64::NAN), (3.0, f64::NAN), (f64::NAN, 9.0),
        ]),
        priority in prop::sample::select(vec![0.5, 1.0, 3.0]),
        node in 0..2u32,
    ) -> Car {
        Car {
            from_hour, hours, soc_percent, reserve_percent, power_max_kw, power_min_kw,
            discharge_max_kw, priority, node,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Vehicles of all kinds, limits that bind or not, any number of parts.
    #[test]
    fn any_area_in_any_parts_is_the_area_of_one(
        cars in prop::collection::vec(any_car(), 0..22), limit_kw in 4.0..120.0f64, parts in 1..7usize,
    ) {
        check_same(&Columns::new(&cars), &Town::new(limit_kw), parts);
    }

    /// Every vehicle is of one part, in the order of all; parts are of whole blocks, and
    /// none is larger than its even share and a block.
    #[test]
    fn parts_are_cut_from_the_order_of_all(
        lengths in prop::collection::vec(1..9usize, 0..12), parts in 0..15usize,
    ) {
        let all: Vec<Car> = (0..lengths.iter().sum()).map(|_| Car { node: 0, ..car(0) }).collect();
        let columns = Columns::new(&all);
        let mut sessions = Sessions::prepare(&columns.problem(&Town::new(9.0)));
        let mut start = 0;
        for (group, length) in lengths.iter().enumerate() {
            sessions.add_block(start..start + length, group);
            start += length;
        }
        sessions.groups = lengths.len();
        let shares = partition(&sessions, parts);
        let rows = shares.iter().flat_map(|share| share.rows.clone()).collect::<Vec<_>>();
        prop_assert_eq!(rows, (0..start as u32).collect::<Vec<_>>());
        let blocks = shares.iter().flat_map(|share| share.partition.blocks.clone());
        let whole = lengths.iter().enumerate().map(|(group, length)| (*length, group, 0));
        prop_assert_eq!(blocks.collect::<Vec<_>>(), whole.collect::<Vec<_>>());
        prop_assert!((1..=parts.max(1)).contains(&shares.len()));
        let mut first = 0;
        for share in &shares {
            prop_assert_eq!((share.partition.first, share.partition.groups), (first, lengths.len()));
            prop_assert!(share.partition.vehicles() < start / parts.max(1) + 9);
            first += share.partition.vehicles();
        }
    }
}

#[test]
fn sums_have_to_be_those_of_the_place() {
    let blocks = vec![(2, 0, 0), (1, 0, 0), (3, 0, 1), (1, 1, 1)];
    let place = Partition { first: 5, blocks, groups: 2, by_curve: true, priority_max: 1.0 };
    let sum = |group, node, blocks: usize, short: Vec<u32>| {
        let amounts = || vec![0.0; blocks];
        let (cost, shed_worth, slack) = (amounts(), amounts(), amounts());
        BlockLoad {
            group,
            node,
            cost,
            shortfall_penalty: shed_worth,
            optimality_slack: slack,
            load: vec![0; 4],
            shortfall: 0,
            discharged: 0,
            with_shortfall: short,
        }
    };
    let good = [sum(0, 0, 2, vec![6]), sum(0, 1, 1, Vec::new()), sum(1, 1, 1, vec![0])];
    assert!(place.fits(&good, 4));
    let changed = |at: usize, change: fn(&mut BlockLoad)| {
        let mut sums = good.clone();
        change(&mut sums[at]);
        sums.to_vec()
    };
    let bad = [
        ("another group", changed(0, |sum| sum.group = 1)),
        ("another node", changed(2, |sum| sum.node = 0)),
        ("a block less", changed(0, |sum| sum.cost.truncate(1))),
        ("a worth more", changed(1, |sum| sum.shortfall_penalty.push(0.0))),
        ("no slack", changed(2, |sum| sum.optimality_slack.clear())),
        ("a slot less", changed(1, |sum| sum.load.truncate(3))),
        ("somebody else's vehicle", changed(1, |sum| sum.with_shortfall.push(7))),
        ("a sum less", good[..2].to_vec()),
        ("a sum more", [&good[..], &good[2..]].concat()),
        ("another order", vec![good[1].clone(), good[0].clone(), good[2].clone()]),
        ("nothing", Vec::new()),
    ];
    for (name, sums) in bad {
        assert!(!place.fits(&sums, 4), "{name}");
    }
    assert!(!place.fits(&good, 5), "slots of another area");
}

#[test]
fn a_part_of_other_rows_is_refused() {
    let columns = Columns::new(&[car(0), car(2), car(1)]);
    let town = Town::new(30.0);
    let problem = columns.problem(&town);
    let place = |blocks: &[(usize, usize, u32)]| Partition {
        first: 0,
        blocks: blocks.to_vec(),
        groups: 2,
        by_curve: true,
        priority_max: 1.0,
    };
    assert!(Worker::new(&problem, &place(&[(2, 0, 0), (1, 1, 1)])).is_ok());
    let other = |expected| WorkerError::OtherRows { found: 3, expected };
    let bad = [
        (vec![(2, 0, 0)], other(2)),
        (vec![(2, 0, 0), (2, 1, 1)], other(4)),
        (vec![(3, 0, 0)], WorkerError::OtherArea),
        (vec![(2, 0, 0), (0, 0, 1), (1, 1, 1)], WorkerError::OtherArea),
        (vec![(2, 0, 0), (1, 2, 1)], WorkerError::OtherArea),
    ];
    for (blocks, error) in bad {
        assert_eq!(Worker::new(&problem, &place(&blocks)).unwrap_err(), error, "{blocks:?}");
    }
}

#[test]
fn what_belongs_to_another_area_is_refused() {
    let battery = Car { discharge_max_kw: 10.0, ..car(1) };
    let columns = Columns::new(&[car(0), battery]);
    let town = Town::new(30.0);
    let (plan, keepers) = check_same(&columns, &town, 1);
    let part = &keepers.kept[0].part;
    let is_refused =
        |change| part.updated(&change).is_err_and(|error| error == WorkerError::OtherArea);
    let needs = |count| SessionUpdate { needs: Some(vec![0; count]), ..SessionUpdate::default() };
    let reserve =
        |position| SessionUpdate { reserves: vec![(position, 3)], ..SessionUpdate::default() };
    let deadlines = |position| SessionUpdate {
        deadlines: vec![(position, vec![0])],
        ..SessionUpdate::default()
    };
    assert!(!is_refused(needs(2)) && is_refused(needs(1)) && is_refused(needs(3)));
    // Only the second vehicle has a reserve to come later.
    assert!(!is_refused(reserve(1)) && is_refused(reserve(0)) && is_refused(reserve(2)));
    // Nobody has a deadline before departure.
    assert!((0..3).all(|position| is_refused(deadlines(position))));

    let (question, told) = plan.instructions(&keepers.places());
    let RequestKind::Plans(choice) = &question.kind else { panic!("plans come from a mix") };
    let asks = |what| PricingRequest { kind: what, ..question.clone() };
    let mixes = |change: fn(&mut ColumnChoice)| {
        let mut choice = choice.clone();
        change(&mut choice);
        asks(RequestKind::Plans(choice))
    };
    let own = &told[0].0;
    let anew = Overrides { plans: vec![(2, EnergyBySlot::new())], unmet_kwh: Vec::new() };
    let unmet = Overrides { plans: Vec::new(), unmet_kwh: vec![(2, 1.0)] };
    let duals = |count| asks(RequestKind::Answer(vec![0.0; count]));
    let bad = [
        ("prices of fewer limits", duals(SLOTS), own),
        ("prices of more slots", duals(2 * SLOTS + 1), own),
        ("a group less", mixes(|solution| drop(solution.weights.pop())), own),
        ("a group more", mixes(|solution| solution.is_convex_combination.push(false)), own),
        ("no prices", mixes(|solution| solution.prices.clear()), own),
        ("prices of fewer slots", mixes(|solution| solution.prices[0].1.truncate(1)), own),
        ("a round without prices", mixes(|solution| solution.weights[0].push((9_999, 0.5))), own),
        (
            "rounds out of order",
            mixes(|solution| solution.prices.insert(0, (9_999, solution.prices[0].1.clone()))),
            own,
        ),
        (
            "a round beyond all searches",
            mixes(|solution| solution.prices.push((usize::MAX, solution.prices[0].1.clone()))),
            own,
        ),
        ("a vehicle that is not there", question.clone(), &anew),
    ];
    for (name, question, own) in &bad {
        let answer = part.answer(town.curves(), question, own);
        assert_eq!(answer.unwrap_err(), WorkerError::OtherArea, "{name}");
    }
    let problem = columns.problem(&town);
    let rows = |question, own| part.rows(&problem, (question, own), 9, &mut |_| ());
    assert_eq!(rows(&question, own), Ok(()));
    assert_eq!(rows(&question, &unmet), Err(WorkerError::OtherArea));
    assert_eq!(rows(&asks(RequestKind::AtOnce), own), Err(WorkerError::OtherArea));
}

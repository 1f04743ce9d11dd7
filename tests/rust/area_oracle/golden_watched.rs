//! Golden bits of areas whose rounds are stopped, resumed, or priced by workers.
//!
//! Below the line of a plan stand the calls of the watch, and a fingerprint of what was answered
//! or sent.
use std::ops::ControlFlow;

use slackwater_engine::area::{
    AreaOptions, Hooks, Node, Observer, Profile, Progress, SavedRound, plan_area_with,
};
use slackwater_engine::prices::table::PriceTable;
use slackwater_engine::units::kw;

use crate::Notes;
use crate::area::{Area, HOUR, More, Planned, Random};
use crate::golden::{feeders, fingerprint, large, line};
use crate::workers::{Cluster, plan_by};

/// Calls of an observer that stops the work at one of them.
#[derive(Default)]
struct Stopper {
    stops: usize,
    stop_at: Option<usize>,
    hurries: usize,
    hurry_at: Option<usize>,
}

fn break_if(stops: bool) -> ControlFlow<()> {
    if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl Observer for Stopper {
    fn after_round(&mut self, _: &Progress) -> ControlFlow<()> {
        self.stops += 1;
        break_if(Some(self.stops) == self.stop_at)
    }

    fn during_recovery(&mut self) -> ControlFlow<()> {
        self.hurries += 1;
        break_if(Some(self.hurries) == self.hurry_at)
    }
}

/// Bits of what was answered.
fn bits_of(answered: &[SavedRound]) -> u64 {
    let numbers = answered.iter().flat_map(|answered| {
        let groups = answered.groups.iter().flat_map(|group| {
            let money =
                [group.cost.to_bits(), group.optimality_slack.to_bits(), group.shortfall as u64];
            money.into_iter().chain(group.loads.iter().map(|&load| load as u64))
        });
        answered.prices_per_kwh.iter().map(|price| price.to_bits()).chain(groups)
    });
    fingerprint(numbers)
}

fn watched(
    name: &str,
    area: &Area,
    mut watch: Stopper,
    known: &[SavedRound],
) -> (String, Vec<SavedRound>) {
    let (problem, mut notes) = (area.problem(), Notes::new(known));
    let hooks = Hooks { store: Some(&mut notes), ..Hooks::new(&mut watch) };
    let plan = plan_area_with(&problem, &AreaOptions::default(), hooks);
    let text = line(name, &Planned::new(&problem, plan));
    let (asked, bits) = (notes.kept.len(), bits_of(&notes.kept));
    let counted = format!("stops {} hurries {}", watch.stops, watch.hurries);
    (text + &format!("    {counted} asked {asked} answers {bits:016x}\n"), notes.kept)
}

/// The plan of an area whose vehicles are priced by so many workers.
fn by_workers(name: &str, area: &Area, wanted: usize) -> String {
    let (problem, mut workers) = (area.problem(), Cluster::new(area, wanted));
    let plan = plan_by(&problem, &mut workers);
    let messages = workers.said.len();
    let planned = Planned::new(&problem, plan);
    let text = line(&format!("{name}, workers {wanted}"), &planned);
    let written = workers.rows(&planned.plan);
    let energy =
        written.iter().flat_map(|rows| rows.numbers.energy_kwh.iter().map(|kwh| kwh.to_bits()));
    let here = workers.order().map(|row| planned.rows.numbers.energy_kwh[row as usize].to_bits());
    assert!(energy.eq(here), "{name}: workers write other rows");
    let said = fingerprint(workers.said.iter().flat_map(|text| text.bytes().map(u64::from)));
    text + &format!("    {messages} messages, with those of the rows {said:016x}\n")
}

/// Vehicles with more to reach at once than one limit has room for; every other one discharges.
fn late_reserves() -> Area {
    let mut random = Random::new(61);
    let prices: Vec<f64> = (0..12).map(|_| random.between(0.05, 0.4)).collect();
    let mut area = Area::empty(vec![HOUR; 12], prices.clone());
    area.nodes.push(Node::limited("street", Profile::Constant(kw(25.0))));
    (area.arrival, area.departure) = (vec![0; 6], vec![11 * HOUR; 6]);
    (area.energy, area.power, area.priority) = (vec![35.0; 6], vec![11.0; 6], vec![1.0; 6]);
    (area.node, area.curve) = (vec![0; 6], vec![0; 6]);
    area.more = Some(More {
        capacity: vec![50.0; 6],
        soc: vec![10.0; 6],
        target: vec![80.0; 6],
        limit: vec![f64::NAN; 6],
        floor: vec![60.0; 6],
        discharge: [10.0, 0.0].repeat(3),
        efficiency: vec![0.95; 6],
        efficiency_discharge: vec![0.95; 6],
        end_value: vec![0.1; 6],
        wear: vec![0.01; 6],
        reserve: vec![0.0; 6],
        power_min: vec![0.0; 6],
        offsets: vec![0; 7],
        export: Some(PriceTable::new(area.table.horizon().clone(), prices.clone())),
        export_prices: prices,
        ..More::default()
    });
    area
}

/// Every scenario.
pub(crate) fn scenarios() -> String {
    let stop_at = |call| Stopper { stop_at: Some(call), ..Stopper::default() };
    let hurry_at = |call| Stopper { hurry_at: Some(call), ..Stopper::default() };
    let mut text = String::new();
    let mut add = |name: &str, area: &Area, watch: Stopper, known: &[SavedRound]| {
        let (line, kept) = watched(name, area, watch, known);
        text += &line;
        kept
    };
    let (short, branched) = (Area::mixed(1, false), Area::branched(3));
    for (name, area) in [("short", &short), ("branched", &branched)] {
        let kept = add(name, area, Stopper::default(), &[]);
        for call in [1, 3] {
            add(&format!("{name}, stop {call}"), area, stop_at(call), &[]);
        }
        add(&format!("{name}, half known"), area, Stopper::default(), &kept[..kept.len() / 2]);
    }
    // The first search is over by then, and needs are being shared.
    add("short, stop 20", &short, stop_at(20), &[]);
    add("branched, hurry 20", &branched, hurry_at(20), &[]);
    let long = large(9_000);
    add("9,000, stop 3", &long, stop_at(3), &[]);
    add("9,000, hurry 1", &long, hurry_at(1), &[]);
    // The first prices come from a sample, which is not cut short.
    add("33,000, stop 1", &large(33_000), stop_at(1), &[]);
    let town = feeders(12, 400);
    for wanted in [1, 3, 7] {
        text += &by_workers("short", &short, wanted);
        text += &by_workers("branched", &branched, wanted);
    }
    text += &by_workers("late", &late_reserves(), 2);
    text + &by_workers("12 feeders", &town, 3)
}

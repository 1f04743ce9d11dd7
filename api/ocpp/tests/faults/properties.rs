//! No seed leaves more than the fuse carries; planted defects do; and a calm site uses its room.
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use slackwater_engine::current_share::{Room, Sharer, share_current};
use slackwater_engine::units::{Current, amps};

use crate::point::{Deviation, Point};
use crate::protocol::{Mix, Protocol};
use crate::world::{Defect, SECONDS, World, milliamps};

/// Seeds of an ordinary run. `make ocpp-faults` sets the variable.
const SEEDS: u64 = 24;
const VARIABLE: &str = "OCPP_FAULT_SEEDS";

fn seeds() -> u64 {
    std::env::var(VARIABLE).map_or(SEEDS, |text| text.parse().expect("a number of seeds"))
}

/// Lowest seed with an excess, and the excess in milliampere-seconds; on all cores.
fn first_excess(seeds: u64, make_world: impl Fn(u64) -> World + Sync) -> Option<(u64, i64)> {
    let (next, found) = (AtomicU64::new(0), AtomicU64::new(seeds));
    let search = || {
        let mut worst = None;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= found.load(Ordering::Relaxed) {
                return worst;
            }
            let excess = make_world(seed).run();
            if excess > 0 {
                found.fetch_min(seed, Ordering::Relaxed);
                worst = Some((seed, excess));
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(search)).collect();
        let results = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        results.flatten().min()
    })
}

#[test]
fn no_fault_leaves_more_than_the_fuse_carries() {
    let found = first_excess(seeds(), |seed| World::new(seed, None));
    assert_eq!(found, None, "seed, and milliampere-seconds above the fuse");
}

/// Clocks that are trusted are found by the simulation of `slackwater-control` alone, which is denser.
#[test]
fn planted_defects_are_found() {
    for defect in [
        Defect::RebootForgets,
        Defect::AnswerAssumed,
        Defect::StartForgets,
        Defect::NotTried,
        Defect::LeftOut,
    ] {
        let found = first_excess(300, |seed| World::new(seed, Some(defect)));
        println!("{defect:?}: {found:?}");
        assert!(found.is_some(), "{defect:?}");
    }
}

/// Sites of 2.0.1 alone. A start that forgets is left out: it takes the most seeds.
#[test]
fn planted_defects_are_found_without_1_6() {
    let mix = Mix::All(Protocol::V201);
    for defect in [Defect::RebootForgets, Defect::AnswerAssumed, Defect::NotTried, Defect::LeftOut]
    {
        let found = first_excess(100, |seed| World::speaking(mix, seed, Some(defect)));
        println!("{defect:?}: {found:?}");
        assert!(found.is_some(), "{defect:?}");
    }
}

/// Doing nothing would be safe too: without faults all room is used, as its fair division.
#[test]
fn a_calm_site_uses_its_room() {
    let mut used = 0;
    for seed in 0..seeds() {
        let mut world = World::calm(seed);
        if world.points().any(|point| point.deviation != Deviation::None) {
            continue;
        }
        assert_eq!(world.run(), 0, "{seed}");
        let sharer = |point: &Point| Sharer {
            phases: point.phases,
            min: amps(6.0),
            max: milliamps(if point.is_plugged { point.current_max } else { 0 }),
            step: amps(1.0),
            reserved: milliamps(point.default),
            priority: 0,
            need: None,
        };
        let sharers: Vec<Sharer> = world.points().map(sharer).collect();
        let phases = [0, 1, 2].map(|phase| milliamps(world.fuse[phase] - world.base[phase].max(0)));
        let room = Room { phases, total: None };
        let fair = (0..sharers.len()).map(|first| share_current(&room, &sharers, first));
        let drawn: Vec<Current> =
            world.points().map(|point| milliamps(point.draws(SECONDS - 1))).collect();
        let shown: Vec<Vec<Current>> = fair.collect();
        assert!(shown.contains(&drawn), "{seed}: {drawn:?} is none of {shown:?}");
        used += 1;
    }
    assert!(used >= seeds() / 4, "{used} sites");
}

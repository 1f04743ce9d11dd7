//! Seeded simulation of a site with faults, whose meters are the judge: ampere-seconds above the fuse.
//!
//! The network loses, delays and reorders messages, repeats answers, and is cut for minutes. Charge
//! points refuse, reboot, forget their limits, and have clocks that are wrong within the bound. The
//! controller dies at any instant and starts again without memory. The base load is as measured: it
//! falls while the simulation runs, and never rises above a measured value.
//!
//! A charge point draws all that it may, as soon as it may. Only meters are added up: nothing of the
//! controller's ledgers enters the result. Planted defects show that the judge finds mistakes.
use chrono::{DateTime, TimeDelta, Utc};

use crate::load_balancing::balance::{Pace, Site, Station, balance};
use crate::load_balancing::ledger::{Ledger, Place};
use slackwater_engine::current_share::{Room, Sharer, share_current, turn_at};
use slackwater_engine::units::{Current, amps};

/// Length of a run in seconds.
const SECONDS: i64 = 900;

/// Largest error of a clock in seconds.
const CLOCK_ERROR: i64 = 20;

/// Seeds of the property.
const SEEDS: u64 = 1200;

const PACE: Pace = Pace {
    lifetime: TimeDelta::seconds(120),
    refresh_before: TimeDelta::seconds(60),
    answer_timeout: TimeDelta::seconds(15),
    turn: TimeDelta::seconds(200),
};

/// Mistake that is planted in the controller or in the charge points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// Limits do not expire on the charge points.
    NoExpiry,
    /// A reduction counts when it is sent.
    ReductionCountsUnanswered,
    /// A raise counts when it is answered.
    RaiseCountsWhenAnswered,
    /// Clocks are taken to be right.
    ClocksTrusted,
    /// After a restart only defaults are counted.
    RestartForgets,
    /// Charge points that are not reached are not counted beyond their default.
    UnreachableIgnored,
    /// Charge points have no default, and draw all they can without a limit.
    NoDefault,
}

/// Random numbers by `SplitMix64` (Steele, Lea, Flood: *Fast splittable pseudorandom number
/// generators*, 2014).
struct Chance {
    state: u64,
    /// True if no fault happens.
    is_calm: bool,
}

impl Chance {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, count: i64) -> i64 {
        (self.next() % count as u64) as i64
    }

    fn happens(&mut self, per_thousand: i64) -> bool {
        !self.is_calm && self.below(1000) < per_thousand
    }
}

fn second(seconds: i64) -> DateTime<Utc> {
    "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
}

/// Message on its way to a charge point, or an answer from it.
#[derive(Debug, Clone, Copy)]
struct Letter {
    arrives: i64,
    /// Start of the controller that sent it: answers to a dead one are lost.
    epoch: u32,
    number: u64,
    limit: i64,
    expires: Option<DateTime<Utc>>,
    is_accepted: bool,
}

/// Charge point: what it holds, and what its meter shows.
struct Point {
    phases: [bool; 3],
    current_max: i64,
    default: i64,
    limit: Option<(i64, DateTime<Utc>)>,
    clock_error: i64,
    is_plugged: bool,
    cut_until: i64,
    rebooting_until: i64,
    inbox: Vec<Letter>,
    outbox: Vec<Letter>,
}

impl Point {
    fn new(chance: &mut Chance) -> Self {
        let single = chance.below(3) as usize;
        let is_single = chance.happens(300);
        Self {
            phases: [0, 1, 2].map(|phase| !is_single || phase == single),
            current_max: 16_000 + 16_000 * chance.below(2),
            default: 6_000 * chance.below(2),
            limit: None,
            clock_error: chance.below(2 * CLOCK_ERROR + 1) - CLOCK_ERROR,
            is_plugged: chance.happens(700),
            cut_until: 0,
            rebooting_until: 0,
            inbox: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Current that its meter shows, in milliamperes.
    fn draws(&self, at: i64, defect: Option<Defect>) -> i64 {
        if !self.is_plugged || at < self.rebooting_until {
            return 0;
        }
        let clock = second(at + self.clock_error);
        let expires = defect != Some(Defect::NoExpiry);
        let limit = self.limit.filter(|(_, until)| !expires || clock < *until);
        let without =
            if defect == Some(Defect::NoDefault) { self.current_max } else { self.default };
        let current = limit.map_or(without, |(limit, _)| limit).min(self.current_max);
        if current < 6_000 { 0 } else { current }
    }

    /// Faults of one second.
    fn suffer(&mut self, at: i64, chance: &mut Chance) {
        if chance.happens(3) {
            self.cut_until = at + 5 + chance.below(300);
        }
        if chance.happens(2) {
            self.rebooting_until = at + 5 + chance.below(40);
            self.inbox.clear();
            self.limit = self.limit.filter(|_| chance.happens(500));
        }
        if chance.happens(5) {
            self.is_plugged = !self.is_plugged;
        }
    }

    /// Applies what has arrived, and answers.
    fn receive(&mut self, at: i64, chance: &mut Chance) {
        let is_deaf = at < self.rebooting_until || at < self.cut_until;
        let (arrived, waiting) = self.inbox.drain(..).partition(|letter| letter.arrives <= at);
        self.inbox = waiting;
        let arrived: Vec<Letter> = arrived;
        for letter in arrived {
            // A message that waits in a cut network may still arrive, or be lost.
            if is_deaf {
                if chance.happens(300) {
                    self.inbox.push(Letter { arrives: at + 1 + chance.below(60), ..letter });
                }
                continue;
            }
            let is_accepted = !chance.happens(30);
            if let (true, Some(expires)) = (is_accepted, letter.expires) {
                self.limit = Some((letter.limit, expires));
            }
            let copies = i64::from(!chance.happens(100)) + i64::from(chance.happens(50));
            for _ in 0..copies {
                let answer = Letter { arrives: at + delay(chance), is_accepted, ..letter };
                self.outbox.push(answer);
            }
        }
    }
}

/// Delay of a message: mostly short, sometimes long enough to be overtaken.
fn delay(chance: &mut Chance) -> i64 {
    if chance.happens(100) { chance.below(60) } else { chance.below(3) }
}

/// Site with its controller.
struct World {
    chance: Chance,
    defect: Option<Defect>,
    fuse: [i64; 3],
    base: [i64; 3],
    points: Vec<Point>,
    ledgers: Vec<Ledger>,
    epoch: u32,
    down_until: i64,
    /// Charge points from which nothing has been heard since then.
    heard: Vec<i64>,
}

impl World {
    fn new(seed: u64, defect: Option<Defect>) -> Self {
        let state = seed.wrapping_mul(0xD134_2543_DE82_EF95);
        let mut chance = Chance { state, is_calm: false };
        let count = 2 + chance.below(4) as usize;
        let points: Vec<Point> = (0..count).map(|_| Point::new(&mut chance)).collect();
        let base = [0, 1, 2].map(|_| 1000 * (chance.below(15) - 3));
        // Whoever plans a site sees to it that the defaults fit; more is a matter of balancing.
        let fuse = [0, 1, 2].map(|phase| {
            let on_phase = points.iter().filter(|point| point.phases[phase]);
            let defaults: i64 = on_phase.map(|point| point.default).sum();
            base[phase].max(0) + defaults + 1000 * chance.below(40)
        });
        let heard = vec![0; count];
        let mut world = Self {
            chance,
            defect,
            fuse,
            base,
            points,
            ledgers: Vec::new(),
            epoch: 0,
            down_until: 0,
            heard,
        };
        world.start(-3600);
        world
    }

    /// Starts the controller without memory.
    fn start(&mut self, at: i64) {
        self.epoch += 1;
        let trusts = self.defect == Some(Defect::ClocksTrusted);
        let error = TimeDelta::seconds(if trusts { 0 } else { CLOCK_ERROR });
        let lifetime = match self.defect {
            Some(Defect::RestartForgets) => TimeDelta::seconds(-CLOCK_ERROR),
            _ => PACE.lifetime,
        };
        let ledger = |point: &Point| {
            let (max, default) = (milliamps(point.current_max), milliamps(point.default));
            Ledger::recovered(max, error, default, lifetime, second(at))
        };
        self.ledgers = self.points.iter().map(ledger).collect();
    }

    /// Milliampere-seconds above the fuse, over all phases, by the meters of a run.
    fn run(&mut self) -> i64 {
        (0..SECONDS).map(|at| self.step(at)).sum()
    }

    /// One second, and the milliamperes above the fuse at its end.
    fn step(&mut self, at: i64) -> i64 {
        self.fail(at);
        for point in &mut self.points {
            point.suffer(at, &mut self.chance);
            point.receive(at, &mut self.chance);
        }
        if at >= self.down_until {
            self.hear(at);
            if at % 4 == 0 {
                self.control(at);
            }
        }
        self.excess(at)
    }

    /// Faults of the controller, and the base load, which only falls.
    fn fail(&mut self, at: i64) {
        if self.chance.happens(2) {
            self.down_until = at + 1 + self.chance.below(200);
            self.start(self.down_until);
        }
        for base in &mut self.base {
            if self.chance.happens(2) {
                *base = (*base - 1000 * self.chance.below(4)).max(-5000);
            }
        }
    }

    /// Takes in the answers that have arrived.
    fn hear(&mut self, at: i64) {
        for (index, point) in self.points.iter_mut().enumerate() {
            let (arrived, waiting) =
                point.outbox.drain(..).partition(|letter| letter.arrives <= at);
            point.outbox = waiting;
            let arrived: Vec<Letter> = arrived;
            for letter in arrived.iter().filter(|letter| letter.epoch == self.epoch) {
                self.heard[index] = at;
                let ledger = &mut self.ledgers[index];
                if letter.is_accepted {
                    ledger.accept(letter.number, second(at));
                } else {
                    ledger.refuse(letter.number);
                }
            }
        }
    }

    /// Decides and sends.
    fn control(&mut self, at: i64) {
        let ledgers = self.counted(at);
        let stations: Vec<Station<'_>> = (self.points.iter().zip(&ledgers).zip(&self.heard))
            .enumerate()
            .map(|(index, ((point, ledger), heard))| Station {
                phases: point.phases,
                min: amps(6.0),
                wanted: milliamps(if point.is_plugged { point.current_max } else { 0 }),
                step: amps(1.0),
                priority: 0,
                need: self.need(index, at),
                default: milliamps(point.default),
                // Nobody knows more than when something was last heard; after a while it is tried.
                is_reachable: at - heard < 45 || at % 32 == 0,
                ledger,
            })
            .collect();
        let (fuse, base) = (self.fuse.map(milliamps), self.base.map(milliamps));
        let site = Site { fuse, base, grid: None, least: Current::ZERO };
        for order in balance(&site, &stations, &PACE, second(at)) {
            self.send(at, order.station, order.place, order.limit);
        }
    }

    /// Need of a vehicle, of some none. Among faults it changes all the time.
    fn need(&self, index: usize, at: i64) -> Option<Current> {
        let moment = if self.chance.is_calm { 0 } else { at / 40 };
        let need = (7 * index as i64 + 5 * moment) % 31;
        (need > 4).then(|| milliamps(1000 * need))
    }

    /// Ledgers as a controller with a planted defect sees them.
    fn counted(&self, at: i64) -> Vec<Ledger> {
        let mut ledgers = self.ledgers.clone();
        for (index, ledger) in ledgers.iter_mut().enumerate() {
            let latest = ledger.latest().copied();
            match (self.defect, latest) {
                (Some(Defect::ReductionCountsUnanswered), Some(latest)) => {
                    ledger.accept(latest.number, second(at));
                }
                (Some(Defect::RaiseCountsWhenAnswered), Some(latest)) => {
                    ledger.refuse(latest.number);
                }
                (Some(Defect::UnreachableIgnored), _) if at - self.heard[index] >= 45 => {
                    let point = &self.points[index];
                    let (max, default) = (milliamps(point.current_max), milliamps(point.default));
                    let nothing = TimeDelta::zero();
                    *ledger = Ledger::recovered(max, nothing, default, nothing, second(at));
                }
                _ => {}
            }
        }
        ledgers
    }

    fn send(&mut self, at: i64, index: usize, place: Place, limit: Current) {
        let number = self.ledgers[index].send(place, limit, second(at));
        if self.chance.happens(80) {
            return;
        }
        let expires = match place {
            Place::Limit { expires } => Some(expires),
            Place::Default => None,
        };
        let arrives = at + delay(&mut self.chance);
        let limit = (limit.as_amps() * 1000.0).round() as i64;
        let (epoch, is_accepted) = (self.epoch, false);
        self.points[index].inbox.push(Letter {
            arrives,
            epoch,
            number,
            limit,
            expires,
            is_accepted,
        });
    }

    /// Milliamperes above the fuse, over all phases, by the meters of one second.
    fn excess(&self, at: i64) -> i64 {
        let above = |phase: usize| {
            let on_phase = self.points.iter().filter(|point| point.phases[phase]);
            let drawn: i64 = on_phase.map(|point| point.draws(at, self.defect)).sum();
            (self.base[phase] + drawn - self.fuse[phase]).max(0)
        };
        (0..3).map(above).sum()
    }
}

fn milliamps(value: i64) -> Current {
    amps(value as f64 / 1000.0)
}

#[test]
fn no_fault_leaves_more_than_the_fuse_carries() {
    for seed in 0..SEEDS {
        let excess = World::new(seed, None).run();
        assert_eq!(excess, 0, "milliampere-seconds above the fuse with seed {seed}");
    }
}

/// Doing nothing would be safe too: without faults all room is used, as its fair division.
#[test]
fn a_calm_site_uses_its_room() {
    for seed in 0..SEEDS / 10 {
        let mut world = World::new(seed, None);
        world.chance.is_calm = true;
        assert_eq!(world.run(), 0);
        let sharer = |(index, point): (usize, &Point)| Sharer {
            phases: point.phases,
            min: amps(6.0),
            max: milliamps(if point.is_plugged { point.current_max } else { 0 }),
            step: amps(1.0),
            reserved: milliamps(point.default),
            priority: 0,
            need: world.need(index, 0),
        };
        let sharers: Vec<Sharer> = world.points.iter().enumerate().map(sharer).collect();
        let phases = [0, 1, 2].map(|phase| milliamps(world.fuse[phase] - world.base[phase].max(0)));
        let last = SECONDS - 1;
        let first = turn_at(second(last), PACE.turn, sharers.len());
        let fair = share_current(&Room { phases, total: None }, &sharers, first);
        let drawn: Vec<Current> =
            world.points.iter().map(|point| milliamps(point.draws(last, None))).collect();
        assert_eq!(drawn, fair, "seed {seed}");
    }
}

/// Nothing can undo a rise of the base load before a message has arrived: the excess is at most the
/// rise, and over as soon as the reductions have been answered.
#[test]
fn a_rise_of_the_base_load_is_followed_at_once() {
    let mut is_any_above = false;
    for seed in 0..SEEDS / 10 {
        let mut world = World::new(seed, None);
        world.chance.is_calm = true;
        assert_eq!((0..400).map(|at| world.step(at)).sum::<i64>(), 0);
        let mut rises = 0;
        for phase in 0..3 {
            let on_phase = world.points.iter().filter(|point| point.phases[phase]);
            let defaults: i64 = on_phase.map(|point| point.default).sum();
            let room = world.fuse[phase] - world.base[phase].max(0) - defaults;
            let rise = room.min(5_000);
            world.base[phase] = world.base[phase].max(0) + rise;
            rises += rise;
        }
        for at in 400..900 {
            let excess = world.step(at);
            is_any_above |= excess > 0;
            assert!(excess <= rises, "seed {seed}, {} s after the rise", at - 400);
            // A tick of the controller, and a message there.
            assert!(excess == 0 || at < 400 + 8, "seed {seed}, {} s after the rise", at - 400);
        }
    }
    assert!(is_any_above, "the rise is felt");
}

#[test]
fn planted_defects_are_found() {
    let defects = [
        Defect::NoExpiry,
        Defect::ReductionCountsUnanswered,
        Defect::RaiseCountsWhenAnswered,
        Defect::ClocksTrusted,
        Defect::RestartForgets,
        Defect::UnreachableIgnored,
        Defect::NoDefault,
    ];
    for defect in defects {
        let found = (0..SEEDS).find(|seed| World::new(*seed, Some(defect)).run() > 0);
        assert!(found.is_some(), "{defect:?} is not found in {SEEDS} seeds");
    }
}

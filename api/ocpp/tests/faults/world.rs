//! Site with its charge points, the network between, and the service, which is killed at any instant and
//! starts again from its files.
use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::charging_profile::supply::Supply;
use slackwater_control::device::command::Command;
use slackwater_control::policy::need::ChargingNeed;
use slackwater_engine::units::{Current, amps, volts};
use slackwater_ocpp::session::{Session, Step};
use slackwater_ocpp::site::balance::Member;
use slackwater_ocpp::site::plan::{BaseLoad, Bounds, Site, SiteCharger};
use slackwater_ocpp::station::state::{Balancing, Rules, Station};

use crate::point::Point;
use crate::protocol::Mix;

/// Seconds without faults and vehicles at the start, in which defaults are written and models are
/// tried out.
pub(crate) const CALM: i64 = 240;

/// Length of a run in seconds.
pub(crate) const SECONDS: i64 = CALM + 550;

/// Largest error of a clock in seconds.
pub(crate) const CLOCK_ERROR: i64 = 20;

/// Interval of meter values in seconds.
const METER_INTERVAL: i64 = 20;

/// Longest lifetime of limits, and time for an answer, in seconds.
const LIFETIME: i64 = 120;
const TIMEOUT: i64 = 15;

/// Mistake that is planted in the service, or against what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Charge points lose their defaults when they restart.
    RebootForgets,
    /// A limit counts as accepted when it is sent.
    AnswerAssumed,
    /// After a start, limits of the time before do not count.
    StartForgets,
    /// Models that are not known are not tried out.
    NotTried,
    /// A charge point takes part without its ledger.
    LeftOut,
}

/// Random numbers by `SplitMix64` (Steele, Lea, Flood: *Fast splittable pseudorandom number
/// generators*, 2014).
#[derive(Debug)]
pub(crate) struct Chance {
    state: u64,
    /// True if no fault happens.
    pub(crate) is_calm: bool,
}

impl Chance {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, count: i64) -> i64 {
        (self.next() % count as u64) as i64
    }

    /// A fault with a chance per thousand.
    pub(crate) fn happens(&mut self, per_thousand: i64) -> bool {
        self.below(1000) < per_thousand && !self.is_calm
    }
}

pub(crate) fn second(seconds: i64) -> DateTime<Utc> {
    "2026-01-05T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::seconds(seconds)
}

pub(crate) fn milliamps(value: i64) -> Current {
    amps(value as f64 / 1000.0)
}

/// Text on its way over a connection.
#[derive(Debug, Clone)]
struct Letter {
    arrives: i64,
    link: u32,
    text: String,
}

/// Charge point, the service's part for it, and the connection between both.
struct Line {
    point: Point,
    rules: Rules,
    /// File of the service.
    file: String,
    station: Station,
    session: Option<Session>,
    /// Number of the connection as the charge point knows it, and as the service does.
    link: u32,
    served_link: u32,
    /// Instant at which the charge point connects again, if it is not connected.
    connects_at: Option<i64>,
    cut_until: i64,
    to_point: Vec<Letter>,
    to_service: Vec<Letter>,
}

/// Everything.
pub(crate) struct World {
    pub(crate) chance: Chance,
    is_without_faults: bool,
    defect: Option<Defect>,
    pub(crate) fuse: [i64; 3],
    pub(crate) base: [i64; 3],
    site: Site,
    lines: Vec<Line>,
    down_until: i64,
}

impl World {
    pub(crate) fn new(seed: u64, defect: Option<Defect>) -> Self {
        Self::speaking(Mix::choose(seed), seed, defect)
    }

    /// A world whose charge points speak the versions of a mix.
    pub(crate) fn speaking(mix: Mix, seed: u64, defect: Option<Defect>) -> Self {
        let state = seed.wrapping_mul(0xD134_2543_DE82_EF95);
        let mut chance = Chance { state, is_calm: true };
        let count = 2 + chance.below(3) as usize;
        let points: Vec<Point> =
            (0..count).map(|index| Point::new(mix.protocol(index), &mut chance)).collect();
        let base = [0, 1, 2].map(|_| 1000 * (chance.below(15) - 3));
        // Whoever plans a site sees to it that what cannot be limited fits.
        let fuse = [0, 1, 2].map(|phase| {
            let on_phase = points.iter().filter(|point| point.phases[phase]);
            let unbounded: i64 = on_phase.map(Point::unbounded).sum();
            base[phase].max(0) + unbounded + 1000 * chance.below(40)
        });
        let chargers = points.iter().enumerate().map(|(index, point)| SiteCharger {
            identity: index.to_string(),
            phases: point.phases,
            connectors: 1,
            priority: 0,
        });
        let site = Site {
            name: "garage".to_owned(),
            fuse: fuse.map(milliamps),
            base: base.map(milliamps),
            meter: None,
            base_age_max: TimeDelta::seconds(120),
            turn: TimeDelta::seconds(200),
            grid_voltage: volts(230.0),
            chargers: chargers.collect(),
        };
        let lines = points.into_iter().map(|point| Line::new(point, defect)).collect();
        let (is_without_faults, down_until) = (false, 0);
        let mut world =
            Self { chance, is_without_faults, defect, fuse, base, site, lines, down_until };
        world.start(0);
        world
    }

    /// A world in which nothing fails, of charge points that follow their limits.
    pub(crate) fn calm(seed: u64) -> Self {
        let mut world = Self::new(seed, None);
        world.is_without_faults = true;
        world
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.lines.iter().map(|line| &line.point)
    }

    /// Starts the service from its files.
    fn start(&mut self, at: i64) {
        for line in &mut self.lines {
            line.station = serde_json::from_str(&line.file).unwrap();
            line.session = None;
        }
        let until = |line: &Line| line.station.limits_until(&line.rules, second(at));
        let until = self.lines.iter().map(until).max().unwrap();
        let forgets = self.defect == Some(Defect::StartForgets);
        let until = if forgets { second(at - CLOCK_ERROR) } else { until };
        for line in &mut self.lines {
            line.station.join(&line.rules, until, second(at));
        }
        if self.defect == Some(Defect::LeftOut) {
            self.leave_out(at);
        }
    }

    /// Lets one charge point be limited by commands alone.
    fn leave_out(&mut self, at: i64) {
        let line = &mut self.lines[0];
        line.rules.balancing = None;
        line.station.connector(1).limits.balanced = None;
        let most = Command::MaxCurrent(milliamps(line.point.current_max));
        let _ = line.station.order(1, &most, &line.rules, second(at));
    }

    /// Milliampere-seconds above the fuse, over all phases, by the meters of a run.
    pub(crate) fn run(&mut self) -> i64 {
        (0..SECONDS).map(|at| self.step(at)).sum()
    }

    /// One second, and the milliamperes above the fuse at its end.
    fn step(&mut self, at: i64) -> i64 {
        self.chance.is_calm = at < CALM || self.is_without_faults;
        if self.chance.happens(2) {
            self.kill(at);
        }
        for base in &mut self.base {
            if self.chance.happens(2) {
                *base = (*base - 1000 * self.chance.below(4)).max(-5000);
            }
        }
        for index in 0..self.lines.len() {
            self.lines[index].lives(at, &mut self.chance, self.defect);
            if at < self.down_until {
                continue;
            }
            // After each message as well, of which a quarter is played: the rest is alike.
            let has_news = self.lines[index].hears_news(at) && (at + index as i64) % 4 == 0;
            if self.serve(index, at) {
                self.kill(at);
            } else if has_news {
                self.balance(at);
            }
        }
        if at >= self.down_until {
            self.balance(at);
        }
        self.excess(at)
    }

    fn kill(&mut self, at: i64) {
        self.down_until = at + 1 + self.chance.below(60);
        let down_until = self.down_until;
        // The operator may have chosen another lifetime by the next start.
        let lifetime = TimeDelta::seconds(LIFETIME / (1 + self.chance.below(2)));
        for line in &mut self.lines {
            line.loses_service(at, down_until, &mut self.chance);
            line.rules.limit_lifetime = lifetime;
        }
        self.start(down_until);
    }

    fn balance(&mut self, at: i64) {
        let is_measured = !self.chance.happens(200);
        let measured = BaseLoad { at: second(at), currents: self.base.map(milliamps) };
        let measured = Some(measured).filter(|_| is_measured);
        let bounds = Bounds { measured, ..Bounds::default() };
        self.tell_needs(at);
        let mut members: Vec<Member<'_>> = (self.lines.iter_mut())
            .map(|line| Member { rules: &line.rules, station: &mut line.station })
            .collect();
        if self.defect == Some(Defect::LeftOut) {
            // The others are balanced as if the first were not there.
            let others = Site { chargers: self.site.chargers[1..].to_vec(), ..self.site.clone() };
            others.balance(&mut members[1..], bounds, second(at));
        } else {
            self.site.balance(&mut members, bounds, second(at));
        }
    }

    /// Needs of plans, of some none, which change all the time among faults.
    fn tell_needs(&mut self, at: i64) {
        if self.is_without_faults {
            return;
        }
        for (index, line) in self.lines.iter_mut().enumerate() {
            let minutes = (7 * index as i64 + 11 * (at / 40)) % 60;
            let leaves = second(at) + TimeDelta::minutes(45);
            let need = ChargingNeed { charging: TimeDelta::minutes(minutes), leaves };
            line.station.note_need(1, Some(need).filter(|_| minutes > 9));
        }
    }

    /// Passes texts to the service and time. Returns true if it is killed on the way.
    fn serve(&mut self, index: usize, at: i64) -> bool {
        let line = &mut self.lines[index];
        let (arrived, waiting) = line.to_service.drain(..).partition(|letter| letter.arrives <= at);
        line.to_service = waiting;
        let mut arrived: Vec<Letter> = arrived;
        arrived.sort_by_key(|letter| letter.arrives);
        let mut is_killed = false;
        for letter in arrived {
            line.accepts_connection(&letter, at);
            let Some(mut session) = line.session.take_if(|_| letter.link == line.served_link)
            else {
                continue;
            };
            let (station, rules) = (&mut line.station, &line.rules);
            let step = session.receive(&letter.text, station, rules, second(at));
            line.session = Some(session);
            is_killed |= line.carries_out(step, at, self.defect, &mut self.chance);
        }
        if let Some(mut session) = line.session.take() {
            let step = session.tick(&mut line.station, &line.rules, second(at));
            line.session = Some(session);
            is_killed |= line.carries_out(step, at, self.defect, &mut self.chance);
        }
        is_killed
    }

    /// Milliamperes above the fuse, over all phases, by the meters of one second.
    fn excess(&self, at: i64) -> i64 {
        let above = |phase: usize| {
            let on_phase = self.points().filter(|point| point.phases[phase]);
            let drawn: i64 = on_phase.map(|point| point.draws(at)).sum();
            (self.base[phase] + drawn - self.fuse[phase]).max(0)
        };
        (0..3).map(above).sum()
    }
}

impl Line {
    fn new(point: Point, defect: Option<Defect>) -> Self {
        let seconds = TimeDelta::seconds;
        let phases = point.phases.iter().filter(|is_on| **is_on).count();
        let rules = Rules {
            heartbeat_seconds: 300,
            meter_interval_seconds: 60,
            tokens: None,
            supply: Supply::new(volts(230.0), u8::try_from(phases).unwrap()).unwrap(),
            current_max: milliamps(point.current_max),
            safe_current: milliamps(point.default),
            limit_lifetime: seconds(LIFETIME),
            balancing: Some(Balancing {
                connectors: 1,
                clock_error_max: seconds(CLOCK_ERROR),
                probes: defect != Some(Defect::NotTried),
            }),
        };
        let station = Station::default();
        Self {
            point,
            rules,
            file: serde_json::to_string(&station).unwrap(),
            station,
            session: None,
            link: 0,
            served_link: 0,
            connects_at: Some(1),
            cut_until: 0,
            to_point: Vec::new(),
            to_service: Vec::new(),
        }
    }

    /// One second of the charge point: faults, its vehicle, and what has arrived.
    fn lives(&mut self, at: i64, chance: &mut Chance, defect: Option<Defect>) {
        if chance.happens(2) {
            self.point.reboots(at, chance, defect);
            self.breaks(self.point.rebooting_until);
        } else if chance.happens(3) {
            self.cut_until = at + 5 + chance.below(200);
            // The charge point notices at once or after a while.
            let until = self.cut_until;
            self.breaks(until + chance.below(20));
        }
        if at < self.point.rebooting_until {
            return;
        }
        if (CALM..SECONDS - 150).contains(&at) && chance.below(200) == 0 {
            if self.point.is_plugged { self.point.unplugs(at) } else { self.point.plugs_in(at) }
        }
        if at % METER_INTERVAL == 0 && self.connects_at.is_none() {
            self.point.measures(at);
        }
        if self.connects_at.is_some_and(|connects_at| connects_at <= at) {
            self.connects_at = None;
            self.link += 1;
            self.point.out.clear();
            self.point.connects(at);
        }
        let (arrived, waiting) = self.to_point.drain(..).partition(|letter| letter.arrives <= at);
        self.to_point = waiting;
        let mut arrived: Vec<Letter> = arrived;
        arrived.sort_by_key(|letter| letter.arrives);
        for letter in arrived {
            if at >= self.cut_until {
                self.point.hears(&letter.text, at, chance);
            } else if chance.happens(300) {
                // What waits in a cut network may still arrive.
                self.to_point.push(Letter { arrives: at + 1 + chance.below(60), ..letter });
            }
        }
        for text in std::mem::take(&mut self.point.out) {
            let is_on_line = self.connects_at.is_none() && at >= self.cut_until;
            if is_on_line && !chance.happens(30) {
                let letter = Letter { arrives: at + delay(chance), link: self.link, text };
                let again = Letter { arrives: letter.arrives + chance.below(20), ..letter.clone() };
                self.to_service.extend(chance.happens(50).then_some(again));
                self.to_service.push(letter);
            }
        }
    }

    /// The connection breaks for the charge point. What is on its way may still arrive.
    fn breaks(&mut self, until: i64) {
        self.connects_at = Some(until);
        self.point.disconnects();
    }

    /// The service is gone: what it had sent may arrive, and nothing is heard any more.
    fn loses_service(&mut self, at: i64, down_until: i64, chance: &mut Chance) {
        self.to_service.clear();
        self.session = None;
        if self.connects_at.is_none() {
            self.connects_at = Some(down_until.max(at + 1) + chance.below(30));
            self.point.disconnects();
        }
    }

    /// Returns true if a text arrives at the service.
    fn hears_news(&self, at: i64) -> bool {
        self.to_service.iter().any(|letter| letter.arrives <= at)
    }

    /// The first text of a new connection opens it.
    fn accepts_connection(&mut self, letter: &Letter, at: i64) {
        if letter.link <= self.served_link {
            return;
        }
        self.served_link = letter.link;
        if let Some(mut session) = self.session.take() {
            session.close(&mut self.station, &self.rules, second(at));
        }
        self.station.disconnect();
        self.station.connect(second(at));
        self.session =
            Some(Session::new(self.point.protocol.version(), TimeDelta::seconds(TIMEOUT)));
    }

    /// Keeps the state where that is urgent, then sends. Returns true if the service is killed in
    /// between.
    fn carries_out(
        &mut self,
        step: Step,
        at: i64,
        defect: Option<Defect>,
        chance: &mut Chance,
    ) -> bool {
        let is_killed = !step.send.is_empty() && chance.happens(4);
        if step.is_urgent {
            self.file = serde_json::to_string(&self.station).unwrap();
        }
        for text in step.send {
            if is_killed && chance.below(2) == 0 {
                break;
            }
            self.assumes_answer(&text, at, defect);
            if chance.happens(60) {
                continue;
            }
            let letter = Letter { arrives: at + delay(chance), link: self.served_link, text };
            // Some take a message twice, and answer twice.
            self.to_point.extend(chance.happens(20).then(|| letter.clone()));
            self.to_point.push(letter);
        }
        is_killed
    }

    fn assumes_answer(&mut self, text: &str, at: i64, defect: Option<Defect>) {
        let is_profile = text.contains("\"SetChargingProfile\"");
        let Some(session) = &mut self.session else { return };
        if defect == Some(Defect::AnswerAssumed) && is_profile {
            let frame: serde_json::Value = serde_json::from_str(text).unwrap();
            let answer = serde_json::json!([3, frame[1], {"status": "Accepted"}]).to_string();
            session.receive(&answer, &mut self.station, &self.rules, second(at));
        }
    }
}

/// Delay of a message: mostly short, sometimes long enough to be overtaken.
fn delay(chance: &mut Chance) -> i64 {
    if chance.happens(100) { chance.below(60) } else { chance.below(2) }
}

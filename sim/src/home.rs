//! Devices of a home behind one meter, stepped from event to event.
//!
//! `Home::advance` executes every event at its own instant. One call and several calls to the
//! same instant therefore give the same bits.
//!
//! | Part | Counts | Does not count |
//! |---|---|---|
//! | battery | surplus of roofs over household, constant over each quarter of an hour | cars, heating |
//! | meter | all parts; its registers step at the end of a quarter by the quarter's net energy | - |
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::car::{Car, CarView, Hand, Outlet};
use crate::chance::Chance;
use crate::flow::{Counted, Course, Flow};
use crate::load::HouseholdSpec;
use crate::part::{Charger, ChargerView, Part, PartSpec, PartView, Plug};
use crate::room::Room;
use crate::storage::Storage;
use crate::supply::Supply;
use crate::weather::Weather;
use slackwater_control::device::command::{Command, Switch};
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::time::instant::{instant_at, micros_of};
use slackwater_engine::units::{Energy, Power};

/// Microseconds in a quarter of an hour.
const QUARTER: i64 = 900_000_000;

/// Location and household of a home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HomeSpec {
    /// Source of the draws for the weather and the residents' habits.
    pub chance: Chance,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Household load apart from the simulated parts; `None` takes no power.
    pub household: Option<HouseholdSpec>,
}

/// Command that a part of this kind does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the device does not know this command")]
pub struct Misdirected;

/// Command that takes effect at a later instant.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pending {
    at: i64,
    part: usize,
    command: Command,
}

/// Home with its parts. A part is identified by its index, in order of addition.
#[derive(Debug, Clone, PartialEq)]
pub struct Home {
    spec: HomeSpec,
    weather: Weather,
    at: i64,
    parts: Vec<Part>,
    household: Course,
    /// Commands ordered by the instant at which they take effect.
    pending: Vec<Pending>,
    is_quarterly: bool,
}

impl Home {
    /// Creates an empty home.
    #[must_use]
    pub fn new(spec: HomeSpec, at: DateTime<Utc>) -> Self {
        Self {
            weather: Weather::new(spec.chance, spec.latitude, spec.longitude),
            at: micros_of(at),
            parts: Vec::new(),
            household: Course::starting(at),
            pending: Vec::new(),
            is_quarterly: false,
            spec,
        }
    }

    /// Adds a part at the current instant and returns its index. A charger comes before the cars
    /// that it charges.
    pub fn add(&mut self, name: &str, spec: PartSpec) -> usize {
        let part = self.built(name, spec);
        self.parts.push(part);
        let index = self.parts.len() - 1;
        self.begin(index);
        index
    }

    /// Replaces a part by a new one, whose counters start at zero.
    pub fn replace(&mut self, index: usize, name: &str, spec: PartSpec) {
        self.pending.retain(|pending| pending.part != index);
        self.parts[index] = self.built(name, spec);
        self.begin(index);
    }

    fn begin(&mut self, index: usize) {
        self.is_quarterly = self.parts.iter().any(Part::is_quarterly);
        let everything = (0..self.parts.len()).filter(|&other| other >= index);
        let touched = everything.collect();
        self.happen(self.at, touched, true);
    }

    fn built(&self, name: &str, spec: PartSpec) -> Part {
        let (now, chance) = (instant_at(self.at), self.spec.chance.of(name));
        match spec {
            PartSpec::Car(spec, plug) => {
                let outlet = self.outlet(plug, None);
                Part::Car(Box::new(Car::new(spec, chance, now, outlet)), plug)
            }
            PartSpec::Charger(supply) => Part::Charger(Charger::new(supply, now)),
            PartSpec::Room(spec) => {
                Part::Room(Box::new(Room::new(spec, now, self.weather.outside(now))))
            }
            PartSpec::Solar(spec) => Part::Solar(spec, Course::starting(now)),
            PartSpec::Storage(spec) => Part::Storage(Box::new(Storage::new(spec, now))),
            PartSpec::Meter => {
                Part::Meter { course: Course::starting(now), net: self.net(self.at) }
            }
        }
    }

    /// Instant to which the home was advanced.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        instant_at(self.at)
    }

    /// Advances to the instant `to`, event by event. An instant in the past changes nothing.
    pub fn advance(&mut self, to: DateTime<Utc>) {
        let to = micros_of(to);
        loop {
            let next = self.next();
            if next > to {
                break;
            }
            self.at = next;
            let mut touched = BTreeSet::new();
            while self.pending.first().is_some_and(|pending| pending.at <= next) {
                let pending = self.pending.remove(0);
                self.obey(&pending, &mut touched);
            }
            self.happen(next, touched, next % QUARTER == 0);
        }
        self.at = self.at.max(to);
    }

    fn next(&self) -> i64 {
        let quarter = (self.at / QUARTER + 1) * QUARTER;
        let quarter = if self.is_quarterly { quarter } else { i64::MAX };
        let pending = self.pending.first().map_or(i64::MAX, |pending| pending.at);
        let parts = self.parts.iter().map(Part::next).min().unwrap_or(i64::MAX);
        quarter.min(pending).min(parts)
    }

    /// Schedules a command for a part, which takes effect at `done_at`. A repeated command does
    /// no harm.
    ///
    /// # Errors
    /// A part of this kind does not know the command.
    pub fn tell(
        &mut self,
        part: usize,
        command: Command,
        done_at: DateTime<Utc>,
    ) -> Result<(), Misdirected> {
        let fits = matches!(
            (&command, &self.parts[part]),
            (
                Command::Charge(_) | Command::MaxCurrent(_) | Command::ChargeRateLimit(_),
                Part::Car(..) | Part::Charger(_),
            ) | (Command::OperationMode(_), Part::Storage(_))
                | (Command::FollowSchedule | Command::Hold(_), Part::Room(_))
        );
        if !fits {
            return Err(Misdirected);
        }
        let at = micros_of(done_at).max(self.at);
        let behind = self.pending.partition_point(|pending| pending.at <= at);
        self.pending.insert(behind, Pending { at, part, command });
        Ok(())
    }

    /// Returns true if a command of the part has not yet taken effect.
    #[must_use]
    pub fn is_pending(&self, part: usize) -> bool {
        self.pending.iter().any(|pending| pending.part == part)
    }

    /// Executes all pending commands of a part at once; a car starts to charge without its delay.
    pub fn hasten(&mut self, part: usize) {
        let mut touched = BTreeSet::from([part]);
        let (now, later): (Vec<_>, Vec<_>) =
            self.pending.iter().copied().partition(|pending| pending.part == part);
        self.pending = later;
        for pending in &now {
            self.obey(pending, &mut touched);
        }
        let car = self.car_at(part);
        if let Some(car) = car {
            self.hand_to_car(car, Hand::Ready);
            touched.insert(car);
        }
        self.happen(self.at, touched, false);
    }

    fn hand_to_car(&mut self, index: usize, hand: Hand) {
        let Part::Car(_, plug) = &self.parts[index] else { return };
        let outlet = self.outlet(*plug, Some(index));
        if let Part::Car(car, _) = &mut self.parts[index] {
            car.handle(self.at, hand, outlet);
        }
    }

    /// Executes an action of a person on site at a part. An action that does not apply to the
    /// part has no effect.
    pub fn handle(&mut self, part: usize, hand: Hand) {
        let (at, mut touched) = (self.at, BTreeSet::from([part]));
        let car = self.car_at(part);
        match (&mut self.parts[part], hand) {
            (Part::Car(..), hand) => self.hand_to_car(part, hand),
            (Part::Charger(charger), Hand::Break(state)) => charger.forced = Some(state),
            (Part::Charger(charger), Hand::Repair) => charger.forced = None,
            (Part::Charger(_), hand) => {
                // The car that is plugged in, or else the first car that uses the charger.
                let user = car.or_else(|| self.users(part).next());
                if let Some(user) = user {
                    self.hand_to_car(user, hand);
                    touched.insert(user);
                }
            }
            (Part::Storage(storage), Hand::Fill(soc)) => {
                storage.settle(at, Power::ZERO);
                storage.fill(soc);
            }
            _ => (),
        }
        self.happen(at, touched, false);
    }

    fn obey(&mut self, pending: &Pending, touched: &mut BTreeSet<usize>) {
        let at = self.at;
        touched.insert(pending.part);
        let supply = self.supply_of(pending.part);
        let current = match pending.command {
            Command::MaxCurrent(current) => Some(current),
            Command::ChargeRateLimit(power) => supply.map(|supply| supply.current_of(power)),
            _ => None,
        };
        let car = self.car_at(pending.part);
        match (pending.command, &mut self.parts[pending.part]) {
            (Command::Charge(switch), _) => {
                if let Some(Part::Car(car, _)) = car.map(|car| &mut self.parts[car]) {
                    car.switch(at, switch == Switch::Start);
                }
                touched.extend(car);
            }
            (Command::OperationMode(mode), Part::Storage(storage)) => storage.aim(mode),
            (Command::FollowSchedule, Part::Room(room)) => room.hold(None),
            (Command::Hold(hold), Part::Room(room)) => room.hold(Some(hold)),
            (_, Part::Car(car, _)) => {
                if let Some(current) = current {
                    car.limit_current(at, current);
                }
            }
            (_, Part::Charger(charger)) => charger.limit = current.or(charger.limit),
            _ => (),
        }
    }

    /// Settles the parts that were touched or have an event due at an instant.
    fn happen(&mut self, at: i64, mut touched: BTreeSet<usize>, is_quarter: bool) {
        if is_quarter {
            self.turn_quarter(at);
        }
        // A change at a charger concerns all cars that use it.
        let chargers: Vec<usize> =
            touched.iter().copied().filter(|&part| self.is_charger(part)).collect();
        for charger in chargers {
            touched.extend(self.users(charger).collect::<Vec<_>>());
        }
        let (outside, surplus) =
            (self.weather.outside(instant_at(at - at.rem_euclid(QUARTER))), self.surplus());
        for index in 0..self.parts.len() {
            let is_due = self.parts[index].next() <= at || touched.contains(&index);
            match &self.parts[index] {
                Part::Car(_, plug) if is_due => {
                    let outlet = self.outlet(*plug, Some(index));
                    if let Part::Car(car, _) = &mut self.parts[index] {
                        car.settle(at, outlet);
                    }
                }
                Part::Room(_) | Part::Storage(_) if is_due || is_quarter => {
                    match &mut self.parts[index] {
                        Part::Room(room) => room.settle(at, outside),
                        Part::Storage(storage) => storage.settle(at, surplus),
                        _ => (),
                    }
                }
                _ => (),
            }
        }
        // Chargers copy the flow of their cars, so they follow once the cars are settled.
        self.chargers_follow(at);
        if is_quarter {
            self.read_meters(at);
        }
    }

    /// Sets the power of the household and of the roofs for the quarter that begins.
    fn turn_quarter(&mut self, at: i64) {
        let start = instant_at(at - at.rem_euclid(QUARTER));
        let middle = instant_at(at - at.rem_euclid(QUARTER) + QUARTER / 2);
        if let Some(household) = &self.spec.household {
            let power = household.power(start, &self.weather);
            self.household.change_at(at, Flow::constant(power));
        }
        for part in &mut self.parts {
            if let Part::Solar(spec, course) = part {
                course.change_at(at, Flow::constant(-spec.power(middle, &self.weather)));
            }
        }
    }

    /// Copies the flow of each plugged-in car to the counters of its charger.
    fn chargers_follow(&mut self, at: i64) {
        for index in 0..self.parts.len() {
            let flow = self.car_at(index).map_or(Flow::NONE, |car| match &self.parts[car] {
                Part::Car(car, _) => car.flow(),
                _ => Flow::NONE,
            });
            let since = self.car_at(index).and_then(|car| self.parts[car].changed_at());
            if let Part::Charger(charger) = &mut self.parts[index] {
                charger.follow(at, since, flow);
            }
        }
    }

    fn read_meters(&mut self, at: i64) {
        let total = self.net(at);
        for part in &mut self.parts {
            if let Part::Meter { course, net } = part {
                course.add_at(at, total - *net);
                *net = total;
            }
        }
    }

    /// Net energy of the home: taken minus given.
    fn net(&self, at: i64) -> Energy {
        let counted = |course: &Course| course.counted_at(at).net();
        let parts = self.parts.iter().filter_map(Part::behind_meter).map(counted);
        parts.fold(counted(&self.household), |sum, net| sum + net)
    }

    /// Surplus: power of the roofs minus power of the household.
    fn surplus(&self) -> Power {
        let now = instant_at(self.at);
        let given = self.parts.iter().filter_map(|part| match part {
            Part::Solar(_, course) => Some(-course.power_at(now)),
            _ => None,
        });
        given.fold(-self.household.power_at(now), |sum, power| sum + power)
    }

    fn is_charger(&self, part: usize) -> bool {
        matches!(self.parts[part], Part::Charger(_))
    }

    /// Indices of the cars that use a charger when they are at home.
    fn users(&self, charger: usize) -> impl Iterator<Item = usize> + '_ {
        let numbered = self.parts.iter().enumerate();
        let uses =
            move |part: &Part| matches!(part, Part::Car(_, plug) if plug.charger == Some(charger));
        numbered.filter(move |(_, part)| uses(part)).map(|(index, _)| index)
    }

    /// Index of the car itself, or of the car that is plugged in at a charger.
    fn car_at(&self, part: usize) -> Option<usize> {
        let is_plugged_in =
            |&index: &usize| matches!(&self.parts[index], Part::Car(car, _) if car.is_plugged_in());
        match &self.parts[part] {
            Part::Car(..) => Some(part),
            Part::Charger(_) => self.users(part).find(is_plugged_in),
            _ => None,
        }
    }

    /// The charger of a car that is plugged in there.
    #[must_use]
    pub fn charger_of(&self, car: usize) -> Option<usize> {
        match &self.parts[car] {
            Part::Car(state, plug) if state.is_plugged_in() => plug.charger,
            _ => None,
        }
    }

    /// Returns true if a car sleeps at the instant to which the home was advanced.
    #[must_use]
    pub fn is_asleep(&self, car: usize) -> bool {
        matches!(&self.parts[car], Part::Car(car, _) if car.is_asleep(self.at))
    }

    /// The car that is plugged in at a charger.
    #[must_use]
    pub fn car_of(&self, charger: usize) -> Option<usize> {
        self.is_charger(charger).then(|| self.car_at(charger)).flatten()
    }

    fn supply_of(&self, part: usize) -> Option<Supply> {
        match &self.parts[part] {
            Part::Car(_, plug) => Some(self.outlet(*plug, Some(part)).supply),
            Part::Charger(charger) => Some(charger.supply),
            _ => None,
        }
    }

    fn outlet(&self, plug: Plug, car: Option<usize>) -> Outlet {
        let Some(Part::Charger(charger)) = plug.charger.and_then(|index| self.parts.get(index))
        else {
            return Outlet { supply: plug.socket, is_live: true, is_free: true };
        };
        let other = plug.charger.and_then(|index| self.car_at(index));
        Outlet {
            supply: charger.limited(),
            is_live: charger.forced.is_none(),
            is_free: other.is_none() || other == car,
        }
    }

    /// Observable state of a part at the instant to which the home was advanced.
    #[must_use]
    pub fn view(&self, part: usize) -> PartView {
        let now = instant_at(self.at);
        match &self.parts[part] {
            Part::Car(car, _) => PartView::Car(car.view(now)),
            Part::Charger(charger) => {
                let car = self.car_at(part).map(|car| self.car_view(car));
                PartView::Charger(charger_view(charger, car))
            }
            Part::Room(room) => PartView::Room(room.view(now)),
            Part::Solar(_, course) => PartView::Solar(-course.power_at(now)),
            Part::Storage(storage) => PartView::Storage(storage.view(now)),
            Part::Meter { .. } => PartView::Meter(self.power_now()),
        }
    }

    fn car_view(&self, index: usize) -> CarView {
        match &self.parts[index] {
            Part::Car(car, _) => car.view(instant_at(self.at)),
            _ => unreachable!("only cars are plugged in"),
        }
    }

    fn power_now(&self) -> Power {
        let now = instant_at(self.at);
        let powers = self.parts.iter().filter_map(Part::behind_meter).map(|c| c.power_at(now));
        powers.fold(self.household.power_at(now), |sum, power| sum + power)
    }

    /// Counters of a part at an instant, which may lie in the past.
    #[must_use]
    pub fn counters(&self, part: usize, at: DateTime<Utc>) -> Counted {
        self.parts[part].course().counters_at(at.min(instant_at(self.at)))
    }

    /// Supply of a car's outlet, which converts power limits to currents.
    #[must_use]
    pub fn outlet_of(&self, car: usize) -> Option<Supply> {
        self.supply_of(car)
    }
}

fn charger_view(charger: &Charger, car: Option<CarView>) -> ChargerView {
    let shown = car.map(|car| car.power_state.at_charger());
    let forced = shown.and(charger.forced);
    ChargerView {
        power_state: forced.or(shown).unwrap_or(PowerState::Unplugged),
        power: car.map_or(Power::ZERO, |car| car.power),
        minutes_left: car.and_then(|car| car.minutes_left),
        limit: charger.limit.unwrap_or(charger.supply.current_max),
        supply: charger.supply,
    }
}

#[cfg(test)]
mod tests;

//! The parts of a home.
use chrono::{DateTime, Utc};

use crate::car::{Car, CarSpec, CarView};
use crate::flow::{Course, Flow};
use crate::room::{Room, RoomSpec, RoomView};
use crate::storage::{Storage, StorageSpec, StorageView};
use crate::sun::SolarSpec;
use crate::supply::Supply;
use slackwater_engine::device::power_state::PowerState;
use slackwater_engine::units::{Current, Energy, Power};

/// Where a car is plugged in at home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plug {
    /// Number of the charger; `None` is a socket.
    pub charger: Option<usize>,
    /// What the socket gives.
    pub socket: Supply,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub enum PartSpec {
    /// A car, and where it is plugged in.
    Car(CarSpec, Plug),
    /// A charger.
    Charger(Supply),
    /// A heated or cooled room.
    Room(RoomSpec),
    /// A solar roof.
    Solar(SolarSpec),
    /// A home battery.
    Storage(StorageSpec),
    /// The meter of the home.
    Meter,
}

/// What a part shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartView {
    /// A car.
    Car(CarView),
    /// A charger.
    Charger(ChargerView),
    /// A heated or cooled room.
    Room(RoomView),
    /// What a solar roof gives, as a positive number.
    Solar(Power),
    /// A home battery.
    Storage(StorageView),
    /// What the home takes now.
    Meter(Power),
}

/// What a charger shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChargerView {
    /// Where the delivery of power stands.
    pub power_state: PowerState,
    /// Power now.
    pub power: Power,
    /// Minutes until the car stops by itself, while it charges.
    pub minutes_left: Option<f64>,
    /// Its limit of the current.
    pub limit: Current,
    /// What it gives.
    pub supply: Supply,
}

/// A charger.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Charger {
    pub(crate) supply: Supply,
    pub(crate) limit: Option<Current>,
    pub(crate) forced: Option<PowerState>,
    course: Course,
    /// When the flow that it follows began.
    followed: Option<i64>,
}

impl Charger {
    pub(crate) fn new(supply: Supply, at: DateTime<Utc>) -> Self {
        Self { supply, limit: None, forced: None, course: Course::starting(at), followed: None }
    }

    /// What it gives under its own limit.
    pub(crate) fn limited(&self) -> Supply {
        let limit =
            self.limit.map_or(self.supply.current_max, |limit| limit.min(self.supply.current_max));
        Supply { current_max: limit, ..self.supply }
    }

    /// Counts what flows into its car. A flow that was followed before goes on.
    pub(crate) fn follow(&mut self, at: i64, since: Option<i64>, flow: Flow) {
        if self.followed != since || since.is_none() {
            self.course.change_at(at, flow);
            self.followed = since;
        }
    }
}

/// A part as it runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Car(Box<Car>, Plug),
    Charger(Charger),
    Room(Box<Room>),
    Solar(SolarSpec, Course),
    Storage(Box<Storage>),
    Meter {
        course: Course,
        /// What the home had taken less given when the registers last moved.
        net: Energy,
    },
}

impl Part {
    /// When something happens by itself next.
    pub(crate) fn next(&self) -> i64 {
        match self {
            Self::Car(car, _) => car.next(),
            Self::Room(room) => room.next(),
            Self::Storage(storage) => storage.next(),
            Self::Charger(_) | Self::Solar(..) | Self::Meter { .. } => i64::MAX,
        }
    }

    /// Whether it changes with each quarter of an hour.
    pub(crate) const fn is_quarterly(&self) -> bool {
        !matches!(self, Self::Car(..) | Self::Charger(_))
    }

    pub(crate) fn course(&self) -> &Course {
        match self {
            Self::Car(car, _) => car.course(),
            Self::Charger(charger) => &charger.course,
            Self::Room(room) => room.course(),
            Self::Storage(storage) => storage.course(),
            Self::Solar(_, course) | Self::Meter { course, .. } => course,
        }
    }

    /// What the meter of the home counts of it: a charger's energy is its
    /// car's, and the meter does not count itself.
    pub(crate) fn behind_meter(&self) -> Option<&Course> {
        match self {
            Self::Charger(_) | Self::Meter { .. } => None,
            _ => Some(self.course()),
        }
    }

    /// When what flows last changed, of a car.
    pub(crate) fn changed_at(&self) -> Option<i64> {
        match self {
            Self::Car(car, _) => Some(car.since()),
            _ => None,
        }
    }
}

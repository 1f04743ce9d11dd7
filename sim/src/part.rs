//! Parts of a home: their specification, state and observable values.
use chrono::{DateTime, Utc};

use crate::car::{Car, CarSpec, CarView};
use crate::flow::{Course, Flow};
use crate::room::{Room, RoomSpec, RoomView};
use crate::storage::{Storage, StorageSpec, StorageView};
use crate::sun::SolarSpec;
use crate::supply::Supply;
use slackwater_control::device::power_state::PowerState;
use slackwater_engine::units::{Current, Energy, Power};

/// Plug of a car at home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plug {
    /// Number of the charger; `None` is a socket.
    pub charger: Option<usize>,
    /// Supply of the socket.
    pub socket: Supply,
}

/// Specification of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum PartSpec {
    /// A car and its plug.
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

/// Observable state of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartView {
    /// A car.
    Car(CarView),
    /// A charger.
    Charger(ChargerView),
    /// A heated or cooled room.
    Room(RoomView),
    /// Power of a solar roof, as a positive number.
    Solar(Power),
    /// A home battery.
    Storage(StorageView),
    /// Present net power of the home; positive is taken.
    Meter(Power),
}

/// Observable state of a charger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChargerView {
    /// State of power delivery.
    pub power_state: PowerState,
    /// Power now.
    pub power: Power,
    /// Minutes until the car stops by itself, while it charges.
    pub minutes_left: Option<f64>,
    /// Current limit of the charger.
    pub limit: Current,
    /// Supply of the charger.
    pub supply: Supply,
}

/// State of a charger.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Charger {
    pub(crate) supply: Supply,
    pub(crate) limit: Option<Current>,
    pub(crate) forced: Option<PowerState>,
    course: Course,
    /// Time at which the copied flow began.
    followed: Option<i64>,
}

impl Charger {
    pub(crate) fn new(supply: Supply, at: DateTime<Utc>) -> Self {
        Self { supply, limit: None, forced: None, course: Course::starting(at), followed: None }
    }

    /// Supply under the charger's own limit.
    pub(crate) fn limited(&self) -> Supply {
        let limit =
            self.limit.map_or(self.supply.current_max, |limit| limit.min(self.supply.current_max));
        Supply { current_max: limit, ..self.supply }
    }

    /// Counts the flow into its car. A flow that is already followed continues.
    pub(crate) fn follow(&mut self, at: i64, since: Option<i64>, flow: Flow) {
        if self.followed != since || since.is_none() {
            self.course.change_at(at, flow);
            self.followed = since;
        }
    }
}

/// State of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Car(Box<Car>, Plug),
    Charger(Charger),
    Room(Box<Room>),
    Solar(SolarSpec, Course),
    Storage(Box<Storage>),
    Meter {
        course: Course,
        /// Net energy of the home (taken minus given) at the last step of the registers.
        net: Energy,
    },
}

impl Part {
    /// Time of the part's next event, in microseconds; `i64::MAX` if there is none.
    pub(crate) fn next(&self) -> i64 {
        match self {
            Self::Car(car, _) => car.next(),
            Self::Room(room) => room.next(),
            Self::Storage(storage) => storage.next(),
            Self::Charger(_) | Self::Solar(..) | Self::Meter { .. } => i64::MAX,
        }
    }

    /// Returns true if the part changes with each quarter of an hour.
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

    /// Course that the home's meter counts for this part. `None` for a charger, whose energy is
    /// its car's, and for the meter itself.
    pub(crate) fn behind_meter(&self) -> Option<&Course> {
        match self {
            Self::Charger(_) | Self::Meter { .. } => None,
            _ => Some(self.course()),
        }
    }

    /// Time of the last change of flow of a car; `None` for other parts.
    pub(crate) fn changed_at(&self) -> Option<i64> {
        match self {
            Self::Car(car, _) => Some(car.since()),
            _ => None,
        }
    }
}

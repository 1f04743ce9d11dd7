//! Event-driven simulation of homes with cars, chargers, batteries and heating, for sandboxes and
//! tests.
//!
//! # State
//!
//! A [`home::Home`] has an instant, parts, a household and pending commands. Each part has a
//! course: energy counters and a flow since the last event. A flow is constant or decays:
//!
//! ```text
//! P(t) = P0·exp(-k·t)
//! E(t) = P0·(1 - exp(-k·t)) / k          (P0·t for k = 0)
//! t(E) = -ln(1 - k·E / P0) / k           (E / P0 for k = 0)
//! ```
//!
//! | Symbol | Meaning | Code |
//! |---|---|---|
//! | `P0` | power at the last event, kW; positive is taken | `flow::Flow::power` |
//! | `k` | rate of decay, per hour | `flow::Flow::decay_per_hour` |
//! | `E(t)` | energy since the last event, kWh | `flow::Flow::energy_after` |
//! | `t(E)` | time until an energy has flowed, hours | `flow::Flow::hours_for` |
//!
//! # Events and steps
//!
//! [`home::Home::advance`] repeats one step until the next event is later than the target instant.
//! The next event is the earliest of the next quarter of an hour (if a part depends on it), the
//! first pending command and the next event of each part. A step executes the commands that are
//! due, settles the parts concerned, and at a quarter of an hour updates the household, the roofs
//! and the meters. The number of steps depends on events, not on the length of time, and the
//! result does not depend on the instants at which `advance` is called. The crate has no clock and
//! contains nothing specific to a manufacturer.
//!
//! # Modules
//!
//! | Module | Contents |
//! |---|---|
//! | [`chance`] | pseudo-random draws, each a function of a seed and its subject |
//! | [`flow`] | power and energy between events; counters |
//! | [`supply`] | phases, volts and amperes of an outlet |
//! | [`taper`] | charging curve of a battery |
//! | [`trips`] | absences of a car |
//! | [`bounds`] | limits of the numbers in a car's specification |
//! | [`car`] | a car: battery, plug, trips |
//! | [`sun`] | power of a solar roof |
//! | [`weather`] | clouds, and the temperature outside |
//! | [`load`] | household load |
//! | [`part`] | parts of a home |
//! | [`room`] | a heated or cooled room with its thermostat |
//! | [`storage`] | a home battery in its modes |
//! | [`home`] | all parts behind one meter |
pub mod bounds;
pub mod car;
pub mod chance;
pub mod flow;
pub mod home;
pub mod load;
pub mod part;
pub mod room;
pub mod storage;
pub mod sun;
pub mod supply;
pub mod taper;
pub mod trips;
pub mod weather;

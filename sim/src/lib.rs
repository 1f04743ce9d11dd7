//! Homes that behave like real ones, for sandboxes and tests.
//!
//! Nothing here knows a manufacturer or a clock: a [`home::Home`] is told how
//! far to go on, and steps from event to event. Between two events each power
//! is constant or falls exponentially, so that energy is a formula and a home
//! in which nothing happens costs nothing, however long.
//!
//! | Module | Simulates |
//! |---|---|
//! | [`chance`] | what looks random: a function of a seed and of what is asked |
//! | [`flow`] | power and energy between events; counters |
//! | [`supply`] | phases, volts and amperes of an outlet |
//! | [`taper`] | the charging of a battery, slower towards its end |
//! | [`trips`] | when a car is away |
//! | [`bounds`] | of which numbers a car can be made |
//! | [`car`] | a car: battery, plug, trips |
//! | [`sun`] | what a solar roof gives |
//! | [`weather`] | clouds, and the temperature outside |
//! | [`load`] | what a household takes |
//! | [`part`] | what a home is made of |
//! | [`room`] | a heated or cooled room with its thermostat |
//! | [`storage`] | a home battery in its modes |
//! | [`home`] | all of it behind one meter |
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

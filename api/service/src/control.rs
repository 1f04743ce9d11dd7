//! What devices are told, and who decides it.
//!
//! A command becomes an [action](actions) in the change in which it is asked
//! for, and is pursued afterwards until the device does what it was told or
//! there is no hope of it. Schedules and plans ask by the same way as clients.
//! Everything that is decided (whether a command is taken, what to do next about
//! an action, who is in charge, what they want) is decided in the engine, from
//! facts that are gathered here.
//!
//! | File | Does |
//! |---|---|
//! | [`facts`] | gathers what the engine decides on |
//! | [`orders`] | the one way in which a command becomes an action |
//! | [`actions`] | beginnings and ends of actions, with all that follows, in a change |
//! | [`agenda`] | a queue of due times: which device to look at, and when |
//! | [`pursuit`] | one turn of one pending action |
//! | [`steering`] | one look at what schedules and plans want of devices |
//! | [`overrides`], [`schedules`] | what their routes do |
//! | [`job`] | takes from the agenda for as long as the service runs |

pub mod actions;
pub mod agenda;
pub mod body;
pub mod facts;
pub mod job;
pub mod orders;
pub mod overrides;
pub mod pursuit;
pub mod schedules;
pub mod steering;

pub use agenda::look_again;
pub use orders::{OrderError, order};
pub use slackwater_store::actions::{Action, Origin};

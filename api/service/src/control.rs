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
//! | [`observed`] | readings of devices with a pending action or an active override |
//! | [`overrides`] | smart overrides: made and ended |

pub mod actions;
pub mod body;
pub mod facts;
pub mod observed;
pub mod orders;
pub mod overrides;

//! Control of devices: commands, actions and smart overrides.
//!
//! A command becomes an [action](actions) in the change that orders it, and is pursued afterwards
//! (`steering`) until the device obeys or cannot obey. Schedules and plans order commands in the
//! same way as clients. The crate `slackwater-control` decides whether a command is accepted, the
//! next step of an action and the controller of a device, from facts that are collected here.
//!
//! | File | Holds |
//! |---|---|
//! | [`facts`] | facts about a device, for a decision |
//! | [`orders`] | the one way in which a command becomes an action |
//! | [`actions`] | beginnings and ends of actions, with their consequences, in a change |
//! | [`body`] | action as JSON |
//! | [`observed`] | readings of devices with a pending action or an active override |
//! | [`overrides`] | beginnings and ends of smart overrides |

pub mod actions;
pub mod body;
pub mod facts;
pub mod observed;
pub mod orders;
pub mod overrides;

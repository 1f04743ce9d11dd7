//! Plans of a user's devices in Home Assistant, and "charge now" from there, by a broker of MQTT.
//!
//! Home Assistant finds the devices by its *MQTT discovery*: a retained message for each entity
//! tells where its state is and where it takes commands.
//!
//! | Module | Holds |
//! |---|---|
//! | [`topics`] | topics at the broker |
//! | [`view`] | devices and their plans, as they are read from the service |
//! | [`discovery`], [`state`] | a device as entities, and their state; pure functions |
//! | [`retained`] | messages that the broker has, and what changes |
//! | [`bridge`] | connection to the broker, made anew whenever it ends; commands |

pub mod bridge;
pub mod discovery;
pub mod retained;
pub mod state;
pub mod topics;
pub mod view;

//! Who may ask: clients, their secrets and tokens, and how often they may.

pub mod budget;
pub mod caller;
pub mod gate;
pub mod peer;
pub mod secret;
pub mod throttle;
pub mod token;

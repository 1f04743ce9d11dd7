//! State of one charge point, as a value that messages and time change. It knows neither sockets
//! nor clocks nor versions of the protocol.

pub mod balance_state;
pub mod balanced;
pub mod clock;
pub mod connector;
pub mod identification;
pub mod limit_state;
pub mod limits;
pub mod orders;
pub mod overview;
pub mod receive;
pub mod register;
pub mod setup;
pub mod show;
pub mod state;
pub mod transactions;
pub mod trial_state;
pub mod trials;

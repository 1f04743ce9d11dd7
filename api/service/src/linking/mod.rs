//! Linking of users' devices: sessions, log-ins at manufacturers, accounts and devices.
//!
//! The pages of the link address and the operators' command share all of it.
//!
//! | File | Holds |
//! |---|---|
//! | [`session`] | link session, and the steps of a user in it |
//! | [`authorization`] | log-in at a manufacturer's own page |
//! | [`flow`] | log-in, acceptance and refusal within a session |
//! | `renewal` | tokens of accounts, renewed before they expire |
//! | [`connect`] | accounts and devices of users: made and ended |
//! | [`ending`] | address to which the browser returns, with a failure |

pub mod authorization;
pub mod connect;
pub mod ending;
pub mod flow;
pub(crate) mod renewal;
pub mod session;

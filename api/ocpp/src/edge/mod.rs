//! Edge to the world: files, sockets, secrets and the clock. What it does with messages is decided
//! in [`session`](crate::session) and [`station`](crate::station).

pub mod balancing;
pub mod clock;
pub mod connection;
pub mod enrolment;
pub mod files;
pub mod handshake;
pub mod hub;
pub mod listener;
mod news;
pub mod operator;
pub mod point;
pub mod secret;
pub mod tls;
pub mod upstream;

//! Exchanges with charge points, without sockets and clock: texts in, texts out.

mod complaints;
mod limits;
mod messages;
mod properties;
mod rig;
mod setup;

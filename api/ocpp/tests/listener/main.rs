//! The integration over real sockets: its contract, its security profiles, its files.

mod contract;
mod point;
mod security;

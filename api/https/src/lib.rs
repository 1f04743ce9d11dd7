//! Client of HTTP and TLS for requests to other servers. It decides nothing.
//!
//! | File | Holds |
//! |---|---|
//! | `client` | connections that trust what the system or an authority of their own trusts |
//! | `failure` | failures of requests in words for operators |
pub mod client;
pub mod failure;

//! Representation of data at the edges: words, pages of lists and dated versions of the HTTP
//! interface, and replies of publishers of prices.
//!
//! This crate has pure functions without an HTTP framework, so that the service and the Python
//! package give the same results. Decisions about charging are made in the engine.
//!
//! | Module | Holds |
//! |---|---|
//! | [`market`] | replies of publishers of market prices, read into prices |
//! | [`page`] | pages of a list that may change between two requests |
//! | [`version`] | fields and life cycle of each dated version of the interface |
//! | [`words`] | names of the engine's states in the interface |
pub mod market;
pub mod page;
pub mod version;
pub mod words;

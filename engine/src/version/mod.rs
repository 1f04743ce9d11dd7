//! What each dated version of the service's interface has, as tables.
//!
//! The engine knows what exists; how it is spelled on the wire is the service's affair.
pub mod dated;
pub mod field;
pub mod lifecycle;

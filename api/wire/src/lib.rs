//! What clients of the HTTP interface see: words, pages of lists, and dated versions.
//!
//! Everything here is a pure function without an HTTP framework, so that the
//! service and the Python package give the same answers. Nothing here decides
//! about charging: that is the engine's affair.
//!
//! | Module | Holds |
//! |---|---|
//! | [`page`] | pages of a list that others change meanwhile |
//! | [`version`] | what each dated version of the interface has |
//! | [`words`] | the words of the interface for what the engine decides |
pub mod page;
pub mod version;
pub mod words;

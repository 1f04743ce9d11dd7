//! Replies of publishers of market prices: their texts become rows, and the engine's importers decide
//! what the rows mean.
//!
//! Both edges read a shape here: the service for its price feeds, the Python package for
//! `slackwater.io`. A reply comes from a stranger, so that a text of any form is an error and never a
//! panic, and takes memory in proportion to its length.
//!
//! | Module | Holds |
//! |---|---|
//! | [`reply`] | what all replies share: their prices, their errors, times |
//! | [`entsoe`] | the XML of the transparency platform of ENTSO-E |
//! | [`nordpool`] | the JSON of the data portal of Nord Pool |
pub mod entsoe;
pub mod nordpool;
pub mod reply;

//! Integration of devices: what a manufacturer's service looks like to Slackwater.
//!
//! Implement [`Vendor`](vendor::Vendor) to connect devices of your own, register it under a type
//! in a [`Registry`](registry::Registry), and hand that to the program `slackwater-server`. The
//! service logs owners in, polls and commands through the trait, and knows nothing else of a
//! manufacturer. [`testing`] checks any implementation against the contract.
//!
//! | File | Holds |
//! |---|---|
//! | [`vendor`] | trait of an integration, with its arguments and results |
//! | [`profile`] | facts about a manufacturer that need no call |
//! | [`reading`] | all facts that a device may report |
//! | [`error`] | failures of a call |
//! | [`registry`] | types of integration, opened from settings |
//! | [`testing`] | contract test of an implementation |

pub mod error;
pub mod profile;
pub mod reading;
pub mod registry;
pub mod testing;
pub mod vendor;

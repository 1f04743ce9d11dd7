//! Integration of devices: the interface between the service and a manufacturer.
//!
//! Implement [`Vendor`](vendor::Vendor) to connect devices of your own, register the implementation
//! under a type in a [`Registry`](registry::Registry), and pass that to `process::run` of the crate
//! `slackwater-server`. The service logs owners in, polls devices and sends commands through this
//! trait, and has no other knowledge of a manufacturer. [`testing`] checks any implementation
//! against the contract.
//!
//! Structs that the service passes to an integration, and errors of this crate, may get new members:
//! they are `#[non_exhaustive]`. Values that an integration returns are not. Write readings with
//! `..Default::default()` where a struct has it, and a new fact is `None` until you report it.
//! [`VendorError`](error::VendorError) has no such mark either, so that the service cannot compile
//! before a new failure is judged.
//!
//! | File | Holds |
//! |---|---|
//! | [`vendor`] | trait of an integration, with its arguments and results |
//! | [`authorization`] | log-in at the manufacturer's own page, by OAuth 2.0 |
//! | [`profile`] | facts about a manufacturer that need no call |
//! | [`news`] | devices with news, in place of waiting for the next poll |
//! | [`reading`] | all facts that a device may report |
//! | [`error`] | failures of a call |
//! | [`registry`] | types of integration, opened from settings |
//! | [`testing`] | contract test of an implementation |

pub mod authorization;
pub mod error;
pub mod news;
pub mod profile;
pub mod reading;
pub mod registry;
pub mod testing;
pub mod vendor;

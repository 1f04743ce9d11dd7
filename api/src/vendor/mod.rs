//! What a manufacturer's service looks like from here.
//!
//! [`integration::Vendor`] is the whole border: the service polls, commands and
//! logs in through it and knows nothing else of a manufacturer. An integration
//! of a real one implements the same trait as the simulated ones of the sandbox.
//!
//! | File | Holds |
//! |---|---|
//! | [`integration`] | the trait, with what it takes and gives back |
//! | [`profile`] | what is known of a manufacturer beforehand |
//! | [`reading`] | all facts that a device may report |
//! | [`error`] | what may go wrong on the way |

pub mod error;
pub mod integration;
pub mod profile;
pub mod reading;

//! From what happened to those who want to know.
//!
//! What happens is kept in the change in which it happens (`store::events`).
//! From there it goes to whoever asks on the operators' side, and to receivers
//! that an operator subscribed. The specification does not print what is posted
//! to a receiver: its body is the operator's template, and without one nothing
//! is posted.
//!
//! A receiver gets events one at a time and in order, each at least once. The
//! row of its subscription is leased while a process posts, so that of several
//! replicas one does; after a crash the lease ends, and what was not confirmed
//! is posted again under the same identifier. A receiver that is dead delays
//! nobody but itself.
//!
//! | File | Holds |
//! |---|---|
//! | [`names`] | which events there are for operators only |
//! | [`changes`] | what a read of a device changed |
//! | [`subscribing`] | what makes a subscription |
//! | [`post`] | one request to a receiver |
//! | [`poster`] | who gets what, and when again |
//! | [`lines`] | events as operators read them |

pub mod changes;
pub mod lines;
pub mod names;
pub mod post;
pub mod poster;
pub mod subscribing;

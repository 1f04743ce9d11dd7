//! Outbox: delivery of events to operators and to subscribed receivers.
//!
//! An event is stored in the change that causes it ([`slackwater_store::events`]). Operators read
//! all events; receivers that an operator subscribed get them as webhooks. The specification does
//! not print the body of a webhook: it is the operator's template, and without a template nothing
//! is posted.
//!
//! A receiver gets events one at a time and in order, each at least once. A process leases the row
//! of the subscription while it posts, so that one of several replicas posts. After a crash the
//! lease expires, and unconfirmed events are posted again with the same identifiers. A receiver
//! that does not answer delays only itself.
//!
//! | File | Holds |
//! |---|---|
//! | [`names`] | names of events that only operators see |
//! | [`changes`] | events about differences between two readings of a device |
//! | [`subscribing`] | new subscriptions, and their validation |
//! | [`post`] | one request to a receiver |
//! | [`dispatcher`] | worker that posts due events and schedules attempts |
//! | [`lines`] | events as JSON lines for operators |

pub mod changes;
pub mod dispatcher;
pub mod lines;
pub mod names;
pub mod post;
pub mod subscribing;

//! What the process does for each command.

pub(crate) mod client;
pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod link;
pub(crate) mod sandbox;
pub(crate) mod serve;

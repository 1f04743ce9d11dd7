//! Authentication of clients by secrets and tokens, and limits of their requests.

pub mod budget;
pub mod secret;
pub mod throttle;
pub mod token;

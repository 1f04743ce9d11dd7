//! Authentication of a request, and its caller.

pub mod caller;
pub mod gate;

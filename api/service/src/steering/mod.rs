//! Worker that pursues actions and steers devices.
//!
//! | File | Holds |
//! |---|---|
//! | [`job`] | worker of the queue of orders |
//! | [`pursuit`] | one step of a pending action: read, then end it, send the command, or wait |
//! | [`schedules`] | status of schedules after a change |
//! | [`evaluate`] | evaluation of the controls of a device, and the action that follows |
//! | [`mod@unit`] | the same for a heating or cooling unit under a comfort policy |

pub mod evaluate;
pub mod job;
pub mod pursuit;
pub mod schedules;
pub mod unit;

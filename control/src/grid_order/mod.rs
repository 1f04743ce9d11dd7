//! Orders of grid operators: an upper limit of the power drawn from the grid, for a site or an area.
//!
//! The sources differ (a control box by EEBUS, an event of `OpenADR`, a contact, a file), the order is
//! one: a limit, its end, and a heartbeat that shows that the sender is alive.
//!
//! | File | Content |
//! |---|---|
//! | [`limit`] | the limit in force after orders, heartbeats and silence |
//! | [`schedule`] | the order in force out of limits with priorities that are known beforehand |
//! | [`dimming`] | the least power of several devices by section 14a of the German energy act |
//!
//! The limit is on the power drawn from the grid: power of solar panels and batteries comes on top.
//! [`balance`](crate::load_balancing::balance) divides it over charge points.
pub mod dimming;
pub mod limit;
pub mod schedule;

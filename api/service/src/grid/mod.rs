//! Orders of grid operators: taken from their senders, kept, and put in force.
//!
//! | File | Content |
//! |---|---|
//! | [`orders`] | messages of senders, and the limit in force as time passes |
//! | [`order_file`] | the file that another program writes |
//! | [`recording`] | evidence of what was ordered, limited and measured |
//! | [`describing`] | senders as operators see them |
//!
//! The rules are those of `slackwater_control::grid_order`. An area follows the lower one of its own
//! limit and that of the grid, in [`AreaLimits`](crate::cache::limits::AreaLimits); an integration is
//! told the limit of its site by `Vendor::follow_grid_limit`.
pub mod describing;
pub mod order_file;
pub mod orders;
pub mod recording;

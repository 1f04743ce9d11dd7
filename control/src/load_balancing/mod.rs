//! Load balancing of a site: from meter values to limits of its charge points, such that the fuse
//! holds under lost messages, reboots, partitions, and the death of the controller.
//!
//! | File | Content |
//! |---|---|
//! | [`ledger`] | limits that a charge point may hold, from what was sent and what was answered |
//! | [`balance`] | the limits to send now |
//!
//! With `may_i(t)` the highest current that charge point `i` may draw at `t` by its ledger, `base_p` the
//! other load of phase `p`, and `fuse_p` its fuse, a limit is sent only if afterwards
//!
//! ```text
//! base_p(t) + sum of may_i(t) over the charge points on p  <=  fuse_p
//! ```
//!
//! A raise counts from the moment it is sent, a reduction from the moment it is answered. Since every
//! limit expires, `may_i` falls by itself: no message is needed for the fuse to hold.
//! `docs/safe-limits.md` has the argument in full.
pub mod balance;
pub mod ledger;
#[cfg(test)]
mod tests;

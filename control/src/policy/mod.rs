//! Policies for charging and comfort, and their conversion into requests for plans.
pub mod ask;
pub mod assumptions;
pub mod charger;
pub mod comfort;
pub mod comfort_move;
pub mod cycle;
pub mod flex;
pub mod flex_facts;
pub mod flex_issue;
pub mod flex_status;
pub mod need;
pub mod switch;
pub mod vehicle;

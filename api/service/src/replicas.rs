//! What other replicas have changed, taken into memory.
//!
//! Reads are answered from tables in memory, which the process that changes
//! something changes after its commit. The others learn of it by a note of
//! PostgreSQL ([`slackwater_store::notes`]), read the rows again that it names, many
//! at once, and put them in the place of what they had. They do so in the writer's
//! turn, so that nothing older takes the place of what this process writes
//! meanwhile, and without an event: those were written with the change.
//!
//! | File | Does |
//! |---|---|
//! | [`following`] | hears the notes, gathers them, and looks at everything after a loss |
//! | [`rows`] | reads the rows of what was noted |
//! | [`learning`] | puts them into memory |
//! | [`telling`] | tells the jobs of this process |

pub mod following;
pub mod learning;
pub mod rows;
pub mod telling;

pub use following::{Replicas, run};

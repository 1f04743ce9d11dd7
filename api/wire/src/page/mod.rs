//! Pages of a list, newest first, that others add to and delete from meanwhile.
pub mod cursor;
pub mod list;

//! Pages of a list, newest first, whose items may be added and deleted between two requests.
pub mod cursor;
pub mod list;

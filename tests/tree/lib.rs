//! Nothing lives here: the tests of this crate are its targets.

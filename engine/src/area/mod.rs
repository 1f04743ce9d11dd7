//! Many vehicles at once.
pub mod answers;
pub mod batch;
pub mod fleet;
pub mod storage;

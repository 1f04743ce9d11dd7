//! Dated versions of the service's interface: fields, life cycle, operation modes and records.
pub mod dated;
pub mod field;
pub mod lifecycle;
pub mod operation_mode;
pub mod shape;

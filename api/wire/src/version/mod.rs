//! Tables of what each dated version of the service's interface has.
pub mod dated;
pub mod field;
pub mod lifecycle;
pub mod operation_mode;
pub mod shape;

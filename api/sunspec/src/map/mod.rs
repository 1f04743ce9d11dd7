//! Registers of a device and their meaning: pure functions.
//!
//! Layouts and rules are those of the SunSpec Alliance: *SunSpec Device Information Model
//! Specification*, and the definitions of its models (`json/model_*.json` of
//! <https://github.com/sunspec/models>). Offsets count registers from the identifier of a model,
//! as those definitions do.

pub mod chain;
pub mod control;
pub mod facts;
pub mod points;

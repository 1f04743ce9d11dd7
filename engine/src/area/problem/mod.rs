//! Problem of an area as its caller gives it: vehicles, nodes and limits, checked.
pub(crate) mod area_problem;
pub(crate) mod doubts;
pub(crate) mod fingerprint;
pub(crate) mod heat_units;
pub(crate) mod limits;
pub(crate) mod micro_wh;
pub(crate) mod options;

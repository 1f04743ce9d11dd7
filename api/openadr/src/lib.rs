//! Limits of `OpenADR` 3 events as orders of a grid operator.
//!
//! The program is a virtual end node (VEN): it asks a virtual top node (VTN) for the events of a
//! program, and tells the service by its operators' address which limit holds.
//!
//! | File | Holds |
//! |---|---|
//! | `settings` | arguments of the program, checked |
//! | `event` | events as a VTN sends them, of `OpenADR` 3.0 and 3.1 |
//! | `duration` | durations of ISO 8601 |
//! | `limits` | pure function from an event to limits with start, end and priority |
//! | `vtn` | access tokens, and the events of a program page by page |
//! | `follow` | one turn: ask the VTN, decide, tell the service |
//! | `main` | log, clock and signals |
//!
//! Requests to both servers are made by `slackwater-grid-client`. The limit at an instant is decided by
//! `slackwater_control::grid_order::schedule`.
pub mod duration;
pub mod event;
pub mod follow;
pub mod limits;
pub mod settings;
pub mod vtn;

//! Answers to the optimiser contract of evcc, whose OpenAPI file is in
//! `github.com/evcc-io/optimizer` (MIT licence).
//!
//! | File | Holds |
//! |---|---|
//! | `answer` | pure function from the body of a request to that of its answer |
//! | `routes` | the two paths of the contract |
//! | `main` | arguments, logs and the socket |
//!
//! The plan is made by `slackwater_engine::plan::evcc`.
pub mod answer;
pub mod routes;

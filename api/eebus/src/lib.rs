//! Limits of an EEBUS control box as orders of a grid operator.
//!
//! The program is the controllable system of the use case *Limitation of Power Consumption* (LPC): a
//! control box, the energy guard, connects by SHIP over TLS, and the program tells the service by its
//! operators' address what the box ordered. SHIP, SPINE and the state machine of LPC are those of the
//! crate `eebus`.
//!
//! | File | Holds |
//! |---|---|
//! | `settings` | arguments of the program, checked |
//! | `identity` | the private key in its file, and the SKI that follows from it |
//! | `limits` | pure functions: from a limit of the box to a message, and its fail-safe values |
//! | `wanted` | state that the service must have, and the loop that makes it so |
//! | `system` | the connection to the box: limits, heartbeats and fail-safe values |
//! | `main` | log, clock and signals |
pub mod identity;
pub mod limits;
pub mod settings;
pub mod system;
pub mod wanted;

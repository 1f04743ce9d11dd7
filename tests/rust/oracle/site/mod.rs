//! Sites against a mixed-integer programme of their own.
//!
//! | File | What it holds |
//! |---|---|
//! | `case` | random sites in plain numbers, and the request that they are |
//! | `model` | the same site as a programme: shortage first, then money |
//! | `interpreter` | what a plan does, from its powers alone, and every rule that it must keep |
//! | `agreement` | the comparison of both with the planner |
//! | `by_hand` | sites whose plans are worked out by hand |

mod agreement;
mod by_hand;
mod case;
mod interpreter;
mod model;

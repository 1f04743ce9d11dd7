//! Contract of evcc's optimiser: the public cases and random requests. Each schedule is judged by
//! one evaluator that knows the request and the response alone, against the published optimum and
//! that of a mixed-integer programme in the contract's own form.

mod evaluator;
mod milp;
mod published;
mod random;
mod schedules;

//! Storage plans against judges that share no code with the planner: linear
//! and mixed-integer programmes, all plans of tiny problems, a checker of
//! proofs, and laws between related problems. `planner` alone knows the engine.
mod agreement;
mod brute;
mod case;
mod checker;
mod laws;
mod model;
mod planner;
mod tampering;

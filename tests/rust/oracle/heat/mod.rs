//! Heat plans against linear programmes on HiGHS, written in temperatures. `planner` alone knows the
//! engine.
mod agreement;
mod case;
mod model;
mod on_off;
mod on_off_milp;
mod planner;

//! Is a plan really the cheapest? Judges that share no code with the planner.
//!
//! | Judge | How it decides |
//! |---|---|
//! | `lp` | the same wishes as linear programmes on HiGHS, with their duals |
//! | `brute` | all plans of a tiny problem, one by one |
//! | `executed` | what the charging periods deliver, minute by minute |
//! | `checker` | the proof that comes with a plan, rebuilt from plain numbers |
//! | `steady` | the least change of a plan within a budget, as linear programmes |
//! | `laws` | what must hold between the plans of related problems |
//! | `storage` | the same five for batteries that also give back |
//! | `heat` | heat plans as linear programmes in temperatures |
//! | `capacity` | plans under a price of power as mixed-integer programmes on HiGHS |
//! | `policy` | policies under uncertain prices as their deterministic equivalents on HiGHS |
//! | `rolling_intrinsic` | trades against an order book as mixed-integer programmes on HiGHS |
//! | `site` | sites as a mixed-integer programme, and every rule of a site |
//! | `switching` | all ways to switch of a tiny problem, one by one |
//! | `switching_levels` | the same with an early deadline, which may be missed |
//! | `switching_milp` | a day of switching as a mixed-integer programme on HiGHS |
//!
//! `case` states a problem in plain numbers, `random` draws such problems, and
//! `planner` is the only file that knows the engine. Random problems are
//! seeded, so every run sees the same ones. Two variables change that:
//!
//! ```text
//! ORACLE_SCALE=10  ten times the cases of every property: 30,000 against HiGHS
//! ORACLE_SEED=7    other cases
//! ```
//!
//! A failing case is shrunk, printed, and its seed kept in `regressions.txt`.

mod agreement;
mod brute;
mod capacity;
mod case;
mod census;
mod checker;
mod clock_changes;
mod cut;
mod executed;
mod heat;
mod laws;
mod lp;
mod planner;
mod policy;
mod random;
mod rolling_intrinsic;
mod runner;
mod site;
mod steady;
mod storage;
mod switching;
mod switching_levels;
mod switching_milp;
mod tampering;
mod tiny;

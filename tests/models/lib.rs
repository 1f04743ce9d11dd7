//! Model checking: every order in which the steps of concurrent work may come, up to a bound.
//!
//! | Target | Is the code of the service | Is modelled |
//! |---|---|---|
//! | `action_life` | `Progress` and `ActionLog` of `control` | statements of a change, row locks, the index of pending actions |
//! | `leases` | the SQL of `store`, on SQLite | processes, their crashes, and clocks that show anything |
//! | `due_queue` | `DueQueue` and `Clock`, polled by hand | the scheduler |
//!
//! Each target also plants defects into its model, and fails unless the checker finds them.

//! Batches: plans of many independent vehicles, batteries, rooms and requests, in parallel.
pub(crate) mod charge;
pub(crate) mod heat;
pub(crate) mod requests;
pub(crate) mod storage;

pub use charge::{
    RUN, RoomColumn, plan_batch, plan_batch_within, plan_compact, plan_dense, request_of_row,
};
pub use heat::plan_heat_batch;
pub use requests::{plan_requests, plan_wishes};
pub use storage::{plan_storage_batch, storage_baseline_emissions};

//! One file per resource: handlers beside the shapes they read and write.

pub mod health;

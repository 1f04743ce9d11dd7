//! Commands of the program, one file for each group.

pub(crate) mod address;
pub(crate) mod admin;
pub(crate) mod arguments;
pub(crate) mod charger;
pub(crate) mod client;
pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod events;
pub(crate) mod evidence;
pub(crate) mod failure;
pub(crate) mod grid;
pub(crate) mod inventory;
pub(crate) mod limit;
pub(crate) mod limit_file;
pub(crate) mod link;
pub(crate) mod operator;
pub(crate) mod output;
pub(crate) mod policy;
pub(crate) mod prices;
pub(crate) mod sandbox;
pub(crate) mod serve;
pub(crate) mod store;

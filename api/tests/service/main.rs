//! The service through its doors, on both databases.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends it, in helpers too")]

mod actions;
mod answer;
mod areas;
mod commands;
mod devices;
mod fetching;
mod guessing;
mod harness;
mod identity;
mod learned;
mod link_pages;
mod lists;
mod outbox;
mod overrides;
mod plans;
mod postgres;
mod priced;
mod prices;
mod problems;
mod process;
mod races;
mod readings;
mod receivers;
mod recorded;
mod replicas;
mod sandbox;
mod schedules;
mod statistics;
mod steering;
mod tab;
mod tenants;
mod uptake;
mod users;
mod vendor;
mod versions;

//! Chargers that speak OCPP 1.6-J or 2.0.1, as an integration of the service.
//!
//! Charge points connect to this system, which is their *central system* (1.6) or *CSMS* (2.0.1).
//!
//! | Module | Holds |
//! |---|---|
//! | [`frame`], [`fields`], [`samples`], [`profiles`], [`typed`] | texts, and the fields of their payloads |
//! | [`v16`], [`v201`], [`version`] | messages of a version as facts, and facts as messages |
//! | [`facts`], [`assumption`] | what passes between both sides, without a version |
//! | [`station`] | state of one charge point, changed by facts and time |
//! | [`messages`] | last messages, for operators |
//! | [`site`] | charge points behind one fuse, whose limits are decided together |
//! | [`session`] | exchange over one connection |
//! | [`relay`] | a second central system on one charge point |
//! | [`settings`], [`upstream`], [`vehicles`], [`vendor`] | settings of the integration, and the integration |
//! | [`edge`] | files, sockets, secrets and the clock |

pub mod assumption;
pub mod edge;
pub mod facts;
pub mod fields;
pub mod frame;
pub mod messages;
pub mod profiles;
pub mod relay;
pub mod samples;
pub mod session;
pub mod settings;
pub mod site;
pub mod station;
pub mod typed;
pub mod upstream;
pub mod v16;
pub mod v201;
pub mod vehicles;
pub mod vendor;
pub mod version;

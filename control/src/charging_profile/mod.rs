//! Charging profiles: limits over time as a charge point keeps them.
//!
//! A limit of ours is a short-lived profile above a *default* that never ends. When nobody renews the
//! profile, because the controller, the network or the charger failed, the charge point returns to
//! the default by its own clock. A limit that outlives its controller is dangerous: in
//! lbbrhzn/ocpp#492 the main breaker of a house tripped after the connection was lost with a high
//! limit in force, EVerest/libocpp#781 describes limits that hold for as long as a charge point is
//! offline, and evcc-io/evcc#25013 asks for profiles that expire.
//!
//! | File | Content |
//! |---|---|
//! | [`profile`] | a profile: purpose, stack level, kind, validity, schedule of limits |
//! | [`supply`] | phases and voltage: limits in amperes and in watts |
//! | [`composite`] | the limit over time that follows from several profiles |
//! | [`compare`] | the first difference between a charge point's answer and the expected limits |
//! | [`charge_point`] | restrictions of a charge point on the profiles that it accepts |
//! | [`second_system`] | limits of another central system on the same charge point: the lower wins |
//! | [`mod@write`] | from limits over time to a default and a profile that expires into it |
//!
//! The rules are those of OCPP 1.6 (section 3.13, *Smart Charging*) and OCPP 2.0.1 (functional block
//! K), in words of our own, without a wire format.
pub mod charge_point;
pub mod compare;
pub mod composite;
pub mod profile;
pub mod second_system;
pub mod supply;
pub mod write;

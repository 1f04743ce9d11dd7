//! Verification of an area plan: from vehicles, prices, limits, intervals and duals alone.
//!
//! The duals `λ` of the limits separate the vehicles. Let `x_v` be the plan of vehicle `v`, `p_v`
//! its prices, `π_v = Σ_(l above v) s_l·λ_l` what the limits add to them, and `F_v` the plans that
//! deliver as much as `x_v` by each deadline of the vehicle, and no more in all. With the symbols
//! of [`area`](super), weak duality gives for any `λ`
//!
//! ```text
//! cost of any plan in the product of all F_v  >=  Σ_v B_v - Σ_l f_l*(λ_l)
//! B_v  <=  min { (p_v + π_v)·x : x in F_v }
//! ```
//!
//! `B_v` is the bound of a certificate of the vehicle alone at the prices `p_v + π_v`: of
//! [`charge`](crate::plan::charge), or of [`storage`](crate::plan::storage) if it discharges. Each
//! is verified as any other certificate. A vehicle that is on or off counts as one that charges at
//! any power, which can only lower its bound.
//!
//! A heat unit is bounded in the same way by the certificate of its room at its price plus those of the
//! limits, for plans with the same degree-hours at the price of the area
//! ([`heat`](crate::plan::heat::HeatCertificate)).
//!
//! What each vehicle pays at these prices beyond `B_v`, and what each limit costs beyond its part,
//! add up to the gap of the area:
//!
//! ```text
//! cost - bound  =  Σ_v ( (p_v + π_v)·x_v - B_v )  +  Σ_l ( f_l(y_l) - λ_l·y_l + f_l*(λ_l) )
//! ```
//!
//! | Symbol | Code |
//! |---|---|
//! | `p_v + π_v` | `VehicleAtPrices::import`, `export` |
//! | `(p_v + π_v)·x_v`, `B_v` | `VehicleCheck::cost`, `VehicleCheck::bound` |
//! | `f_l`, `f_l*` | `LinkingConstraints::cost`, `conjugate` |
pub(crate) mod battery;
pub(crate) mod charging;
pub(crate) mod check_vehicle;
pub(crate) mod heat_units;
pub(crate) mod slot_energies;
pub(crate) mod vehicle_at_prices;
pub(crate) mod verify;

//! Pricing problem of a room: its exact plan at effective prices.
//!
//! With the price `q·M` of a degree-hour ([`rooms`](crate::area::model::rooms)) and `π` what the limits
//! add to the price, slot by slot:
//!
//! ```text
//! P(λ) = min { Σ_t (p_t + π_t)·x_t − v·(e_T − e_0) + q·M·D(x) }
//! ```
//!
//! It is solved by the segment method with degree-hours in money
//! ([`soft_band`](crate::plan::heat::soft_band)). Energies are rounded to whole µWh, and what that costs
//! is the slack of the column.
use rayon::prelude::*;

use crate::area::model::linking::LinkingConstraints;
use crate::area::model::rooms::{AreaRoom, RoomPlan, cost_of_plan};
use crate::area::pricing::context::PricingContext;
use crate::area::problem::micro_wh::as_kwh;
use crate::plan::heat::dynamic_programme::HeatBuffers;

/// Plan of a room at some prices, and how far rounding puts it above the optimum.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PricedRoom {
    pub(crate) plan: RoomPlan,
    pub(crate) slack: f64,
}

/// Solves the pricing problem of a room; the arguments are those of [`AreaRoom::programme_at`].
pub(crate) fn price_room(
    room: &AreaRoom,
    (is_free, dual_price): (bool, &[f64]),
    capacity: Option<&[i64]>,
    buffers: &mut HeatBuffers,
) -> PricedRoom {
    let programme = room.programme_at((is_free, dual_price), capacity);
    let degree_hour_price = room.price_of_discomfort(is_free);
    buffers.solve_at_price(&programme, degree_hour_price);
    let exact = || {
        let steps = programme.steps.iter().zip(&buffers.shares);
        steps.map(|(step, share)| share * step.power_kwh)
    };
    let priced = (&programme, degree_hour_price);
    let plan = match capacity {
        None => room.to_plan(exact()),
        // Rounded down, so that the steps of a slot keep within its capacity.
        Some(_) => room.to_plan(exact().map(|kwh| (kwh - 0.5e-9).max(0.0))),
    };
    let rounded = cost_of_plan(priced, plan.iter().map(|&energy| as_kwh(energy))).total();
    let slack = (rounded - cost_of_plan(priced, exact()).total()).max(0.0);
    PricedRoom { plan, slack }
}

/// Solves the pricing problems of all rooms at `duals`, in their order.
pub(crate) fn price_rooms(
    context: &PricingContext<'_>,
    constraints: &LinkingConstraints,
    duals: &[f64],
) -> Vec<PricedRoom> {
    let price = |buffers: &mut HeatBuffers, room: &AreaRoom| {
        let dual_price = constraints.dual_price(room.node, duals);
        price_room(room, (context.is_free, &dual_price), None, buffers)
    };
    context.rooms.par_iter().map_init(HeatBuffers::new, price).collect()
}

//! Room or tank of a heat unit over the slots of a site.
//!
//! The stored energy after step `t` is `e_t = a_t·e_{t−1} + η_t·x_t + g_t` ([symbols](crate::plan::heat)).
//! It is the sum of the energy with the unit off, `z_t`, and the energy `y_t` that the unit added and
//! that is left (superposition of a linear system):
//!
//! ```text
//! e_t = z_t + y_t,    z_t = a_t·z_{t−1} + g_t,  z_0 = e_0,    y_t = a_t·y_{t−1} + η_t·x_t,  y_0 = 0
//! ```
//!
//! The programme has columns for `y_t` alone: they begin at zero, and are small beside `e_t`.
//!
//! | Symbol | Field or function |
//! |---|---|
//! | `z_t` | `Room::idle` |
//! | `y_t` | `Room::added` |
//! | highest `y_t`, at full power | `Room::most` |
use crate::plan::heat::planned_slot::DegreeHours;
use crate::plan::heat::slots::{HeatLayout, ThermalStep, sign};
use crate::plan::heat::thermostat::Thermostat;
use crate::plan::site::device::HeatUnit;
use crate::plan::site::plan::{HeatOutcome, RoomSlot};
use crate::plan::site::price_slots::SiteSlots;
use crate::prices::curve::PriceCurve;
use crate::time::instant::instant_at;
use crate::tolerance::SOLVER_AGREEMENT;
use crate::units::{Energy, Money, Power, Temperature};

/// Room or tank over the slots of a site and the time between them.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Steps of the room: the slots of the site, and time without a price, in which the unit is off.
    pub(crate) layout: HeatLayout,
    /// Slot of the site of each step; `None` for time without a price.
    pub(crate) slots: Vec<Option<usize>>,
    /// Stored energy after each step with the unit off, in kWh.
    pub(crate) idle: Vec<f64>,
    /// Most energy that the unit can have added after each step, in kWh.
    pub(crate) most: Vec<f64>,
    /// Weight of a degree-hour.
    pub(crate) priority: f64,
}

impl Room {
    /// Room of a valid unit. That of an invalid one has no steps.
    pub(crate) fn new(unit: &HeatUnit, grid: &SiteSlots) -> Self {
        let periods = grid.starts.iter().copied().zip(grid.ends.iter().copied()).collect();
        let prices = PriceCurve::of_pieces(periods, grid.import.clone());
        let problem = unit.problem(instant_at(grid.open_end.max(grid.now)));
        let layout = problem.map(|problem| HeatLayout::new(&prices, &problem)).unwrap_or_default();
        let slot = |start: i64| grid.starts.binary_search(&start).ok();
        let slots = layout.parts.iter().map(|part| slot(part.start)).collect();
        Self::over(unit, layout, slots)
    }

    /// Room of a valid unit whose slots are its own steps, from its `now` to the last price.
    pub(crate) fn alone(unit: &HeatUnit, prices: &PriceCurve) -> Self {
        let end = prices.horizon().end().unwrap_or(unit.heat.now);
        let layout =
            unit.problem(end).map(|problem| HeatLayout::new(prices, &problem)).unwrap_or_default();
        let parts = layout.parts.iter().enumerate();
        let slots = parts.map(|(at, part)| part.is_priced.then_some(at)).collect();
        Self::over(unit, layout, slots)
    }

    /// Room over the steps of a layout, of which `slots` names those of the site.
    fn over(unit: &HeatUnit, layout: HeatLayout, slots: Vec<Option<usize>>) -> Self {
        let mut room = Self {
            slots,
            idle: Vec::with_capacity(layout.parts.len()),
            most: Vec::with_capacity(layout.parts.len()),
            priority: unit.priority,
            layout,
        };
        let (mut idle, mut most) = (room.layout.programme.stored_kwh, 0.0);
        for step in &room.layout.programme.steps {
            idle = step.after(idle, 0.0);
            most = step.decay * most + step.most_kwh();
            room.idle.push(idle);
            room.most.push(most);
        }
        room
    }

    /// Steps with their positions.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, &ThermalStep)> {
        self.layout.programme.steps.iter().enumerate()
    }

    /// Energy that the unit has added and that is left after each step, in kWh, from the electrical
    /// energy of each slot of the site.
    pub(crate) fn added(&self, used: &[f64]) -> Vec<f64> {
        let mut added = 0.0;
        let next = |(at, step): (usize, &ThermalStep)| {
            let kwh = self.slots[at].map_or(0.0, |slot| used[slot]);
            added = step.decay * added + step.stored_per_kwh * kwh;
            added
        };
        self.steps().map(next).collect()
    }

    /// Stored energy at the end above that at the start, in kWh.
    pub(crate) fn gained(&self, used: &[f64]) -> f64 {
        let end = self.idle.last().zip(self.added(used).last().copied());
        end.map_or(0.0, |(idle, added)| idle + added - self.layout.programme.stored_kwh)
    }

    /// Value of the stored energy at the end above that at the start.
    pub(crate) fn stored_value(&self, used: &[f64]) -> f64 {
        self.layout.programme.end_value * self.gained(used)
    }

    /// Electrical energy of a thermostat in each of `count` slots of the site, in kWh. `room_kwh` gives
    /// the most that is left in a slot.
    pub(crate) fn thermostat(&self, count: usize, room_kwh: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut used = vec![0.0; count];
        let mut level = self.layout.programme.stored_kwh;
        let mut thermostat = Thermostat::new(None);
        for (at, step) in self.steps() {
            let kwh = self.slots[at].map_or(0.0, |slot| {
                used[slot] = thermostat.next_kwh(at, step, level).min(room_kwh(slot));
                used[slot]
            });
            level = step.after(level, kwh);
        }
        used
    }

    /// Temperatures and heat of a room whose unit uses `used` kWh in each slot of the site.
    pub(crate) fn report(&self, unit: &HeatUnit, used: &[f64]) -> HeatOutcome {
        let request = &unit.heat;
        let signed = sign(request.mode) * request.store.capacity.as_kwh_per_k();
        let added = self.added(used);
        let (mut discomfort, mut heat) = (DegreeHours::default(), 0.0);
        let mut slots = Vec::with_capacity(added.len());
        let kwh_of = |kwh: f64| Energy::from_kwh(kwh).unwrap_or(Energy::ZERO);
        for (at, step) in self.steps() {
            let part = &self.layout.parts[at];
            let kwh = self.slots[at].map_or(0.0, |slot| used[slot]);
            heat += part.cop * kwh;
            let level = self.idle[at] + added[at];
            // An edge of the band is written as it was given: the solver meets it up to rounding.
            let is_at =
                |edge: &Temperature| (signed * edge.as_celsius() - level).abs() <= SOLVER_AGREEMENT;
            let edge = [part.band.min, part.band.max].into_iter().find(is_at);
            let own = Temperature::from_celsius(level / signed).unwrap_or_default();
            let temperature = edge.unwrap_or(own);
            discomfort.below += (part.band.min - temperature).as_celsius().max(0.0) * step.hours;
            discomfort.above += (temperature - part.band.max).as_celsius().max(0.0) * step.hours;
            slots.push(RoomSlot {
                start: instant_at(part.start),
                end: instant_at(part.end),
                outdoor: Temperature::from_celsius(part.outdoor_celsius).unwrap_or_default(),
                gain: Power::from_kw(part.gain_kw).unwrap_or(Power::ZERO),
                cop: part.cop,
                used: kwh_of(kwh),
                temperature,
                temperature_min: part.band.min,
                temperature_max: part.band.max,
            });
        }
        HeatOutcome {
            mode: request.mode,
            temperature_start: request.temperature,
            heat: kwh_of(heat),
            stored_value: Money::from_amount(self.stored_value(used)).unwrap_or(Money::ZERO),
            discomfort,
            slots,
        }
    }
}

//! Columns and rows of the rooms and tanks of heat units.
//!
//! For each step `t`, with the energy `y_t` that the unit has added, `x_t` that it uses, and the edges
//! `L_t`, `H_t` of the band ([`Room`](crate::plan::site::room::Room), [symbols](crate::plan::heat)):
//!
//! ```text
//! y_t = a_t·y_{t−1} + η_t·x_t                          balance
//! b_t ≥ min(L_t − z_t, Y_t) − y_t,   b_t ≥ 0           below the band
//! u_t ≥ y_t − max(H_t − z_t, 0),     u_t ≥ 0           above the band
//! ```
//!
//! `Y_t` is `y_t` at full power. Energy that is missing at full power, or that is too much with the unit
//! off, is the same in every plan, so that `b_t` and `u_t` leave it out. Their degree-hours
//! `Σ_t h_t/C·(b_t + u_t)`, times the priority of the unit, are an objective before money.
//!
//! | Symbol | Field |
//! |---|---|
//! | `x_t`, `y_t` | `RoomColumns::{used, added}` |
//! | `z_t`, `Y_t` | `Room::{idle, most}` |
//! | `b_t`, `u_t` | `SiteModel::discomfort` |
use crate::plan::heat::slots::ThermalStep;
use crate::plan::site::model::{Flow, RoomColumns, SiteModel};
use crate::plan::site::room::Room;
use crate::tolerance::SOLVER_ROUNDING;

impl SiteModel {
    /// Adds the columns, flows and rows of a heat unit.
    pub(crate) fn add_room(&mut self, device: usize) {
        let Some(room) = self.rooms[device].clone() else { return };
        let mut columns = RoomColumns::default();
        let mut before = None;
        for (at, step) in room.steps() {
            let used = room.slots[at].filter(|_| step.power_kwh > 0.0).map(|slot| {
                let column = self.add_column(0.0, 0.0, step.power_kwh);
                self.flows[slot].push(Flow { device, column, weight: 1.0 });
                column
            });
            // Of heat that is less than the solver tells from zero, nothing remains.
            let added = (room.most[at] > SOLVER_ROUNDING).then(|| {
                let added = self.add_column(0.0, 0.0, room.most[at]);
                let mut terms = vec![(added, 1.0)];
                terms.extend(before.map(|before| (before, -step.decay)));
                terms.extend(used.map(|used| (used, -step.stored_per_kwh)));
                self.add_row(0.0, 0.0, terms);
                self.add_discomfort(&room, (at, step), added);
                added
            });
            columns.used.push(used);
            columns.added.push(added);
            before = added;
        }
        let programme = &room.layout.programme;
        let idle_gain = room.idle.last().map_or(0.0, |idle| idle - programme.stored_kwh);
        self.constant -= programme.end_value * idle_gain;
        if let Some(last) = before {
            self.program.columns[last].cost -= programme.end_value;
        }
        self.room_columns[device] = columns;
    }

    /// Adds the energies outside the band after a step, of which `added` is the column of the energy
    /// that the unit has added.
    fn add_discomfort(&mut self, room: &Room, (at, step): (usize, &ThermalStep), added: usize) {
        let (idle, most) = (room.idle[at], room.most[at]);
        let weight = room.priority * step.hours / room.layout.programme.kwh_per_k;
        let low = (step.low_kwh - idle).min(most);
        if low > 0.0 {
            let below = self.add_column(0.0, 0.0, low);
            self.add_row(low, f64::INFINITY, vec![(added, 1.0), (below, 1.0)]);
            self.discomfort.push((below, weight));
        }
        let high = (step.high_kwh - idle).max(0.0);
        if most > high {
            let above = self.add_column(0.0, 0.0, most - high);
            self.add_row(f64::NEG_INFINITY, high, vec![(added, 1.0), (above, -1.0)]);
            self.discomfort.push((above, weight));
        }
    }
}

//! Least cost of energy that several takers share slot by slot: a transportation problem whose
//! prices depend on the slot alone, solved by a greedy algorithm.
//!
//! ```text
//! minimise    Σ_it price_t·x_it
//! subject to  Σ_t x_it = need_i,   Σ_i x_it ≤ room_t,   0 ≤ x_it ≤ most_it
//! ```
//!
//! The sums `X_t = Σ_i x_it` that are possible with `Σ_t x_it ≤ need_i` form a polymatroid. Its rank
//! `f(S)` is the maximum flow from the needs into the slots `S`. The sums that meet all needs are its
//! bases, and the least cost of a base is that of the greedy algorithm: in order of price, each
//! `X_t` is raised as far as the `X` of the slots before it allow (Edmonds 1970, "Submodular
//! functions, matroids, and certain polyhedra"; Federgruen and Groenevelt 1986, "The greedy procedure
//! for resource allocation problems"). It holds for any sign of the prices. A second objective that
//! depends on the `X_t` alone, such as hours, is minimised by the order of slots of one price.
//!
//! A slot is raised along augmenting paths: a taker whose need is met takes more in this slot and
//! less in one before it, in which another taker then takes more (`find_path`). Sums of the slots
//! before it stay. Where no path leads to a taker in need, the takers and slots that were reached are
//! closed: no later path leads through them, so that each is looked at in vain only once.
//!
//! They form a minimum cut, and the prices at which they close are the duals: `y_i` of the need and
//! `λ_t = y − price_t` of the room. A taker that has room left in a slot closes no later than the slot,
//! and one that takes something there no earlier, so that
//! `price_t + λ_t − y_i` is zero or more where `x_it < most_it`, and zero or less where `x_it > 0`.
//!
//! | Symbol | Field |
//! |---|---|
//! | `price_t`, `room_t` | `Transport::prices`, `rooms` |
//! | `need_i`, `most_it` | `Taker::need`, `most` |
//! | `x_it`, `y_i`, `λ_t` | `TransportPlan::taken`, `need_prices`, `room_prices` |
use crate::tolerance::{SOLVER_ROUNDING, SUM_ROUNDING};

/// Energy that one taker wants, and what it can take.
#[derive(Debug, Clone)]
pub(crate) struct Taker {
    /// Energy in kWh, zero or more.
    pub(crate) need: f64,
    /// First slot of its stay.
    pub(crate) first: usize,
    /// Most energy in each slot of its stay, in kWh.
    pub(crate) most: Vec<f64>,
}

/// Takers and the slots that they share.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    /// Price per kWh of each slot.
    pub(crate) prices: Vec<f64>,
    /// Most energy of each slot in kWh; infinite without a limit.
    pub(crate) rooms: Vec<f64>,
    pub(crate) takers: Vec<Taker>,
}

/// Energies of least cost, and the duals that prove it.
#[derive(Debug, Clone)]
pub(crate) struct TransportPlan {
    /// Energy of each taker in each slot of its stay, in kWh.
    pub(crate) taken: Vec<Vec<f64>>,
    /// Cost of one kWh more of each need.
    pub(crate) need_prices: Vec<f64>,
    /// Saving by one kWh more of each room, zero or more.
    pub(crate) room_prices: Vec<f64>,
}

impl Transport {
    /// Energies of least cost; of equal costs, those of earlier slots. `None` if a need cannot be met.
    ///
    /// Of takers that a slot has too little room for, the one with the least slack goes first: what
    /// it could take in the slots that are left, less what it still needs.
    pub(crate) fn find_cheapest_plan(&self) -> Option<TransportPlan> {
        let mut filling = SlotFilling::new(self);
        for slot in self.order_slots() {
            filling.fill_slot(slot);
            if filling.unmet == 0 {
                filling.close_rest(self.prices[slot]);
                return Some(filling.into_plan());
            }
        }
        (filling.unmet == 0).then(|| filling.into_plan())
    }

    /// Slots by price, and of one price by time. Prices that differ by at most 1e-9 from the lowest of
    /// them are equal, as they are to the solver of programmes.
    fn order_slots(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.prices.len()).collect();
        order.sort_unstable_by(|&one, &other| self.prices[one].total_cmp(&self.prices[other]));
        let mut rest = &mut order[..];
        while let Some(&lowest) = rest.first() {
            let most = self.prices[lowest] + SOLVER_ROUNDING;
            let count = rest.partition_point(|&slot| self.prices[slot] <= most);
            let (equal, after) = rest.split_at_mut(count);
            equal.sort_unstable();
            rest = after;
        }
        order
    }
}

/// Taker in a slot, with the position of what it takes there.
#[derive(Debug, Clone, Copy)]
struct TakerCell {
    taker: usize,
    cell: usize,
}

/// Energies while slots are filled. Those of a taker stand side by side, one for each slot of its
/// stay: its cells.
struct SlotFilling<'a> {
    problem: &'a Transport,
    /// Energy by cell.
    taken: Vec<f64>,
    /// Most energy by cell.
    most: Vec<f64>,
    /// First cell of each taker.
    cells: Vec<usize>,
    /// Takers of each slot that can take something there.
    places: Vec<Vec<TakerCell>>,
    /// Energy that each taker still needs; exactly zero once it is met.
    missing: Vec<f64>,
    /// Number of takers that still need energy.
    unmet: usize,
    /// Energy that each taker could take in slots that are not filled yet.
    later: Vec<f64>,
    /// Room that is left in each slot.
    left: Vec<f64>,
    /// Price at which each taker was closed.
    taker_prices: Vec<Option<f64>>,
    /// Price at which each slot was closed.
    slot_prices: Vec<Option<f64>>,
    /// True for each slot whose turn has come.
    is_filled: Vec<bool>,
    search: AugmentingSearch,
    /// Energies up to this are zero, in kWh.
    rounding: f64,
}

/// Breadth-first search over takers and slots.
#[derive(Default)]
struct AugmentingSearch {
    /// Reached takers, in order.
    takers: Vec<usize>,
    /// Reached slots, in order.
    slots: Vec<usize>,
    /// Slot from which each taker was reached.
    through: Vec<Option<usize>>,
    /// Taker from which each slot was reached; no taker has the position at the start of the search.
    by: Vec<Option<usize>>,
}

impl<'a> SlotFilling<'a> {
    fn new(problem: &'a Transport) -> Self {
        let (takers, slots) = (problem.takers.len(), problem.prices.len());
        let needs = problem.takers.iter().map(|taker| taker.need);
        let rounding = SUM_ROUNDING * needs.fold(0.0, f64::max);
        let mut cells = Vec::with_capacity(takers);
        let mut most = Vec::with_capacity(problem.takers.iter().map(|t| t.most.len()).sum());
        let mut places: Vec<Vec<TakerCell>> = vec![Vec::new(); slots];
        for (index, taker) in problem.takers.iter().enumerate() {
            cells.push(most.len());
            for (&energy, slot) in taker.most.iter().zip(taker.first..) {
                if energy > rounding {
                    places[slot].push(TakerCell { taker: index, cell: most.len() });
                }
                most.push(energy);
            }
        }
        let met = |need: f64| if need > rounding { need } else { 0.0 };
        let missing: Vec<f64> = problem.takers.iter().map(|taker| met(taker.need)).collect();
        Self {
            problem,
            taken: vec![0.0; most.len()],
            most,
            cells,
            places,
            unmet: missing.iter().filter(|missing| **missing > 0.0).count(),
            missing,
            later: problem.takers.iter().map(|taker| taker.most.iter().sum()).collect(),
            left: problem.rooms.clone(),
            taker_prices: vec![None; takers],
            slot_prices: vec![None; slots],
            is_filled: vec![false; slots],
            search: AugmentingSearch {
                through: vec![None; takers],
                by: vec![None; slots],
                ..AugmentingSearch::default()
            },
            rounding,
        }
    }

    /// Raises the sum of a slot as far as those of the slots before it allow.
    fn fill_slot(&mut self, slot: usize) {
        self.is_filled[slot] = true;
        self.take_directly(slot);
        while self.left[slot] > self.rounding {
            let Some(taker) = self.find_path(slot) else {
                self.close_reached(self.problem.prices[slot]);
                return;
            };
            self.shift_along(slot, taker);
        }
    }

    /// Gives the room of a slot to takers that need energy, those with the least slack first.
    fn take_directly(&mut self, slot: usize) {
        let places = std::mem::take(&mut self.places[slot]);
        let mut wanting = Vec::with_capacity(places.len());
        let mut wanted = 0.0;
        for &place in &places {
            self.later[place.taker] -= self.most[place.cell];
            let missing = self.missing[place.taker];
            if missing > 0.0 {
                wanted += missing.min(self.most[place.cell]);
                wanting.push((self.later[place.taker] - missing, place));
            }
        }
        self.places[slot] = places;
        if wanted > self.left[slot] {
            // Stable: takers of one slack stay in their order.
            wanting.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        }
        for (_, TakerCell { taker, cell }) in wanting {
            if self.left[slot] <= self.rounding {
                break;
            }
            let energy = self.missing[taker].min(self.most[cell]).min(self.left[slot]);
            self.taken[cell] = energy;
            self.left[slot] -= energy;
            self.reduce_missing(taker, energy);
        }
    }

    fn reduce_missing(&mut self, taker: usize, energy: f64) {
        self.missing[taker] -= energy;
        if self.missing[taker] <= self.rounding {
            self.missing[taker] = 0.0;
            self.unmet -= 1;
        }
    }

    /// Searches for a taker in need that `start` can be raised by: directly, or over takers that move
    /// energy there. Leaves the path in `search`.
    fn find_path(&mut self, start: usize) -> Option<usize> {
        self.search.forget_reached();
        self.search.slots.push(start);
        self.search.by[start] = Some(self.problem.takers.len());
        let (mut slot, mut taker) = (0, 0);
        loop {
            while slot < self.search.slots.len() {
                if let Some(found) = self.reach_takers(self.search.slots[slot]) {
                    return Some(found);
                }
                slot += 1;
            }
            if taker == self.search.takers.len() {
                return None;
            }
            self.reach_slots(self.search.takers[taker]);
            taker += 1;
        }
    }

    /// Reaches the takers that can take more in a slot; returns the first one in need.
    fn reach_takers(&mut self, slot: usize) -> Option<usize> {
        for &TakerCell { taker, cell } in &self.places[slot] {
            let is_new = self.search.through[taker].is_none() && self.taker_prices[taker].is_none();
            if is_new && self.most[cell] - self.taken[cell] > self.rounding {
                self.search.through[taker] = Some(slot);
                self.search.takers.push(taker);
                if self.missing[taker] > 0.0 {
                    return Some(taker);
                }
            }
        }
        None
    }

    /// Reaches the slots in which a taker can take less.
    fn reach_slots(&mut self, taker: usize) {
        let Taker { first, most, .. } = &self.problem.takers[taker];
        let cells = self.cells[taker]..self.cells[taker] + most.len();
        for (&taken, slot) in self.taken[cells].iter().zip(*first..) {
            let is_new = self.search.by[slot].is_none() && self.slot_prices[slot].is_none();
            if taken > self.rounding && is_new {
                self.search.by[slot] = Some(taker);
                self.search.slots.push(slot);
            }
        }
    }

    /// Raises `start` along the path that was found to `last`, by as much as all of its parts allow.
    fn shift_along(&mut self, start: usize, last: usize) {
        // Cells along the path from the taker in need back to the slot: more, less, more, ...
        let mut path = Vec::new();
        let mut amount = self.missing[last].min(self.left[start]);
        let mut taker = last;
        while let Some(slot) = self.search.through[taker] {
            let more = self.cell_position(taker, slot);
            amount = amount.min(self.most[more] - self.taken[more]);
            path.push((more, true));
            if slot == start {
                break;
            }
            taker = self.search.by[slot].expect("a reached slot has the taker that led to it");
            let less = self.cell_position(taker, slot);
            amount = amount.min(self.taken[less]);
            path.push((less, false));
        }
        for (cell, is_more) in path {
            self.taken[cell] += if is_more { amount } else { -amount };
        }
        self.left[start] -= amount;
        self.reduce_missing(last, amount);
    }

    fn cell_position(&self, taker: usize, slot: usize) -> usize {
        self.cells[taker] + slot - self.problem.takers[taker].first
    }

    /// Closes the takers and slots of a search that found no path.
    fn close_reached(&mut self, price: f64) {
        for &taker in &self.search.takers {
            self.taker_prices[taker] = Some(price);
        }
        for &slot in &self.search.slots {
            self.slot_prices[slot] = Some(price);
        }
    }

    /// Closes the takers and filled slots that are open when the last need is met.
    fn close_rest(&mut self, price: f64) {
        for own in &mut self.taker_prices {
            own.get_or_insert(price);
        }
        let filled = self.slot_prices.iter_mut().zip(&self.is_filled);
        for (own, _) in filled.filter(|(_, is_filled)| **is_filled) {
            own.get_or_insert(price);
        }
    }

    fn into_plan(self) -> TransportPlan {
        let takers = self.problem.takers.iter().zip(&self.cells);
        let taken = takers
            .map(|(taker, &cell)| self.taken[cell..cell + taker.most.len()].to_vec())
            .collect();
        let rooms = self.slot_prices.iter().zip(&self.problem.prices);
        TransportPlan {
            taken,
            need_prices: self.taker_prices.iter().map(|price| price.unwrap_or(0.0)).collect(),
            room_prices: rooms
                .map(|(closed, price)| closed.map_or(0.0, |closed| (closed - price).max(0.0)))
                .collect(),
        }
    }
}

impl AugmentingSearch {
    /// Forgets what was reached.
    fn forget_reached(&mut self) {
        for taker in self.takers.drain(..) {
            self.through[taker] = None;
        }
        for slot in self.slots.drain(..) {
            self.by[slot] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lp::{Column, LinearProgram, LpError, Row};

    fn taker_of(need: f64, first: usize, most: &[f64]) -> Taker {
        Taker { need, first, most: most.to_vec() }
    }

    /// Cost of a plan that keeps all bounds, and the bound by its duals.
    fn cost_and_bound(transport: &Transport, plan: &TransportPlan) -> (f64, f64) {
        let (mut cost, mut bound) = (0.0, 0.0);
        let mut sums = vec![0.0; transport.prices.len()];
        let takers = transport.takers.iter().zip(&plan.taken).zip(&plan.need_prices);
        for ((taker, taken), need_price) in takers {
            assert!((taken.iter().sum::<f64>() - taker.need).abs() < 1e-9);
            bound += need_price * taker.need;
            for ((energy, most), slot) in taken.iter().zip(&taker.most).zip(taker.first..) {
                assert!(*energy >= 0.0 && *energy <= most + 1e-9);
                sums[slot] += energy;
                cost += energy * transport.prices[slot];
                let reduced = transport.prices[slot] + plan.room_prices[slot] - need_price;
                bound += reduced.min(0.0) * most;
            }
        }
        for ((sum, room), price) in sums.iter().zip(&transport.rooms).zip(&plan.room_prices) {
            assert!(*sum <= room + 1e-9 && *price >= 0.0);
            bound -= if *price > 0.0 { price * room } else { 0.0 };
        }
        (cost, bound)
    }

    #[test]
    fn a_taker_moves_out_of_the_way_of_one_with_less_time() {
        // Both want the slot at 1; the second one can take in no other.
        let takers = vec![taker_of(2.0, 0, &[2.0, 2.0]), taker_of(2.0, 0, &[2.0])];
        let (prices, rooms) = (vec![1.0, 3.0], vec![2.0, f64::INFINITY]);
        let plan = Transport { prices, rooms, takers }.find_cheapest_plan().unwrap();
        assert_eq!(plan.taken, [vec![0.0, 2.0], vec![2.0]]);
        assert_eq!((plan.room_prices, plan.need_prices), (vec![2.0, 0.0], vec![3.0, 3.0]));
    }

    #[test]
    fn energy_moves_on_over_slots_that_are_filled() {
        // Of the slots at 1 and 2 the first taker fills one, and the slot at 3 is out of reach of
        // the second: the first moves there.
        let takers = vec![taker_of(3.0, 0, &[2.0, 1.0, 2.0]), taker_of(3.0, 0, &[2.0, 2.0])];
        let (prices, rooms) = (vec![1.0, 2.0, 3.0], vec![2.0, 2.0, 2.0]);
        let transport = Transport { prices, rooms, takers };
        let plan = transport.find_cheapest_plan().unwrap();
        let (cost, bound) = cost_and_bound(&transport, &plan);
        assert!((cost - 12.0).abs() < 1e-12 && (bound - 12.0).abs() < 1e-12);
        assert_eq!(plan.room_prices, [2.0, 1.0, 0.0]);
    }

    #[test]
    fn slots_of_one_price_are_filled_in_order_of_time() {
        let prices = vec![1.0 + 5e-10, 1.0, 1.0 - 5e-10, 0.9];
        let takers = vec![taker_of(3.0, 0, &[1.0, 1.0, 1.0, 1.0])];
        let plan = Transport { prices, rooms: vec![f64::INFINITY; 4], takers }
            .find_cheapest_plan()
            .unwrap();
        assert_eq!(plan.taken, [[1.0, 1.0, 0.0, 1.0]]);
    }

    #[test]
    fn what_cannot_be_met_has_no_plan() {
        let short = |need: f64, room: f64| {
            let takers = vec![taker_of(need, 0, &[2.0, 2.0]), taker_of(0.0, 1, &[1.0])];
            Transport { prices: vec![-1.0, 1.0], rooms: vec![room; 2], takers }
                .find_cheapest_plan()
                .is_none()
        };
        assert!(!short(4.0, 2.0) && short(4.0, 1.9) && short(4.1, 9.0) && !short(0.0, 0.0));
    }

    /// Least cost by the solver of programmes.
    fn least_cost(transport: &Transport) -> Result<f64, LpError> {
        let mut programme = LinearProgram::default();
        let mut slots = vec![Vec::new(); transport.prices.len()];
        for taker in &transport.takers {
            let mut own = Vec::new();
            for (&most, slot) in taker.most.iter().zip(taker.first..) {
                let cost = transport.prices[slot];
                let column = programme.add_column(Column { cost, lower: 0.0, upper: most });
                own.push((column, 1.0));
                slots[slot].push((column, 1.0));
            }
            programme.rows.push(Row { lower: taker.need, upper: taker.need, terms: own });
        }
        for (terms, &upper) in slots.into_iter().zip(&transport.rooms) {
            programme.rows.push(Row { lower: f64::NEG_INFINITY, upper, terms });
        }
        programme.minimise().map(|solution| solution.cost)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Cost and bound meet at the least cost of the solver, and there is a plan if it finds one.
        #[test]
        fn no_energies_cost_less_than_the_greedy_ones(
            slots in prop::collection::vec((-3..6i32, 0..7u32), 1..8),
            takers in prop::collection::vec(
                (0..8usize, prop::collection::vec(0.0..4.0_f64, 1..8), 0.0..=1.0_f64), 1..7,
            ),
        ) {
            let (prices, rooms): (Vec<f64>, Vec<f64>) = slots
                .iter()
                .map(|&(price, room)| {
                    let room = if room == 6 { f64::INFINITY } else { f64::from(room) };
                    (f64::from(price) / 2.0, room)
                })
                .unzip();
            let takers = takers.into_iter().map(|(first, mut most, share)| {
                let first = first.min(prices.len() - 1);
                most.truncate(prices.len() - first);
                Taker { need: share * most.iter().sum::<f64>(), first, most }
            });
            let takers = takers.collect();
            let transport = Transport { prices, rooms, takers };
            match (transport.find_cheapest_plan(), least_cost(&transport)) {
                (Some(plan), Ok(least)) => {
                    let (cost, bound) = cost_and_bound(&transport, &plan);
                    prop_assert!((cost - least).abs() < 1e-7, "{cost} and {least}");
                    prop_assert!((cost - bound).abs() < 1e-9, "{cost} and {bound}");
                }
                (None, Err(LpError::Infeasible)) => {}
                (plan, least) => prop_assert!(false, "{plan:?} and {least:?}"),
            }
        }
    }
}

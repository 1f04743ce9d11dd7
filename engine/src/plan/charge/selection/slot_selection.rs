//! Slot selection: the used slots of one need in one window, with energy and cost.
//!
//! Two searches find the slots: `ranked` on bit sets, `threshold` on the prices themselves. This
//! module prices the slots in time order, so that both searches give the same bits.
use crate::plan::charge::selection::ordered_sum::Slots;
use crate::prices::ranking::SLOTS_MAX;
use crate::time::horizon::Horizon;
use crate::tolerance::SNAP_MICROS;
use crate::units::MICROS_PER_HOUR;

/// Words of 64 bits in a slot set.
pub(crate) const WORDS: usize = SLOTS_MAX / 64;

/// A set of at most 256 slots.
pub type SlotSet = [u64; WORDS];

/// Slots of a horizon inside `[from, to)`; the first and the last may be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// First slot.
    pub(crate) first: usize,
    /// First slot after it.
    pub(crate) last: usize,
    /// First microsecond.
    pub(crate) from: i64,
    /// First microsecond after it.
    pub(crate) to: i64,
}

impl Window {
    /// The slots that overlap `[from, to)`, in microseconds since 1970.
    #[inline(always)]
    pub(crate) fn new(horizon: &Horizon, from: i64, to: i64) -> Self {
        let range = horizon.overlapping(from, to);
        Self { first: range.start, last: range.end, from, to }
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.last - self.first
    }

    /// Usable microseconds of a slot inside the window.
    #[inline(always)]
    pub(crate) fn usable(&self, horizon: &Horizon, index: usize) -> i64 {
        horizon.ends()[index].min(self.to) - horizon.starts()[index].max(self.from)
    }
}

/// Energy that one vehicle needs in one window, and its power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub(crate) energy_kwh: f64,
    pub(crate) power_kw: f64,
}

impl Need {
    /// Charging time at full power that meets the need, in microseconds; zero without a need.
    #[inline(always)]
    pub(crate) fn micros(self) -> f64 {
        if self.energy_kwh <= 0.0 { 0.0 } else { self.energy_kwh / self.power_kw * MICROS_PER_HOUR }
    }
}

/// Result of a search: the slots used in full, and the next one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundSlots {
    /// Position in the horizon of bit 0.
    pub(crate) origin: usize,
    /// Slots used in full.
    pub(crate) full: SlotSet,
    /// Usable time of these slots in microseconds; a whole number.
    pub(crate) full_micros: f64,
    /// Cheapest slot that does not fit in full; it holds the rest of the need. `None` if the
    /// window has no more time.
    pub(crate) next: Option<Next>,
}

/// Slot by its position in the horizon (`slot`) and in the window (`position`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next {
    pub(crate) slot: usize,
    pub(crate) position: usize,
}

/// Cheapest slots that meet one need in one window.
///
/// All slots of [`SlotSelection::full`] are used for their whole usable length, and
/// at most one more in part, from its start. The fields are plain numbers, because
/// they are stored by the million; their names carry the unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotSelection {
    /// Slots used in full; bit 0 is slot `origin` of the horizon.
    pub full: SlotSet,
    /// Position in the horizon of bit 0.
    pub origin: u32,
    /// Position in the horizon of the slot used in part, if any.
    pub partial: Option<u32>,
    /// Energy bought in the partly used slot, in kWh.
    pub partial_kwh: f64,
    /// Energy bought, in kWh.
    pub energy_kwh: f64,
    /// Need that the window cannot meet, in kWh.
    pub shortfall_kwh: f64,
    /// Cost of the energy, in units of the currency.
    pub cost: f64,
    /// Cost of the same energy at full power from the start of the window.
    pub baseline_cost: f64,
    /// Price of the next kWh in the window; NaN if no energy is free.
    pub marginal_price: f64,
}

impl SlotSelection {
    /// The selection without slots: nothing is needed, or nothing can be charged.
    pub(crate) fn nothing(need: Need, marginal_price: f64) -> Self {
        Self {
            full: [0; WORDS],
            origin: 0,
            partial: None,
            partial_kwh: 0.0,
            energy_kwh: 0.0,
            shortfall_kwh: need.energy_kwh.max(0.0),
            cost: 0.0,
            baseline_cost: 0.0,
            marginal_price,
        }
    }

    /// Prices the slots of a search: energy, costs, shortfall and marginal price.
    #[inline(always)]
    pub(crate) fn priced<S: Slots>(need: Need, found: &FoundSlots, slots: &S) -> Self {
        // Energy: the full slots, and the rest of the need in the next one.
        let full_kwh = need.power_kw * found.full_micros / MICROS_PER_HOUR;
        let needed = need.micros();
        let rest_micros = needed - found.full_micros;
        let is_short = found.next.is_none();
        let partial = found.next.filter(|_| rest_micros > SNAP_MICROS);
        let energy_kwh = if is_short { full_kwh.min(need.energy_kwh) } else { need.energy_kwh };
        let partial_kwh = if partial.is_some() { energy_kwh - full_kwh } else { 0.0 };

        // Cost, and the baseline: the same energy from the start of the window.
        let full_cost = slots.full() * need.power_kw / MICROS_PER_HOUR;
        let marginal_price = found.next.map_or(f64::NAN, |next| slots.price(next.position));
        let partial_cost = if partial.is_some() { marginal_price * partial_kwh } else { 0.0 };
        let unmanaged = slots.earliest(if is_short { found.full_micros } else { needed });
        Self {
            full: found.full,
            origin: found.origin as u32,
            partial: partial.map(|next| next.slot as u32),
            partial_kwh,
            energy_kwh,
            shortfall_kwh: shortfall(need, found.full_micros, is_short),
            cost: full_cost + partial_cost,
            baseline_cost: unmanaged * need.power_kw / MICROS_PER_HOUR,
            marginal_price,
        }
    }

    /// Calls `visit(slot, is_partial)` for each used slot of the horizon, in time order.
    #[inline(always)]
    pub(crate) fn for_each_used(&self, mut visit: impl FnMut(usize, bool)) {
        let origin = self.origin as usize;
        let partial = self.partial.map(|slot| slot as usize);
        let partial_bit = partial.map(|slot| slot - origin);
        for (word, bits) in self.full.iter().enumerate() {
            let mut bits = *bits;
            if let Some(bit) = partial_bit
                && bit / 64 == word
            {
                bits |= 1 << (bit % 64);
            }
            while bits != 0 {
                let slot = origin + word * 64 + bits.trailing_zeros() as usize;
                visit(slot, partial == Some(slot));
                bits &= bits - 1;
            }
        }
    }

    /// Writes the mean power of each slot of the horizon, in kW.
    #[inline(always)]
    pub(crate) fn write_powers(
        &self,
        horizon: &Horizon,
        window: Window,
        power_kw: f64,
        powers: &mut [f32],
    ) {
        powers.fill(0.0);
        if window.len() == 0 {
            return;
        }
        // Slots inside the window have full power or none; cut and partly used slots follow below.
        let full = power_kw as f32;
        for (position, power) in powers[window.first..window.last].iter_mut().enumerate() {
            let bit = window.first + position - self.origin as usize;
            *power = if self.full[bit / 64] >> (bit % 64) & 1 == 1 { full } else { 0.0 };
        }
        // The window may use a part of its first and last slot only.
        for edge in [window.first, window.last - 1] {
            if self.is_full(edge) {
                let share = window.usable(horizon, edge) as f64 / MICROS_PER_HOUR;
                powers[edge] = (power_kw * share / horizon.hours(edge)) as f32;
            }
        }
        if let Some(slot) = self.partial {
            powers[slot as usize] = (self.partial_kwh / horizon.hours(slot as usize)) as f32;
        }
    }

    /// Returns `true` if a slot of the horizon is used in full.
    #[must_use]
    pub fn is_full(&self, slot: usize) -> bool {
        slot.checked_sub(self.origin as usize)
            .is_some_and(|bit| bit < SLOTS_MAX && self.full[bit / 64] >> (bit % 64) & 1 == 1)
    }
}

/// Energy of the need that the window cannot meet, in kWh. `is_short` says that all of the window
/// is used.
#[inline(always)]
fn shortfall(need: Need, full_micros: f64, is_short: bool) -> f64 {
    // A rest below a nanosecond is rounding.
    if !is_short || need.micros() - full_micros <= SNAP_MICROS {
        return 0.0;
    }
    need.energy_kwh - need.power_kw * full_micros / MICROS_PER_HOUR
}

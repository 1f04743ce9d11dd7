//! A checker of proofs, on plain numbers and by another formula.
//!
//! Say each slot t has a worth w of a kWh beside its price p, and a plan buys x
//! there, at least f because of charging at once and at most u. Then it costs
//!
//! ```text
//! Σ p·x = Σ (p − w)·x + Σ w·x
//! ```
//!
//! The first sum is smallest with f where p ≥ w and u elsewhere. If w falls
//! from deadline to deadline, the second is, summed by parts, at least each
//! fall times what must be there by that deadline, plus the worth after the
//! last one (never above zero) times the most that may be bought.

/// How far sums may be off by rounding, relative to the number or to 1.
const ROUNDING: f64 = 1e-9;

/// A period of constant price and limit, and what is bought in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slot {
    /// In minutes.
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) price: f64,
    pub(crate) kw: f64,
    pub(crate) kwh: f64,
}

impl Slot {
    pub(crate) fn capacity(&self) -> f64 {
        self.kw * (self.end - self.start) / 60.0
    }
}

/// Energy that must be there by a minute, and what one more kWh would cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Requirement {
    pub(crate) by: f64,
    pub(crate) kwh: f64,
    pub(crate) price: f64,
}

/// A plan with all that is said to prove it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    pub(crate) slots: Vec<Slot>,
    /// Energy charged at once, in time order.
    pub(crate) at_once_kwh: f64,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) energy_max_kwh: Option<f64>,
    /// Price of the room left below `energy_max_kwh`.
    pub(crate) surplus_price: f64,
}

/// The cost of a plan and a cost that none can undercut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) cost: f64,
    pub(crate) bound: f64,
}

impl Verdict {
    pub(crate) fn is_proved(&self) -> bool {
        (self.cost - self.bound).abs() <= ROUNDING * self.cost.abs().max(1.0)
    }
}

/// Why a claim proves nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refusal {
    /// Slots or deadlines are not in time order.
    Disorder,
    /// A slot holds less than nothing, or more than fits.
    OutsideLimits { slot: usize },
    /// A slot leaves room where charging at once has to go on.
    Pause { slot: usize },
    /// Too little is there by a deadline.
    TooLate { requirement: usize },
    /// More is bought than allowed.
    TooMuch,
    /// A later kWh is worth more than an earlier one, or room is worth money.
    PricesRise,
}

/// Sums of a claim by deadline: what is bought, and what of it is bought at once.
pub(crate) struct Sums {
    /// What charging at once buys in each slot.
    pub(crate) at_once: Vec<f64>,
    /// For each requirement, all that is bought by then.
    pub(crate) bought_by: Vec<f64>,
    /// For each requirement, what must be there by then.
    pub(crate) due: Vec<f64>,
    pub(crate) total: f64,
    pub(crate) most: f64,
}

impl Sums {
    pub(crate) fn new(claim: &Claim) -> Self {
        let mut missing = claim.at_once_kwh;
        let take = |slot: &Slot| {
            let taken = missing.clamp(0.0, slot.capacity());
            missing -= taken;
            taken
        };
        let at_once: Vec<f64> = claim.slots.iter().map(take).collect();
        let by = |requirement: &Requirement, of: &dyn Fn(usize) -> f64| -> f64 {
            let ends = claim.slots.iter().map(|slot| slot.end).enumerate();
            ends.filter(|&(_, end)| end <= requirement.by).map(|(slot, _)| of(slot)).sum()
        };
        let bought = |slot: usize| claim.slots[slot].kwh;
        let forced = |slot: usize| at_once[slot];
        let requirements = &claim.requirements;
        let bought_by = requirements.iter().map(|r| by(r, &bought)).collect();
        let due = requirements.iter().map(|r| r.kwh.max(by(r, &forced))).collect();
        let total = claim.slots.iter().map(|slot| slot.kwh).sum();
        let wanted = requirements.last().map_or(0.0, |last| last.kwh);
        let most = claim.energy_max_kwh.unwrap_or(wanted.max(claim.at_once_kwh));
        Self { at_once, bought_by, due, total, most }
    }
}

/// Price of a kWh by the deadline that a slot counts for; `None` where the
/// total is fixed and the slot counts for none.
pub(crate) fn worth(claim: &Claim, slot: &Slot) -> Option<f64> {
    let counts = claim.requirements.iter().find(|requirement| slot.end <= requirement.by);
    let after = claim.energy_max_kwh.map(|_| claim.surplus_price);
    counts.map(|requirement| requirement.price).or(after)
}

/// By how much the price falls after each requirement.
pub(crate) fn falls(claim: &Claim) -> Vec<f64> {
    let after = if claim.energy_max_kwh.is_some() { claim.surplus_price } else { 0.0 };
    let prices = claim.requirements.iter().map(|requirement| requirement.price);
    let next = prices.clone().skip(1).chain([after]);
    prices.zip(next).map(|(price, next)| price - next).collect()
}

/// Cost of a claim's plan and the bound that its prices give.
pub(crate) fn check(claim: &Claim) -> Result<Verdict, Refusal> {
    check_order(claim)?;
    let sums = Sums::new(claim);
    check_plan(claim, &sums)?;

    let mut verdict = Verdict { cost: 0.0, bound: 0.0 };
    for (slot, &at_once) in claim.slots.iter().zip(&sums.at_once) {
        verdict.cost += slot.price * slot.kwh;
        verdict.bound += match worth(claim, slot) {
            None => slot.price * at_once,
            Some(worth) if slot.price < worth => (slot.price - worth) * slot.capacity(),
            Some(worth) => (slot.price - worth) * at_once,
        };
    }
    for (fall, due) in falls(claim).into_iter().zip(&sums.due) {
        verdict.bound += fall * due;
    }
    if let Some(most) = claim.energy_max_kwh {
        verdict.bound += claim.surplus_price * most;
    }
    Ok(verdict)
}

fn check_order(claim: &Claim) -> Result<(), Refusal> {
    let slots_follow = claim.slots.windows(2).all(|pair| pair[0].end <= pair[1].start);
    let slots_last = claim.slots.iter().all(|slot| slot.start < slot.end);
    let deadlines_follow = claim.requirements.windows(2).all(|pair| pair[0].by <= pair[1].by);
    if !(slots_follow && slots_last && deadlines_follow) {
        return Err(Refusal::Disorder);
    }
    // Without a bound on the energy the total is fixed, and so the last price is free.
    let falls = falls(claim);
    let bounded = if claim.energy_max_kwh.is_some() { falls.len() } else { falls.len().max(1) - 1 };
    let room_has_a_price = claim.energy_max_kwh.is_some() && claim.surplus_price > 0.0;
    if room_has_a_price || falls.iter().take(bounded).any(|&fall| fall < 0.0) {
        return Err(Refusal::PricesRise);
    }
    Ok(())
}

fn check_plan(claim: &Claim, sums: &Sums) -> Result<(), Refusal> {
    let is_below = |a: f64, b: f64| a < b - ROUNDING * b.abs().max(1.0);
    for (index, slot) in claim.slots.iter().enumerate() {
        if slot.kwh < 0.0 || is_below(slot.capacity(), slot.kwh) {
            return Err(Refusal::OutsideLimits { slot: index });
        }
        if is_below(slot.kwh, sums.at_once[index]) {
            return Err(Refusal::Pause { slot: index });
        }
    }
    for (index, requirement) in claim.requirements.iter().enumerate() {
        if is_below(sums.bought_by[index], requirement.kwh) {
            return Err(Refusal::TooLate { requirement: index });
        }
    }
    if is_below(sums.most, sums.total) { Err(Refusal::TooMuch) } else { Ok(()) }
}

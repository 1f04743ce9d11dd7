//! A proof that was tampered with proves nothing.
//!
//! Plans and prices of random proofs are changed a little. Both the engine
//! and the checker of these tests then refuse, or find a gap. Where they do
//! not, the change led to another proof that is just as good, and that is
//! verified: the kWh moved between slots of one price, or complementary
//! slackness, summed term by term, still leaves no gap.
use std::cell::RefCell;

use proptest::prelude::*;

use crate::census::Census;
use crate::checker::{Claim, Refusal, Requirement, Slot, Sums, check, falls, worth};
use crate::planner::{self, Answer};
use crate::random::cases;
use crate::runner::{for_all, near};

/// Sums of many terms in another order differ by this part.
const PART: f64 = 1e-10;

/// Less than this is not told from rounding.
const CRUMB: f64 = 1e-3;

/// At most so many changes of one kind are tried on one plan.
const CHANGES_MAX: usize = 60;

/// What both judges say of a claim, after making sure that they agree.
fn is_proof(answer: &Answer, claim: &Claim) -> Result<bool, TestCaseError> {
    let (engine, own) = (answer.certify(claim), check(claim));
    prop_assert_eq!(engine.is_some(), own.is_ok(), "engine {:?}, checker {:?}", engine, own);
    let (Some((theirs, is_proved)), Ok(ours)) = (engine, own) else { return Ok(false) };
    prop_assert!(near(theirs.cost, ours.cost, PART) && near(theirs.bound, ours.bound, PART));
    prop_assert_eq!(is_proved, ours.is_proved());
    Ok(is_proved)
}

/// Slots that a kWh could be taken from, and how much of it.
fn donors(claim: &Claim) -> Vec<(usize, f64)> {
    let slots = claim.slots.iter().enumerate().map(|(index, slot)| (index, slot.kwh.min(1.0)));
    slots.filter(|&(_, kwh)| kwh > CRUMB).collect()
}

/// Slots that a kWh could be moved to, and how much of it.
fn receivers(claim: &Claim) -> Vec<(usize, f64)> {
    let room = |slot: &Slot| (slot.capacity() - slot.kwh).min(1.0);
    let slots = claim.slots.iter().enumerate().map(|(index, slot)| (index, room(slot)));
    slots.filter(|&(_, kwh)| kwh > CRUMB).collect()
}

/// A cost that is more than rounding beside the cost of a plan.
fn matters(cost: f64, answer: &Answer) -> bool {
    cost.abs() > 1e-7 * answer.cost.abs().max(1.0)
}

#[test]
fn a_kwh_moved_breaks_the_proof() {
    let census = RefCell::new(Census::default());
    for_all(1000, &cases(), |case| {
        let answer = planner::plan(&case);
        prop_assert!(is_proof(&answer, &answer.claim)?);
        let receivers = receivers(&answer.claim);
        let donors = donors(&answer.claim);
        let pairs = donors.iter().flat_map(|from| receivers.iter().map(move |to| (from, to)));
        let step = 1 + donors.len() * receivers.len() / CHANGES_MAX;
        for (&(from, held), &(to, room)) in pairs.step_by(step) {
            let kwh = held.min(room);
            let mut moved = answer.claim.clone();
            moved.slots[from].kwh -= kwh;
            moved.slots[to].kwh += kwh;
            let extra = (moved.slots[to].price - moved.slots[from].price) * kwh;
            let is_proof = is_proof(&answer, &moved)?;
            prop_assert!(!is_proof || !matters(extra, &answer), "{kwh} kWh from {from} to {to}");
            census.borrow_mut().count(&[("broken", !is_proof), ("as good", is_proof)]);
        }
        Ok(())
    });
    census.into_inner().assert_each(0.001);
}

#[test]
fn a_kwh_dropped_breaks_the_proof() {
    let census = RefCell::new(Census::default());
    for_all(1000, &cases(), |case| {
        let answer = planner::plan(&case);
        for (slot, kwh) in donors(&answer.claim) {
            let mut dropped = answer.claim.clone();
            dropped.slots[slot].kwh -= kwh;
            prop_assert!(!is_proof(&answer, &dropped)?, "{kwh} kWh dropped from {slot}");
            let is_late = matches!(check(&dropped), Err(Refusal::TooLate { .. }));
            let pauses = matches!(check(&dropped), Err(Refusal::Pause { .. }));
            let costs_more = check(&dropped).is_ok();
            census.borrow_mut().count(&[
                ("too late", is_late),
                ("a pause", pauses),
                ("dearer", costs_more),
            ]);
        }
        Ok(())
    });
    census.into_inner().assert_each(0.001);
}

#[test]
fn a_kwh_added_breaks_the_proof() {
    for_all(1000, &cases(), |case| {
        let answer = planner::plan(&case);
        for (slot, kwh) in receivers(&answer.claim) {
            let mut added = answer.claim.clone();
            added.slots[slot].kwh += kwh;
            let is_proof = is_proof(&answer, &added)?;
            // Below the bound on the energy, what costs nothing may be had.
            let is_free = !matters(added.slots[slot].price * kwh, &answer);
            prop_assert!(!is_proof || is_free && case.energy_max_kwh.is_some());
        }
        Ok(())
    });
}

#[test]
fn a_marginal_price_changed_breaks_the_proof() {
    let census = RefCell::new(Census::default());
    for_all(1000, &cases(), |case| {
        let answer = planner::plan(&case);
        let prices = answer.claim.requirements.len() + usize::from(case.energy_max_kwh.is_some());
        for index in 0..prices {
            for change in [-0.5, -0.03, -0.002, 0.002, 0.03, 0.5] {
                let mut changed = answer.claim.clone();
                match changed.requirements.get_mut(index) {
                    Some(requirement) => requirement.price += change,
                    None => changed.surplus_price += change,
                }
                let is_proof = judge_prices(&answer, &changed)?;
                census.borrow_mut().count(&[("broken", !is_proof), ("as good", is_proof)]);
            }
        }
        Ok(())
    });
    let census = census.into_inner();
    census.assert_each(0.05);
    assert!(census.share("broken") > 0.5);
}

/// Whether the plan is still proved with other prices, and rightly so.
fn judge_prices(answer: &Answer, claim: &Claim) -> Result<bool, TestCaseError> {
    let is_proof = is_proof(answer, claim)?;
    let gap = gap_by_slackness(claim);
    match check(claim) {
        Err(refusal) => prop_assert_eq!(refusal, Refusal::PricesRise),
        Ok(verdict) => {
            let found = verdict.cost - verdict.bound;
            let rounding = PART * verdict.cost.abs().max(1.0);
            prop_assert!((found - gap).abs() <= rounding, "gap {found}, by slackness {gap}");
            prop_assert!(!(is_proof && matters(gap, answer)));
            prop_assert!(is_proof || gap > 1e-12, "refused without a gap");
        }
    }
    Ok(is_proof)
}

/// The gap of a plan as what its prices blame on each part of it.
///
/// Room left in a slot that is cheaper than a kWh is worth, energy in a slot
/// that is dearer, more than is due at a deadline after which the price
/// falls, and room below the bound on the energy that has a price.
fn gap_by_slackness(claim: &Claim) -> f64 {
    let sums = Sums::new(claim);
    let mut gap = 0.0;
    for (slot, at_once) in claim.slots.iter().zip(&sums.at_once) {
        let profit = worth(claim, slot).map_or(0.0, |worth| worth - slot.price);
        let missed = slot.capacity() - slot.kwh;
        gap += if profit > 0.0 { profit * missed } else { -profit * (slot.kwh - at_once) };
    }
    for ((fall, bought), due) in falls(claim).into_iter().zip(&sums.bought_by).zip(&sums.due) {
        gap += fall * (bought - due);
    }
    gap + claim.energy_max_kwh.map_or(0.0, |most| claim.surplus_price * (sums.total - most))
}

/// Two hours at 1 and 5, a deadline, and an hour at 10; 1 kWh fits into each.
/// One kWh by the deadline and two in all cost 6, and one more would cost 10.
fn proof_by_hand() -> Claim {
    let slot = |start: f64, price, kwh| Slot { start, end: start + 60.0, price, kw: 1.0, kwh };
    let requirement = |by, kwh| Requirement { by, kwh, price: 5.0 };
    Claim {
        slots: vec![slot(0.0, 1.0, 1.0), slot(60.0, 5.0, 1.0), slot(120.0, 10.0, 0.0)],
        at_once_kwh: 0.0,
        requirements: vec![requirement(120.0, 1.0), requirement(180.0, 2.0)],
        energy_max_kwh: None,
        surplus_price: 0.0,
    }
}

/// What the checker says of the proof above after a change: cost and bound, or a refusal.
#[track_caller]
fn by_hand(change: impl FnOnce(&mut Claim), expected: Result<(f64, f64), Refusal>) {
    let mut claim = proof_by_hand();
    change(&mut claim);
    let verdict = check(&claim).map(|verdict| (verdict.cost, verdict.bound));
    assert_eq!(verdict, expected);
}

#[test]
fn proofs_by_hand() {
    by_hand(|_| {}, Ok((6.0, 6.0)));
    by_hand(|claim| (claim.slots[1].kwh, claim.slots[2].kwh) = (0.0, 1.0), Ok((11.0, 6.0)));
    by_hand(|claim| claim.slots[1].kwh = 0.0, Err(Refusal::TooLate { requirement: 1 }));
    by_hand(|claim| claim.slots[2].kwh = 1.0, Err(Refusal::TooMuch));
    by_hand(|claim| claim.slots[0].kwh = 1.5, Err(Refusal::OutsideLimits { slot: 0 }));
    by_hand(|claim| claim.slots[2].kwh = -0.5, Err(Refusal::OutsideLimits { slot: 2 }));
    // By the second deadline 4 · 2, by the first 1 · 1, less the 4 that slot 0 is cheaper.
    by_hand(|claim| claim.requirements[1].price = 4.0, Ok((6.0, 5.0)));
    by_hand(|claim| claim.requirements[0].price = 4.0, Err(Refusal::PricesRise));
    by_hand(|claim| claim.at_once_kwh = 2.0, Ok((6.0, 6.0)));
    by_hand(
        |claim| {
            claim.at_once_kwh = 1.5;
            claim.slots[1].kwh = 0.25;
            claim.slots[2].kwh = 0.75;
        },
        Err(Refusal::Pause { slot: 1 }),
    );
    by_hand(|claim| claim.slots.swap(0, 1), Err(Refusal::Disorder));
    by_hand(|claim| claim.requirements.swap(0, 1), Err(Refusal::Disorder));
}

/// A bound on the energy gives room a price of its own.
#[test]
fn proofs_by_hand_below_a_bound_on_the_energy() {
    let paid = |claim: &mut Claim| {
        claim.slots[2].price = -2.0;
        claim.slots[2].kwh = 1.0;
        claim.requirements.iter_mut().for_each(|requirement| requirement.price = 0.0);
        claim.requirements[0].price = 1.0;
        claim.slots[1].kwh = 0.0;
        claim.energy_max_kwh = Some(2.5);
    };
    by_hand(paid, Ok((-1.0, -1.0)));
    let with = |change: fn(&mut Claim)| {
        move |claim: &mut Claim| {
            paid(claim);
            change(claim);
        }
    };
    by_hand(with(|claim| claim.slots[2].kwh = 0.9), Err(Refusal::TooLate { requirement: 1 }));
    by_hand(with(|claim| claim.surplus_price = -1.0), Ok((-1.0, -1.5)));
    by_hand(with(|claim| claim.surplus_price = 0.5), Err(Refusal::PricesRise));
    by_hand(with(|claim| claim.energy_max_kwh = Some(1.5)), Err(Refusal::TooMuch));
}

//! Policies: rules that decide what a device does until the next instant of decision.
use std::convert::Infallible;

use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest, Target};
use crate::plan::stability::budget::Budget;
use crate::plan::stability::stay_close::stay_close;
use crate::simulate::cheapest::cheapest_periods;
use crate::simulate::command::Command;
use crate::simulate::session::Memory;
use crate::simulate::view::View;
use crate::time::instant::{instant_at, micros_of};
use crate::units::Money;

/// A rule that decides for each stay, again and again.
pub trait Policy: Sync {
    /// Failure of a decision.
    type Error: Send;

    /// True if decisions must be asked for one after the other, in time order and then in the
    /// order of the stays.
    fn is_sequential(&self) -> bool;

    /// Writes the commands from now on into `commands`, in time order and without overlap. What
    /// lies after [`Moment::until`](super::Moment::until) is forgotten; time without a command is off.
    ///
    /// # Errors
    /// The policy fails.
    fn decide(
        &self,
        view: &View<'_>,
        memory: &mut Memory,
        commands: &mut Vec<Command>,
    ) -> Result<(), Self::Error>;
}

/// The built-in planner: the cheapest plan of the rest of the need on the known prices, made anew
/// at every decision.
///
/// A need is bought before the departure or the end of the known prices, whichever is first: no
/// plan relies on a price that nobody knows. With a `budget` the plan stays as close to the last
/// one as that much money for the whole stay allows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Replanner {
    /// Money that a stay may cost beyond the cheapest plans, to keep its plans stable.
    pub budget: Option<Money>,
}

impl Policy for Replanner {
    type Error = Infallible;

    fn is_sequential(&self) -> bool {
        false
    }

    fn decide(
        &self,
        view: &View<'_>,
        memory: &mut Memory,
        commands: &mut Vec<Command>,
    ) -> Result<(), Infallible> {
        match self.budget {
            None => plan_cheapest(view, commands),
            Some(budget) => plan_near(view, memory, budget, commands),
        }
        Ok(())
    }
}

/// Commands of the cheapest plan until the next decision.
fn plan_cheapest(view: &View<'_>, commands: &mut Vec<Command>) {
    let to = view.departure.min(view.horizon_end);
    let (curve, power) = (view.known.before(view.now, to), view.power_max);
    let micros = view.missing.micros_at(power);
    cheapest_periods(curve, (view.now, to), micros, power, |start, end| {
        if start < view.until {
            commands.push(Command { start, end, power });
        }
    });
}

/// Commands of the plan that changes the last one least.
fn plan_near(view: &View<'_>, memory: &mut Memory, budget: Money, commands: &mut Vec<Command>) {
    let by = instant_at(view.departure.min(view.horizon_end));
    let target = Target { by: Some(by), energy: view.missing() };
    let mut request = ChargeRequest::new(view.now(), view.power_max(), target);
    request.until = Some(by);
    let Ok(problem) = ChargeProblem::new(request) else { return };
    let curve = view.known.before(view.now, micros_of(by));
    let cheapest = plan_charge(curve, &problem);
    let (plan, budget) = match memory.last.take() {
        Some(last) => {
            let steady = stay_close(&cheapest, &problem, &last.0, last.1);
            (steady.plan, steady.stability.budget)
        }
        None => match Budget::new(budget, Money::ZERO) {
            Ok(budget) => (cheapest, budget),
            Err(_) => return plan_cheapest(view, commands),
        },
    };
    let first = plan.intervals.iter().take_while(|interval| micros_of(interval.start) < view.until);
    commands.extend(first.map(|period| Command::new(period.start, period.end, period.power)));
    memory.last = Some(Box::new((plan, budget)));
}

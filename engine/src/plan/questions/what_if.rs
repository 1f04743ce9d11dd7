//! Cost of a changed request: the cheapest plans with and without the change.
//!
//! Each result is the difference of two cheapest plans, so it is exact. Marginal prices would
//! hold for the next kWh only, which is not enough for a reserve or a departure.
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::plan::charge::explain::{END_OF_PRICES, rounded, wall_clock};
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::Plan;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest, ChargeRequestError, Target};
use crate::plan::charge::vehicle::{VehicleError, VehicleRequest, energy_at_plug};
use crate::plan::questions::comparison::{NOTHING_CHANGED, TotalsChange};
use crate::prices::curve::PriceCurve;
use crate::units::{Energy, Money, Percent};

/// Change of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change")]
pub enum ChangedInput {
    /// The reserve is removed.
    #[serde(rename = "no_reserve")]
    NoReserve,
    /// The vehicle leaves at another time. Targets at or after the earlier of
    /// both departures are due at the new one, and nothing is charged after it.
    #[serde(rename = "departure")]
    Departure {
        /// The new departure.
        at: DateTime<Utc>,
    },
    /// The highest target is raised, or lowered to no less than zero.
    #[serde(rename = "more_energy")]
    MoreEnergy {
        /// Energy at the plug; negative lowers the target.
        #[serde(rename = "energy_kwh")]
        energy: Energy,
    },
    /// Targets due at an instant may be met at any time that has a price.
    #[serde(rename = "no_deadline")]
    NoDeadline {
        /// The deadline of the targets.
        by: DateTime<Utc>,
    },
    /// More targets are added.
    #[serde(rename = "floor")]
    Floor {
        /// The targets, in any order.
        levels: Vec<Target>,
    },
}

/// Reason why a change is invalid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no target to change.
    #[error("there is no target to change")]
    NoTarget,
    /// No target is due at an instant.
    #[error("no target is due at {by}")]
    NotADeadline {
        /// The instant as given.
        by: DateTime<Utc>,
    },
    /// The changed request is invalid.
    #[error(transparent)]
    Request(#[from] ChargeRequestError),
    /// The energy is beyond all measure.
    #[error("more_kwh is beyond any battery: {} kWh", energy.as_kwh())]
    TooMuch {
        /// The energy as given.
        energy: Energy,
    },
}

/// Cheapest plan of a changed request, and its differences from the cheapest plan without changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The changes, in the order in which they were made.
    pub changes: Vec<ChangedInput>,
    /// The request with the changes.
    pub request: ChargeRequest,
    /// The cheapest plan with the changes.
    pub plan: Plan,
    /// Cost with the changes less cost without; negative if the changes save money.
    pub cost_change: Money,
    /// Energy bought with the changes less energy without.
    #[serde(rename = "energy_change_kwh")]
    pub energy_change: Energy,
    /// Shortfall with the changes less shortfall without.
    #[serde(rename = "shortfall_change_kwh")]
    pub shortfall_change: Energy,
}

/// Plans a request with changes, and compares with the request without them.
///
/// Changes are made in the order given.
///
/// # Errors
/// A change does not fit the request, or the changed request is invalid.
///
/// # Example
///
/// Hours cost 0.30 and 0.10, at 7 kW. A reserve of 2 kWh is bought at once for
/// 0.60; without it all 7 kWh come from the second hour, and 0.40 are saved.
///
/// ```
/// use slackwater_engine::plan::questions::{ChangedInput, what_if};
/// use slackwater_engine::plan::charge::{ChargeProblem, ChargeRequest, Target};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, per_kwh};
///
/// let hour = |start: &str, end: &str, price| Slot {
///     start: start.parse().unwrap(),
///     end: end.parse().unwrap(),
///     price: per_kwh(price),
/// };
/// let evening = PriceCurve::new(&[
///     hour("2026-01-05T18:00:00Z", "2026-01-05T19:00:00Z", 0.30),
///     hour("2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z", 0.10),
/// ])?;
/// let now = "2026-01-05T18:00:00Z".parse().unwrap();
/// let mut request = ChargeRequest::new(now, kw(7.0), Target { by: None, energy: kwh(7.0) });
/// request.reserve = kwh(2.0);
///
/// let without = what_if(&evening, &ChargeProblem::new(request)?, &[ChangedInput::NoReserve])?;
///
/// assert_eq!(
///     without.sentence(chrono_tz::UTC, "EUR"),
///     "Without the reserve, the plan would cost 0.40 EUR less.",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn what_if(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    changes: &[ChangedInput],
) -> Result<WhatIf, ChangeError> {
    compare_plans(curve, problem, &plan_charge(curve, problem), changes)
}

/// Plans a request with changes, and compares with `cheapest`, the plan without them.
fn compare_plans(
    curve: &PriceCurve,
    problem: &ChargeProblem,
    cheapest: &Plan,
    changes: &[ChangedInput],
) -> Result<WhatIf, ChangeError> {
    let mut request = problem.request().clone();
    for change in changes {
        apply(&mut request, change)?;
    }
    let other = ChargeProblem::new(request)?;
    let plan = plan_charge(curve, &other);
    Ok(WhatIf {
        changes: changes.to_vec(),
        request: other.request().clone(),
        cost_change: plan.cost - cheapest.cost,
        energy_change: plan.energy - cheapest.energy,
        shortfall_change: plan.shortfall - cheapest.shortfall,
        plan,
    })
}

/// Returns the cost of each part of a request: of the reserve, of a departure one hour earlier or
/// later, of `one_more` energy, and of each deadline.
///
/// Changes that do not apply are left out: there is no reserve, no departure is
/// known, the departure is less than an hour away, or no more energy fits.
#[must_use]
pub fn costs(curve: &PriceCurve, problem: &ChargeProblem, one_more: Option<Energy>) -> Vec<WhatIf> {
    let request = problem.request();
    let mut changes = Vec::new();
    if request.reserve > Energy::ZERO {
        changes.push(ChangedInput::NoReserve);
    }
    if let Some(departure) = departure(request) {
        let hours = [TimeDelta::hours(-1), TimeDelta::hours(1)];
        let moved = hours.iter().filter_map(|&hour| departure.checked_add_signed(hour));
        changes
            .extend(moved.filter(|&at| at > request.now).map(|at| ChangedInput::Departure { at }));
    }
    changes.extend(one_more.map(|energy| ChangedInput::MoreEnergy { energy }));
    let wanted = request.targets.iter().filter(|target| target.energy > Energy::ZERO);
    // Several targets at one instant are one deadline.
    let mut deadlines: Vec<DateTime<Utc>> = wanted.filter_map(|target| target.by).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    changes.extend(deadlines.into_iter().map(|by| ChangedInput::NoDeadline { by }));
    // All changes are compared with one plan, which is made once.
    let cheapest = plan_charge(curve, problem);
    // A change that does not apply to this request has no answer.
    let compare = |change| compare_plans(curve, problem, &cheapest, &[change]).ok();
    changes.into_iter().filter_map(compare).collect()
}

/// Energy at the plug of one more percent, or `None` if the highest target is above the charge
/// limit less one percent.
///
/// # Errors
/// The state of charge is unknown, or capacity or efficiency are invalid.
pub fn one_more_percent(vehicle: &VehicleRequest) -> Result<Option<Energy>, VehicleError> {
    let battery = &vehicle.battery;
    let soc = vehicle.soc()?;
    let limit = battery.charge_limit.as_percent();
    let highest = vehicle.targets.iter().fold(soc.as_percent(), |most, target| {
        most.max(target.soc.unwrap_or(battery.charge_limit).as_percent())
    });
    match Percent::from_percent(highest + 1.0) {
        Ok(more) if more.as_percent() <= limit => {
            let at_plug =
                |wanted| energy_at_plug(battery.capacity, battery.efficiency, soc, wanted);
            let highest = Percent::from_percent(highest).unwrap_or(soc);
            Ok(Some(at_plug(more)? - at_plug(highest)?))
        }
        _ => Ok(None),
    }
}

/// Departure of a request, or else its last deadline.
fn departure(request: &ChargeRequest) -> Option<DateTime<Utc>> {
    request.until.or_else(|| request.targets.iter().filter_map(|target| target.by).max())
}

/// Makes one change to a request.
fn apply(request: &mut ChargeRequest, change: &ChangedInput) -> Result<(), ChangeError> {
    match change {
        ChangedInput::NoReserve => request.reserve = Energy::ZERO,
        ChangedInput::Departure { at } => {
            // Targets due at or after the earlier departure move to the new one.
            let first = departure(request).map_or(*at, |departure| departure.min(*at));
            for target in &mut request.targets {
                if target.by.is_none_or(|by| by >= first) {
                    target.by = Some(*at);
                }
            }
            request.until = Some(*at);
        }
        ChangedInput::MoreEnergy { energy } => {
            let highest = request.targets.iter_mut().max_by(|a, b| {
                // Of equal energies the latest target is raised; no deadline is latest.
                let by = |target: &Target| target.by.unwrap_or(DateTime::<Utc>::MAX_UTC);
                a.energy.total_cmp(&b.energy).then(by(a).cmp(&by(b)))
            });
            let highest = highest.ok_or(ChangeError::NoTarget)?;
            let more = (highest.energy + *energy).max(Energy::ZERO);
            highest.energy = Energy::from_kwh(more.as_kwh())
                .map_err(|_| ChangeError::TooMuch { energy: *energy })?;
        }
        ChangedInput::NoDeadline { by } => {
            let mut due = request.targets.iter_mut().filter(|target| target.by == Some(*by));
            due.next().ok_or(ChangeError::NotADeadline { by: *by })?.by = None;
            due.for_each(|target| target.by = None);
        }
        ChangedInput::Floor { levels } => request.targets.extend(levels),
    }
    Ok(())
}

impl WhatIf {
    /// Sentence about the result, with times on the wall clock of `time_zone` and amounts in
    /// `currency`.
    #[must_use]
    pub fn sentence(&self, time_zone: Tz, currency: &str) -> String {
        let clauses: Vec<String> =
            self.changes.iter().map(|change| clause(change, time_zone)).collect();
        if clauses.is_empty() {
            return NOTHING_CHANGED.to_owned();
        }
        let text = clauses.join(" and ");
        // Clauses begin with an ASCII letter, so the first byte is a character.
        let text = text[..1].to_uppercase() + &text[1..];
        let change = TotalsChange {
            cost: self.cost_change,
            energy: self.energy_change,
            shortfall: self.shortfall_change,
            degree_hours: 0.0,
            gap: Money::ZERO,
        };
        // The clause of the change names the energy already if that is the change itself.
        let is_energy = |change: &ChangedInput| matches!(change, ChangedInput::MoreEnergy { .. });
        let tells_energy = !self.changes.iter().any(is_energy);
        format!("{text}, {}.", change.tell(currency, tells_energy))
    }
}

/// Clause of a sentence for one change.
fn clause(change: &ChangedInput, time_zone: Tz) -> String {
    let clock = |at: DateTime<Utc>| wall_clock(at, time_zone);
    match change {
        ChangedInput::NoReserve => "without the reserve".to_owned(),
        ChangedInput::Departure { at } => format!("with departure {}", clock(*at)),
        ChangedInput::MoreEnergy { energy } => {
            let word = if *energy < Energy::ZERO { "less" } else { "more" };
            format!("with {} kWh {word}", rounded(energy.as_kwh().abs(), 2))
        }
        ChangedInput::NoDeadline { by } => format!("without the deadline {}", clock(*by)),
        ChangedInput::Floor { levels } => match levels[..] {
            [Target { by, energy }] => {
                let by = by.map_or_else(|| END_OF_PRICES.to_owned(), clock);
                format!("with {} kWh by {by}", rounded(energy.as_kwh(), 2))
            }
            _ => format!("with {} levels on the way", levels.len()),
        },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::request::AfterDeadline;
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{kw, kwh, percent};

    fn minute(minutes: i64) -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
    }

    fn request(targets: &[(i64, f64)]) -> ChargeRequest {
        let target = |&(by, energy)| Target { by: Some(minute(by)), energy: kwh(energy) };
        let mut request = ChargeRequest::new(minute(0), kw(10.0), target(&(0, 0.0)));
        request.targets = targets.iter().map(target).collect();
        request
    }

    /// Prices of four hours: 30, 20, 10 and 40 cents.
    fn prices() -> PriceCurve {
        curve_of(60, &[30, 20, 10, 40])
    }

    #[track_caller]
    fn check(request: ChargeRequest, one_more: Option<Energy>, expected: &Expect) {
        let answers = costs(&prices(), &ChargeProblem::new(request).unwrap(), one_more);
        let lines = answers.iter().map(|answer| answer.sentence(chrono_tz::UTC, "EUR") + "\n");
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn every_wish_has_its_cost() {
        let mut wish = request(&[(60, 4.0), (180, 15.0)]);
        wish.reserve = kwh(5.0);
        check(
            wish,
            Some(kwh(1.0)),
            &expect![[r#"
                Without the reserve, the plan would cost 0.10 EUR less.
                With departure Mon 20:00, the plan would cost 1.00 EUR more.
                With departure Mon 22:00, the plan would cost the same.
                With 1 kWh more, the plan would cost 0.20 EUR more.
                Without the deadline Mon 19:00, the plan would cost the same.
                Without the deadline Mon 21:00, the plan would cost the same.
            "#]],
        );
    }

    #[test]
    fn questions_that_do_not_arise_are_not_asked() {
        let mut wish = request(&[(30, 0.0)]);
        wish.energy_max = Some(kwh(0.5));
        check(
            wish,
            Some(kwh(1.0)),
            &expect![[r#"
            With departure Mon 19:30, the plan would cost the same.
        "#]],
        );
        check(request(&[]), None, &expect![[""]]);
    }

    #[test]
    fn changes_add_up_in_one_sentence() {
        let problem = ChargeProblem::new(request(&[(180, 15.0)])).unwrap();
        let floor = ChangedInput::Floor {
            levels: vec![Target { by: Some(minute(60)), energy: kwh(12.0) }],
        };
        let more = ChangedInput::MoreEnergy { energy: kwh(-5.0) };
        let answer = what_if(&prices(), &problem, &[floor, more]).unwrap();
        expect!["With 12 kWh by Mon 19:00 and with 5 kWh less, the plan would cost 1.40 EUR more and miss 2 kWh more."].assert_eq(&answer.sentence(chrono_tz::UTC, "EUR"));
        let nothing = what_if(&prices(), &problem, &[]).unwrap();
        assert_eq!(
            nothing.sentence(chrono_tz::UTC, "EUR"),
            "Nothing was changed; the cost is the same."
        );
    }

    #[test]
    fn a_change_that_does_not_fit_is_refused() {
        let problem = ChargeProblem::new(request(&[(180, 15.0)])).unwrap();
        let text = |change| what_if(&prices(), &problem, &[change]).unwrap_err().to_string();
        let by = minute(7);
        assert_eq!(
            text(ChangedInput::NoDeadline { by }),
            "no target is due at 2026-01-05 18:07:00 UTC"
        );
        let more = ChangedInput::MoreEnergy { energy: kwh(1e12) };
        assert_eq!(text(more), "more_kwh is beyond any battery: 1000000000000 kWh");
        let levels = vec![Target { by: None, energy: kwh(-1.0) }];
        let negative = "targets[1].energy_kwh is -1 kWh; a target is 0 kWh or more";
        assert_eq!(text(ChangedInput::Floor { levels }), negative);
        let none = ChargeProblem::new(request(&[])).unwrap();
        let more = what_if(&prices(), &none, &[ChangedInput::MoreEnergy { energy: kwh(1.0) }]);
        assert_eq!(more.unwrap_err(), ChangeError::NoTarget);
    }

    #[test]
    fn one_percent_more_ends_at_the_charge_limit() {
        let mut vehicle = VehicleRequest {
            now: minute(0),
            until: None,
            power_max: kw(10.0),
            power_limits: Vec::new(),
            battery: Battery {
                capacity: kwh(50.0),
                soc: Some(percent(30.0)),
                soc_fallback: None,
                charge_limit: percent(80.0),
                efficiency: 0.5,
            },
            targets: vec![SocTarget { by: None, soc: Some(percent(60.0)) }],
            reserve: percent(0.0),
            fill_when_negative: false,
            after_deadline: AfterDeadline::Continue,
        };
        let more = one_more_percent(&vehicle).unwrap().unwrap();
        assert!((more - kwh(1.0)).as_kwh().abs() < 1e-9);
        vehicle.targets[0].soc = None;
        assert_eq!(one_more_percent(&vehicle), Ok(None));
        vehicle.battery.soc = None;
        assert_eq!(one_more_percent(&vehicle), Err(VehicleError::UnknownSoc));
    }

    proptest! {
        /// A request with fewer constraints never costs more, and one with more never less.
        #[test]
        fn fewer_wishes_never_cost_more(
            cents in prop::collection::vec(0..60i32, 12..60),
            targets in prop::collection::vec((1..12i64, 0.0..1.0f64), 1..4),
            reserve in 0.0..10.0f64, hours in 1..3i64,
        ) {
            let curve = curve_of(60, &cents);
            let targets: Vec<(i64, f64)> = targets
                .into_iter()
                .map(|(hour, share)| (hour * 60, share * hour as f64 * 10.0))
                .collect();
            let mut wish = request(&targets);
            wish.reserve = kwh(reserve);
            let problem = ChargeProblem::new(wish.clone()).unwrap();
            let ask = |change| what_if(&curve, &problem, &[change]).unwrap();
            let near_zero = 1e-9;
            prop_assert!(ask(ChangedInput::NoReserve).cost_change.as_amount() <= near_zero);
            for target in &wish.targets {
                let free = ask(ChangedInput::NoDeadline { by: target.by.unwrap() });
                prop_assert!(free.cost_change.as_amount() <= near_zero);
            }
            let last = wish.targets.iter().filter_map(|target| target.by).max().unwrap();
            let late = ask(ChangedInput::Departure { at: last + TimeDelta::hours(hours) });
            prop_assert!(late.cost_change.as_amount() <= near_zero);
            let early = ask(ChangedInput::Departure { at: last - TimeDelta::minutes(30) });
            prop_assert!(early.cost_change.as_amount() >= -near_zero || early.energy_change < Energy::ZERO);
            let floor = ChangedInput::Floor { levels: vec![Target { by: Some(minute(60)), energy: kwh(1.0) }] };
            prop_assert!(ask(floor).cost_change.as_amount() >= -near_zero);
        }
    }
}

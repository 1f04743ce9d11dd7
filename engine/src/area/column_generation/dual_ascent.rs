//! Ascent on the Lagrangian dual by projected quasi-Newton steps, before the first master.
//!
//! Where each vehicle has prices of its own, a dual that rises a little moves the energy of few
//! vehicles. The dual function of a fleet is then nearly smooth, and its slope tells where the
//! optimum is, which cutting planes, as the columns are, find out by many rounds:
//!
//! ```text
//! maximise  D(λ)   over the domain of the conjugates f_l*
//! g = ∂D/∂λ_lt = s_l·load_lt(λ) - ∂f_l*/∂λ_lt
//! λ⁺ = P( λ + t·H·g )
//! ```
//!
//! `P` moves duals into the domain. `H` is the inverse of minus the curvature by the last steps
//! `s = λ⁺ - λ` and changes of slope `y = g - g⁺`, on the duals that `P` leaves free; it takes no
//! matrix (the two-loop recursion of L-BFGS). `t` is halved or more until `D` rises enough. Each
//! point is a pricing round, whose columns the master has afterwards: those near the optimum
//! have loads near the bounds, and few more are needed.
//!
//! J. Nocedal, Updating quasi-Newton matrices with limited storage, Mathematics of Computation 35
//! (1980). D. P. Bertsekas, Projected Newton methods for optimization problems with simple
//! constraints, SIAM Journal on Control and Optimization 20 (1982).
//!
//! | Symbol | Code |
//! |---|---|
//! | `λ`, `D(λ)`, `g` | [`DualPoint`] |
//! | `P` | `project` of [`DualAscent::maximise`] |
//! | `s`, `y` | [`Curvature`] |
//! | `H·g` | [`DualAscent::direction`] |
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Upper bound on the pricing rounds of an ascent.
///
/// In a model of 8,192 vehicles in 96 slots (numpy) the bound is within 1e-4 of the optimum after 10
/// rounds, and within 1e-7 after 15. The rounds after that give the columns: the whole search to a gap of
/// 1e-4 takes 214 rounds with an ascent of 12, 70 with 16, 27 with 20, 28 with 24, 31 with 28, and some
/// 300 without.
pub(crate) const ASCENT_ROUNDS: usize = 24;

/// Upper bound on the pricing rounds of an ascent that goes on under bounds that moved a little, from
/// known curvature and columns.
pub(crate) const ASCENT_ROUNDS_AGAIN: usize = ASCENT_ROUNDS / 2;

/// Steps whose curvature is remembered.
const MEMORY: usize = 8;

/// Part of the rise by the slope that a step must reach (Armijo).
const RISE_MIN: f64 = 1e-4;

/// Upper bound on the points of a line search.
const TRIALS_MAX: usize = 6;

/// Least cosine between a step and its change of slope. Below it the curvature is rounding.
const COSINE_MIN: f64 = 1e-10;

/// Value and slope of the dual function.
#[derive(Debug, Clone)]
pub(crate) struct DualPoint {
    pub(crate) duals: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
}

/// Step of the duals, and by how much the slope fell along it.
#[derive(Debug, Clone)]
struct Curvature {
    step: Vec<f64>,
    fall: Vec<f64>,
}

/// Curvature of a dual function, from the steps so far. It also holds under other bounds, which
/// change slopes by a constant.
#[derive(Debug, Clone, Default)]
pub(crate) struct DualAscent {
    last: VecDeque<Curvature>,
}

impl DualAscent {
    /// Climbs from `start` for at most `rounds` evaluations, or until no step rises.
    ///
    /// `first_step` is the length of a step as long as no curvature is known: the change of the
    /// dual with the steepest slope. `evaluate` breaks to end the ascent.
    pub(crate) fn maximise<E>(
        &mut self,
        start: DualPoint,
        (first_step, rounds): (f64, usize),
        project: impl Fn(&mut [f64]),
        mut evaluate: impl FnMut(Vec<f64>) -> Result<ControlFlow<(), DualPoint>, E>,
    ) -> Result<(), E> {
        let mut at = start;
        let mut left = rounds;
        while left > 0 {
            let Some(direction) = self.direction(&at, first_step, &project) else { return Ok(()) };
            let mut length = 1.0;
            let mut next = None;
            for _ in 0..TRIALS_MAX.min(left) {
                let mut duals = along(&at.duals, &direction, length);
                project(&mut duals);
                let step = difference(&duals, &at.duals);
                let rise = dot(&at.gradient, &step);
                if rise <= 0.0 {
                    break;
                }
                left -= 1;
                let ControlFlow::Continue(point) = evaluate(duals)? else { return Ok(()) };
                let risen = point.value - at.value;
                self.remember(step, difference(&at.gradient, &point.gradient));
                if risen >= RISE_MIN * rise {
                    next = Some(point);
                    break;
                }
                // The top of the parabola through both values.
                length *= (0.5 * rise / (rise - risen)).clamp(0.1, 0.5);
            }
            match next {
                Some(point) => at = point,
                None if self.last.is_empty() => return Ok(()),
                None => self.last.clear(),
            }
        }
        Ok(())
    }

    /// Direction `H·g` on the free duals. `None` if no dual is free to rise.
    fn direction(
        &self,
        at: &DualPoint,
        first_step: f64,
        project: &impl Fn(&mut [f64]),
    ) -> Option<Vec<f64>> {
        let steepest = at.gradient.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
        if steepest <= 0.0 {
            return None;
        }
        // A dual is free if the domain lets it follow the slope.
        let mut moved = along(&at.duals, &at.gradient, first_step / steepest);
        project(&mut moved);
        let free: Vec<bool> =
            moved.iter().zip(&at.duals).map(|(a, b)| a.total_cmp(b).is_ne()).collect();
        let restrict = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&free).map(|(&v, &free)| if free { v } else { 0.0 }).collect()
        };
        let slope = restrict(&at.gradient);
        let steepest = slope.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
        if steepest <= 0.0 {
            return None;
        }
        let pairs: Vec<(Vec<f64>, Vec<f64>)> = self
            .last
            .iter()
            .map(|pair| (restrict(&pair.step), restrict(&pair.fall)))
            .filter(|(step, fall)| is_curved(step, fall))
            .collect();
        // Two-loop recursion, newest pair first and then back.
        let mut direction = slope.clone();
        let mut parts = Vec::with_capacity(pairs.len());
        for (step, fall) in pairs.iter().rev() {
            let part = dot(step, &direction) / dot(step, fall);
            add_to(&mut direction, fall, -part);
            parts.push(part);
        }
        let scale = pairs
            .last()
            .map_or(first_step / steepest, |(step, fall)| dot(step, fall) / dot(fall, fall));
        for value in &mut direction {
            *value *= scale;
        }
        for ((step, fall), part) in pairs.iter().zip(parts.iter().rev()) {
            let other = dot(fall, &direction) / dot(step, fall);
            add_to(&mut direction, step, part - other);
        }
        let direction = restrict(&direction);
        if dot(&direction, &slope) > 0.0 {
            return Some(direction);
        }
        Some(slope.iter().map(|slope| slope * first_step / steepest).collect())
    }

    /// Remembers the curvature along a step, whether it was taken or not.
    fn remember(&mut self, step: Vec<f64>, fall: Vec<f64>) {
        if is_curved(&step, &fall) {
            if self.last.len() == MEMORY {
                self.last.pop_front();
            }
            self.last.push_back(Curvature { step, fall });
        }
    }
}

/// Returns true if the slope falls along a step by more than rounding.
fn is_curved(step: &[f64], fall: &[f64]) -> bool {
    dot(step, fall) > COSINE_MIN * (dot(step, step) * dot(fall, fall)).sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The point `length` along a direction.
fn along(from: &[f64], direction: &[f64], length: f64) -> Vec<f64> {
    from.iter().zip(direction).map(|(from, by)| from + length * by).collect()
}

fn add_to(sums: &mut [f64], values: &[f64], factor: f64) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// Concave function `Σ_i a_i·x_i - w_i·x_i² / 2 - c·(Σ_i x_i)² / 2`.
    struct Hill {
        rise: Vec<f64>,
        fall: Vec<f64>,
        coupling: f64,
    }

    impl Hill {
        fn at(&self, x: Vec<f64>) -> DualPoint {
            let sum: f64 = x.iter().sum();
            let slopes = x.iter().zip(self.rise.iter().zip(&self.fall));
            let gradient: Vec<f64> =
                slopes.clone().map(|(x, (a, w))| a - w * x - self.coupling * sum).collect();
            let value = slopes.map(|(x, (a, w))| a * x - w * x * x / 2.0).sum::<f64>();
            DualPoint { duals: x, value: value - self.coupling * sum * sum / 2.0, gradient }
        }
    }

    /// Best point of an ascent from zero over `0 <= x <= most`, and the rounds it took.
    fn climbed(hill: &Hill, most: f64, rounds: usize) -> (DualPoint, usize) {
        let mut best = hill.at(vec![0.0; hill.rise.len()]);
        let mut used = 0;
        let clamp = |x: &mut [f64]| x.iter_mut().for_each(|x| *x = x.clamp(0.0, most));
        let climb = DualAscent::default().maximise(best.clone(), (0.1, rounds), clamp, |x| {
            used += 1;
            let point = hill.at(x);
            if point.value > best.value {
                best = point.clone();
            }
            Ok::<_, Infallible>(ControlFlow::Continue(point))
        });
        let Ok(()) = climb;
        (best, used)
    }

    proptest! {
        /// At the top no dual can follow its slope.
        #[test]
        fn the_top_of_a_concave_function_is_found(
            rise in prop::collection::vec(-2.0..2.0f64, 1..30),
            curvature in prop::collection::vec(0.5..3.0f64, 30),
            coupling in 0.0..0.5f64,
            most in 0.2..3.0f64,
        ) {
            let hill = Hill { fall: curvature[..rise.len()].to_vec(), rise, coupling };
            let (top, _) = climbed(&hill, most, 400);
            for (x, slope) in top.duals.iter().zip(&top.gradient) {
                let follows = (x + slope).clamp(0.0, most) - x;
                prop_assert!(follows.abs() < 1e-4, "{x} {slope}");
            }
        }
    }

    #[test]
    fn an_ascent_ends_where_no_dual_is_free() {
        let hill = Hill { rise: vec![-1.0, 0.0], fall: vec![1.0, 1.0], coupling: 0.0 };
        assert_eq!(climbed(&hill, 1.0, 50).1, 0);
    }

    #[test]
    fn an_ascent_keeps_to_its_rounds_and_to_the_wish_of_the_caller() {
        let hill = Hill { rise: vec![1.0; 20], fall: vec![0.01; 20], coupling: 0.4 };
        assert!(climbed(&hill, 9.0, 3).1 <= 3);
        let mut asked = 0;
        let start = hill.at(vec![0.0; 20]);
        let stopped = DualAscent::default().maximise(
            start,
            (0.1, 50),
            |_| {},
            |_| {
                asked += 1;
                Ok::<_, Infallible>(ControlFlow::Break(()))
            },
        );
        assert_eq!((stopped, asked), (Ok(()), 1));
    }
}

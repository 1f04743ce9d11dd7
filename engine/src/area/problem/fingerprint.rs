//! Fingerprint of a problem, by which a plan knows the problem that it was made of.
use std::fmt::{self, Write};

use crate::area::problem::area_problem::AreaProblem;
use crate::columns::fleet::{Curves, Needs};

/// Sum of words: FNV-1a (Fowler, Noll and Vo) on 64 bits at a time, with a rotation so that the
/// high bits of a word, in which numbers mostly differ, reach the low bits of the next step.
struct Fingerprint(u64);

impl Fingerprint {
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(Self::PRIME).rotate_left(29);
    }

    /// Adds a column and its length; an absent column differs from an empty one.
    fn column<T: Copy>(&mut self, column: Option<&[T]>, word: fn(T) -> u64) {
        self.add(column.map_or(u64::MAX, |values| values.len() as u64));
        column.into_iter().flatten().for_each(|&value| self.add(word(value)));
    }

    fn prices(&mut self, curves: Curves<'_>) {
        let horizon = curves.horizon();
        self.column(Some(horizon.starts()), |start| start as u64);
        self.column(Some(horizon.ends()), |end| end as u64);
        (0..curves.rows()).for_each(|row| self.column(Some(curves.prices(row)), f64::to_bits));
    }
}

impl Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
        Ok(())
    }
}

/// Fingerprint of vehicles, prices and nodes. Equal problems have equal ones; different problems
/// have different ones but for chance.
pub(crate) fn fingerprint(problem: &AreaProblem<'_>) -> u64 {
    let mut sum = Fingerprint(0xcbf2_9ce4_8422_2325);
    let vehicles = &problem.vehicles;
    let fleet = &vehicles.fleet;
    sum.column(Some(fleet.arrival), |time| time as u64);
    sum.column(Some(fleet.departure), |time| time as u64);
    let needs = match fleet.needs {
        Needs::Energy { energy_kwh } => [Some(energy_kwh), None, None, None, None],
        Needs::Soc { soc_percent, target_percent, capacity_kwh, reserve_percent, efficiency } => [
            Some(soc_percent),
            Some(target_percent),
            Some(capacity_kwh),
            reserve_percent,
            efficiency,
        ],
    };
    let targets = fleet.targets;
    let storage = vehicles.storage;
    // Columns in a fixed order, each with its length: values of one do not pass for another.
    let numbers = [
        Some(fleet.power_max_kw),
        fleet.reserve_kwh,
        targets.map(|targets| targets.energy_kwh),
        vehicles.priority,
        vehicles.power_min_kw,
        storage.map(|storage| storage.discharge_max_kw),
        storage.and_then(|storage| storage.efficiency_discharge),
        storage.and_then(|storage| storage.charge_limit_percent),
        storage.and_then(|storage| storage.end_value_per_kwh),
        storage.and_then(|storage| storage.wear_price_per_kwh),
    ];
    needs.into_iter().chain(numbers).for_each(|column| sum.column(column, f64::to_bits));
    sum.column(targets.map(|targets| targets.offsets), |offset| offset as u64);
    sum.column(targets.map(|targets| targets.by), |time| time as u64);
    // Absent, it adds nothing: fingerprints stay what they were before there was the column.
    if let Some(fills) = storage.and_then(|storage| storage.fills) {
        sum.column(Some(fills), u64::from);
    }
    sum.column(fleet.curve, u64::from);
    sum.column(vehicles.node, u64::from);
    sum.prices(problem.curves);
    problem.export().into_iter().for_each(|export| sum.prices(export));
    // Writing into a fingerprint returns no error.
    let _ = write!(sum, "{:?}", problem.nodes);
    if !problem.heat.is_empty() {
        let _ = write!(sum, "{:?}", problem.heat);
    }
    sum.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::problem::area_problem::AreaVehicles;
    use crate::area::problem::limits::{Node, Profile};
    use crate::columns::fleet::Fleet;
    use crate::prices::curve::PriceCurve;
    use crate::prices::curve::tests::curve_of;
    use crate::units::kw;

    fn of(curve: &PriceCurve, energy_kwh: f64, priority: Option<f64>, limit_kw: f64) -> u64 {
        let priority = priority.map(|priority| [priority]);
        let fleet = Fleet {
            arrival: &[0],
            departure: &[3_600_000_000],
            needs: Needs::Energy { energy_kwh: &[energy_kwh] },
            power_max_kw: &[11.0],
            reserve_kwh: None,
            targets: None,
            curve: None,
        };
        let vehicles = AreaVehicles {
            fleet,
            node: None,
            priority: priority.as_ref().map(|column| &column[..]),
            power_min_kw: None,
            storage: None,
        };
        let node = Node::limited("street", Profile::Constant(kw(limit_kw)));
        fingerprint(&AreaProblem::new(vehicles, Curves::Shared(curve), vec![node]).unwrap())
    }

    #[test]
    fn a_problem_differs_in_a_need_a_column_a_price_and_a_limit() {
        let (curve, dearer) = (curve_of(60, &[10, 20]), curve_of(60, &[10, 21]));
        let first = of(&curve, 8.0, None, 25.0);
        assert_eq!(first, of(&curve, 8.0, None, 25.0));
        assert_ne!(first, of(&curve, 8.5, None, 25.0));
        assert_ne!(first, of(&curve, 8.0, Some(1.0), 25.0));
        assert_ne!(first, of(&dearer, 8.0, None, 25.0));
        assert_ne!(first, of(&curve, 8.0, None, 25.5));
    }
}

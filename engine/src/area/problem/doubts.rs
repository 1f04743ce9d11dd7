//! Powers of an area that look like watts: limits far above all that they limit, and base loads far
//! above their limits.
use crate::area::problem::area_problem::AreaProblem;
use crate::area::problem::limits::{Limit, Node, Profile, base_loads_kw};
use crate::plausibility::{Doubt, find_power_doubt};
use crate::units::Power;

impl AreaProblem<'_> {
    /// Finds powers of nodes that are hardly in kW. Nothing is wrong with the problem for it.
    #[must_use]
    pub fn find_power_doubts(&self) -> Vec<Doubt> {
        let slots = self.horizon().len();
        let nodes = self.nodes.iter().zip(self.highest_powers_kw());
        nodes
            .flat_map(|(node, below_kw)| {
                let place = format!("nodes[{:?}]", node.name);
                find_node_doubts(node, below_kw, (slots, &place))
            })
            .collect()
    }

    /// Sum of the highest powers of all devices at each node or below, in either direction, and of
    /// the highest base load there, in kW.
    fn highest_powers_kw(&self) -> Vec<f64> {
        let base = base_loads_kw(&self.nodes, self.horizon().len());
        let most =
            |loads: &Vec<f64>| loads.iter().fold(0.0, |most: f64, load| most.max(load.abs()));
        let mut sums: Vec<f64> = base.iter().map(most).collect();
        let mut own = vec![0.0; self.nodes.len()];
        for row in 0..self.vehicles.fleet.len() {
            let node = self.vehicles.node.map_or(0, |nodes| nodes[row] as usize);
            let charge_kw = self.vehicles.fleet.power_max_kw[row].abs();
            let feed_kw = self.vehicles.storage.map_or(0.0, |own| own.discharge_max_kw[row].abs());
            own[node] += finite_or_zero(charge_kw).max(finite_or_zero(feed_kw));
        }
        for unit in &self.heat {
            own[unit.node as usize] += unit.unit.heat.power_max.as_kw();
        }
        for (at, own_kw) in own.into_iter().enumerate() {
            for above in std::iter::successors(Some(at), |&at| self.nodes[at].parent) {
                sums[above] += own_kw;
            }
        }
        sums
    }
}

/// Finds powers of one node that are hardly in kW, beside the sum of the powers below it.
pub(crate) fn find_node_doubts(
    node: &Node,
    below_kw: f64,
    (slots, place): (usize, &str),
) -> Vec<Doubt> {
    let below = ("all that is below it", Power::from_kw(below_kw).unwrap_or(Power::ZERO));
    let mut doubts = Vec::new();
    for (name, power) in node.limits.iter().filter_map(|limit| highest_of(limit, slots)) {
        doubts.extend(find_power_doubt(&format!("{place}.{name}"), power, below));
        if let (Some(base), "limit_kw") = (&node.base, name) {
            let base = highest(base, slots);
            doubts.extend(find_power_doubt(&format!("{place}.base_kw"), base, (name, power)));
        }
    }
    doubts
}

/// Highest power that a limit on a node names, and the field that it is given in.
fn highest_of(limit: &Limit, slots: usize) -> Option<(&'static str, Power)> {
    match limit {
        Limit::Import { power_max, .. } => Some(("limit_kw", highest(power_max, slots))),
        Limit::Export { power_max, .. } => Some(("export_limit_kw", highest(power_max, slots))),
        Limit::Peak { incurred, .. } => Some(("peak_incurred_kw", *incurred)),
        Limit::Follow { power, .. } | Limit::FollowSquares { power, .. } => {
            Some(("target_kw", highest(power, slots)))
        }
        // The levels of blocks may go on to any power.
        Limit::Blocks(_) => None,
    }
}

/// Highest power of a profile, in either direction.
fn highest(profile: &Profile, slots: usize) -> Power {
    let powers = (0..slots).filter_map(|slot| profile.at(slot));
    powers.map(|power| power.max(Power::ZERO - power)).fold(Power::ZERO, Power::max)
}

/// A power of a vehicle; 0 for one that is missing or wrong, which is an error of its row.
fn finite_or_zero(power_kw: f64) -> f64 {
    if power_kw.is_finite() { power_kw } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::problem::area_problem::AreaVehicles;
    use crate::columns::fleet::{Curves, Fleet, Needs};
    use crate::prices::curve::tests::curve_of;
    use crate::units::{Price, kw};

    /// Doubts about a town above a street of two vehicles of 11 kW.
    fn doubts(base_kw: f64, street: Vec<Limit>) -> Vec<String> {
        let curve = curve_of(60, &[10, 20]);
        let fleet = Fleet {
            arrival: &[0, 0],
            departure: &[3_600_000_000, 3_600_000_000],
            needs: Needs::Energy { energy_kwh: &[8.0, 8.0] },
            power_max_kw: &[11.0, 11.0],
            reserve_kwh: None,
            targets: None,
            curve: None,
        };
        let vehicles = AreaVehicles {
            fleet,
            node: Some(&[1, 1]),
            priority: None,
            power_min_kw: None,
            storage: None,
        };
        let mut town = Node::limited("town", Profile::Constant(kw(2_000.0)));
        town.base = Some(Profile::Constant(kw(500.0)));
        let base = Some(Profile::PerSlot(vec![None, Some(kw(base_kw))]));
        let street = Node { name: "street".to_owned(), parent: Some(0), base, limits: street };
        let problem = AreaProblem::new(vehicles, Curves::Shared(&curve), vec![town, street]);
        problem.unwrap().find_power_doubts().iter().map(ToString::to_string).collect()
    }

    fn import(power_kw: f64) -> Limit {
        Limit::Import { power_max: Profile::Constant(kw(power_kw)), price: None }
    }

    #[test]
    fn limits_far_above_all_that_they_limit_are_doubted() {
        let export = Limit::Export { power_max: Profile::Constant(kw(9e3)), price: None };
        let peak = Limit::Peak { price_per_kw: 5.0, incurred: kw(11e3) };
        let follow = Limit::Follow {
            power: Profile::PerSlot(vec![None, Some(kw(12e3))]),
            price: Price::from_per_kwh(0.1).unwrap(),
        };
        let told = |field: &str, power: u32| {
            format!(
                "nodes[\"street\"].{field} is {power} kW, beside 24 kW of all that is below it; \
                 a power in W is divided by 1000"
            )
        };
        assert_eq!(
            doubts(2.0, vec![import(10e3), export, peak, follow]),
            [
                told("limit_kw", 10_000),
                told("export_limit_kw", 9_000),
                told("peak_incurred_kw", 11_000),
                told("target_kw", 12_000),
            ],
        );
        // What 2,000 kW limits in the town is 524 kW.
        assert!(doubts(2.0, vec![import(20.0)]).is_empty());
    }

    #[test]
    fn base_load_far_above_its_limit_is_doubted() {
        let told = "nodes[\"street\"].base_kw is 5000 kW, beside 20 kW of limit_kw; a power in W is \
                    divided by 1000";
        assert_eq!(doubts(5e3, vec![import(20.0)]), [told]);
        assert!(doubts(90.0, vec![import(20.0)]).is_empty());
        assert!(doubts(5e3, Vec::new()).is_empty());
    }
}

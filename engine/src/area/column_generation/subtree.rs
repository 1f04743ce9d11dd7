//! How an area falls apart: a few wide nodes, and many branches below them.
//!
//! A feeder sees only its own vehicles. Once the limits above have a price,
//! each feeder is a small area of its own.
use std::collections::{BTreeMap, BTreeSet};

use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::{NODES_MANY, Sessions};
use crate::area::problem::micro_wh::as_kwh;

/// Nodes above the branches, at most.
const UPPER_NODES_MAX: usize = 8;

/// A branch: a limited node with all that hangs from it.
pub(crate) struct Subtree {
    /// The limits inside.
    pub(crate) constraints: LinkingConstraints,
    /// Their positions among all limits.
    pub(crate) constraints_at: Vec<usize>,
    /// The node that the rest hangs from.
    pub(crate) root: u32,
    /// Limited nodes whose prices come from elsewhere: those above it, and itself
    /// where its limits are wide ones.
    pub(crate) outer_nodes: Vec<u32>,
    /// Groups of vehicles inside.
    pub(crate) groups: Vec<usize>,
    /// Its part of all needs.
    pub(crate) share: f64,
}

impl Subtree {
    /// Whether a node is its top or hangs from it.
    pub(crate) fn has(&self, node: u32) -> bool {
        node == self.root || !self.outer_nodes.contains(&node)
    }
}

/// An area as wide limits and branches.
pub(crate) struct Decomposition {
    /// Limits that are in no branch.
    pub(crate) upper: LinkingConstraints,
    /// Their positions among all limits.
    pub(crate) upper_at: Vec<usize>,
    pub(crate) subtrees: Vec<Subtree>,
}

impl Decomposition {
    /// An area of many nodes; `None` where one programme serves better. Limits of
    /// a branch that `is_loose` are taken for wide ones: they are hardly ever
    /// reached, and need no programme of their own.
    pub(crate) fn new(
        constraints: &LinkingConstraints,
        sessions: &Sessions,
        is_loose: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        let tops = roots(constraints, sessions)?;
        let mut groups: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        let mut needs: BTreeMap<u32, i64> = BTreeMap::new();
        let mut owner = vec![None; sessions.groups];
        for block in &sessions.blocks {
            let top = tops[&block.node];
            if owner[block.group].is_some_and(|other| other != top) {
                return None;
            }
            owner[block.group] = Some(top);
            groups.entry(top).or_default().insert(block.group);
            let need: i64 =
                sessions.each[block.sessions.clone()].iter().map(|session| session.need).sum();
            *needs.entry(top).or_default() += need;
        }
        let is_alone =
            |top: u32| constraints.paths.iter().filter(|path| path.contains(&top)).count() == 1;
        let loose: BTreeSet<u32> =
            groups.keys().copied().filter(|&top| is_loose(top) && is_alone(top)).collect();
        let branch_of = |node: usize| {
            let path = &constraints.paths[node];
            let top = path.iter().copied().find(|node| groups.contains_key(node));
            top.filter(|top| !loose.contains(top))
        };
        let mut inside: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut wide_at = Vec::new();
        for (at, constraint) in constraints.each.iter().enumerate() {
            match branch_of(constraint.node) {
                Some(top) => inside.entry(top).or_default().push(at),
                None => wide_at.push(at),
            }
        }
        let all = sessions.need_kwh().max(1e-9);
        let subtree = |(top, groups): (u32, BTreeSet<usize>)| {
            let terms_at = inside.remove(&top).unwrap_or_default();
            Subtree {
                constraints: constraints.subset(&terms_at),
                constraints_at: terms_at,
                root: top,
                outer_nodes: constraints.paths[top as usize][usize::from(!loose.contains(&top))..]
                    .to_vec(),
                groups: groups.into_iter().collect(),
                share: as_kwh(needs[&top]) / all,
            }
        };
        let subtrees = groups.clone().into_iter().map(subtree).collect();
        let is_wide = |at: usize| wide_at.binary_search(&at).is_ok();
        Some(Self { upper: constraints.restricted_to(is_wide), upper_at: wide_at, subtrees })
    }

    /// Prices of the wide limits among those of all.
    pub(crate) fn upper_duals(&self, duals: &[f64], slots: usize) -> Vec<f64> {
        gather(&self.upper_at, duals, slots)
    }

    /// Prices of all limits; those inside branches are zero.
    pub(crate) fn spread_out(&self, wide: &[f64], cells: usize, slots: usize) -> Vec<f64> {
        let mut all = vec![0.0; cells];
        scatter(&self.upper_at, wide, &mut all, slots);
        all
    }
}

/// The runs of some terms, out of those of all.
pub(crate) fn gather(at: &[usize], all: &[f64], slots: usize) -> Vec<f64> {
    at.iter().flat_map(|&constraint| all[constraint * slots..][..slots].iter().copied()).collect()
}

/// Puts the runs of some terms back among those of all.
pub(crate) fn scatter(at: &[usize], some: &[f64], all: &mut [f64], slots: usize) {
    for (&constraint, run) in at.iter().zip(some.chunks(slots.max(1))) {
        all[constraint * slots..][..slots].copy_from_slice(run);
    }
}

/// The branch of each node that has vehicles, as near to the top as there are
/// many of them.
fn roots(constraints: &LinkingConstraints, sessions: &Sessions) -> Option<BTreeMap<u32, u32>> {
    let nodes: BTreeSet<u32> = sessions.blocks.iter().map(|block| block.node).collect();
    let from_top =
        |&node: &u32| (node, constraints.paths[node as usize].iter().rev().copied().collect());
    let chains: Vec<(u32, Vec<u32>)> = nodes.iter().map(from_top).collect();
    let deepest = chains.iter().map(|(_, chain)| chain.len()).min()?;
    for depth in 0..deepest {
        let wide: BTreeSet<u32> = chains.iter().flat_map(|(_, c)| c[..depth].to_vec()).collect();
        let tops: BTreeMap<u32, u32> = chains.iter().map(|(node, c)| (*node, c[depth])).collect();
        let regions: BTreeSet<u32> = tops.values().copied().collect();
        if wide.len() > UPPER_NODES_MAX {
            return None;
        }
        if regions.len() >= NODES_MANY {
            return Some(tops);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::model::linking::LinkingConstraints;
    use crate::area::model::sessions::Sessions;
    use crate::area::problem::area_problem::{AreaProblem, AreaVehicles};
    use crate::area::problem::limits::{Node, Profile};
    use crate::columns::fleet::{Curves, Fleet, Needs};
    use crate::prices::curve::tests::curve_of;
    use crate::units::kw;

    const HOUR: i64 = 3_600_000_000;

    /// Top nodes of branches, positions of wide limits, and of those of each branch.
    type Fallen = (Vec<u32>, Vec<usize>, Vec<Vec<usize>>);

    /// So many nodes below the first, each below the one that `parents` says, with
    /// four vehicles on each leaf; tells how the area falls apart.
    fn tree(parents: &[Option<usize>], is_loose: impl Fn(u32) -> bool) -> Option<Fallen> {
        let nodes: Vec<Node> = parents
            .iter()
            .enumerate()
            .map(|(at, &parent)| {
                let node = Node::limited(&format!("{at}"), Profile::Constant(kw(20.0)));
                Node { parent, ..node }
            })
            .collect();
        let is_leaf = |at: &usize| !parents.contains(&Some(*at));
        let leaves: Vec<u32> = (0..nodes.len()).filter(is_leaf).map(|at| at as u32).collect();
        let node: Vec<u32> = leaves.iter().flat_map(|&leaf| [leaf; 4]).collect();
        let count = node.len();
        let curve = curve_of(60, &[40, 10, 30, 20]);
        let start = curve.horizon().starts()[0];
        let fleet = Fleet {
            arrival: &vec![start; count],
            departure: &vec![start + 4 * HOUR; count],
            needs: Needs::Energy { energy_kwh: &vec![10.0; count] },
            power_max_kw: &vec![11.0; count],
            reserve_kwh: None,
            targets: None,
            curve: None,
        };
        let vehicles = AreaVehicles {
            fleet,
            node: Some(&node),
            priority: None,
            power_min_kw: None,
            storage: None,
        };
        let problem = AreaProblem::new(vehicles, Curves::Shared(&curve), nodes).unwrap();
        let (constraints, sessions) =
            (LinkingConstraints::new(&problem), Sessions::new(&problem, 8));
        let decomposition = Decomposition::new(&constraints, &sessions, is_loose)?;
        let tops = decomposition.subtrees.iter().map(|subtree| subtree.root).collect();
        let inside =
            decomposition.subtrees.iter().map(|subtree| subtree.constraints_at.clone()).collect();
        Some((tops, decomposition.upper_at, inside))
    }

    /// One area and so many feeders.
    fn feeders(count: usize) -> Vec<Option<usize>> {
        std::iter::once(None).chain((0..count).map(|_| Some(0))).collect()
    }

    #[test]
    fn eight_feeders_are_branches_and_seven_are_not() {
        assert_eq!(tree(&feeders(7), |_| false), None);
        let (tops, wide, inside) = tree(&feeders(8), |_| false).unwrap();
        assert_eq!((tops, wide), ((1..9).collect(), vec![0]));
        assert_eq!(inside, (1..9).map(|at| vec![at]).collect::<Vec<_>>());
    }

    #[test]
    fn a_loose_feeder_leaves_its_limit_to_the_wide_programme() {
        let (tops, wide, inside) = tree(&feeders(8), |node| node == 3).unwrap();
        assert_eq!((tops.len(), wide), (8, vec![0, 3]));
        assert_eq!((inside[1].clone(), inside[2].clone()), (vec![2], vec![]));
    }

    #[test]
    fn branches_begin_where_there_are_many() {
        // Two halves of an area, each of four feeders; the first feeder has two sites.
        let mut parents = vec![None, Some(0), Some(0)];
        parents.extend([Some(1); 4]);
        parents.extend([Some(2); 4]);
        parents.extend([Some(3); 2]);
        let (tops, wide, inside) = tree(&parents, |node| node == 3).unwrap();
        assert_eq!((tops, wide), ((3..11).collect(), vec![0, 1, 2]));
        // A feeder with sites inside is never a loose one.
        assert_eq!((inside[0].clone(), inside[1].clone()), (vec![3, 11, 12], vec![4]));
    }

    #[test]
    fn feeders_without_an_area_are_branches_too() {
        let (tops, wide, _) = tree(&[None; 9], |_| false).unwrap();
        assert_eq!((tops.len(), wide), (9, vec![]));
    }
}

//! Decomposition of an area into a few upper nodes and many subtrees below them.
//!
//! At fixed duals of the upper limits the problem separates: each subtree is a small area of its
//! own. The subtrees begin at the smallest depth, counted in limited nodes from the root of the
//! tree, at which there are at least [`NODES_MANY`] of them. If more than [`UPPER_NODES_MAX`] nodes
//! lie above, or a group of vehicles belongs to two subtrees, one master serves the whole area.
//!
//! | Set | Code |
//! |---|---|
//! | upper limits, of nodes above all subtrees or of non-binding ones | [`Decomposition::upper`] |
//! | limits inside a subtree | [`Subtree::constraints`] |
//! | groups of a subtree | [`Subtree::groups`] |
use std::collections::{BTreeMap, BTreeSet};

use crate::area::model::linking::LinkingConstraints;
use crate::area::model::sessions::{NODES_MANY, Sessions};
use crate::area::problem::micro_wh::as_kwh;
use crate::tolerance::DIVISOR_MIN;

/// Upper bound on the nodes above the subtrees.
///
/// The upper master has a row for each of them and each slot. An area with more wide limits than
/// these has no decomposition that makes its master small. Chosen for real grids of two or three
/// levels, not tuned.
const UPPER_NODES_MAX: usize = 8;

/// Subtree: a limited node with all nodes below it.
pub(crate) struct Subtree {
    /// Limits inside.
    pub(crate) constraints: LinkingConstraints,
    /// Positions of these limits among all limits.
    pub(crate) constraints_at: Vec<usize>,
    /// Topmost node.
    pub(crate) root: u32,
    /// Limited nodes whose duals the upper master sets: all above `root`, and `root` itself if the
    /// subtree is non-binding.
    pub(crate) outer_nodes: Vec<u32>,
    /// Groups of vehicles inside, ascending.
    pub(crate) groups: Vec<usize>,
    /// Share of the need of all vehicles, 0 to 1.
    pub(crate) share: f64,
}

impl Subtree {
    /// Returns true for its root and for limited nodes below it.
    pub(crate) fn has(&self, node: u32) -> bool {
        node == self.root || !self.outer_nodes.contains(&node)
    }
}

/// Upper limits and subtrees of an area.
pub(crate) struct Decomposition {
    /// Limits of the upper master.
    pub(crate) upper: LinkingConstraints,
    /// Positions of these limits among all limits.
    pub(crate) upper_at: Vec<usize>,
    pub(crate) subtrees: Vec<Subtree>,
}

impl Decomposition {
    /// Decomposes an area; `None` if one master serves better.
    ///
    /// `is_non_binding` returns true for the root of a subtree whose limits are expected not to
    /// bind. If no node lies below such a root, its limits become upper limits.
    pub(crate) fn new(
        constraints: &LinkingConstraints,
        sessions: &Sessions,
        is_non_binding: impl Fn(u32) -> bool,
    ) -> Option<Self> {
        let tops = roots(constraints, sessions)?;
        // Groups and need of each subtree. A group must not belong to two.
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
        let non_binding: BTreeSet<u32> =
            groups.keys().copied().filter(|&top| is_non_binding(top) && is_alone(top)).collect();
        // Deal the limits to the subtree of their node, or to the upper master.
        let subtree_of = |node: usize| {
            let path = &constraints.paths[node];
            let top = path.iter().copied().find(|node| groups.contains_key(node));
            top.filter(|top| !non_binding.contains(top))
        };
        let mut inside: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut upper_at = Vec::new();
        for (at, constraint) in constraints.each.iter().enumerate() {
            match subtree_of(constraint.node) {
                Some(top) => inside.entry(top).or_default().push(at),
                None => upper_at.push(at),
            }
        }
        let all = sessions.need_kwh().max(DIVISOR_MIN);
        let subtree = |(top, groups): (u32, BTreeSet<usize>)| {
            let constraints_at = inside.remove(&top).unwrap_or_default();
            Subtree {
                constraints: constraints.subset(&constraints_at),
                constraints_at,
                root: top,
                // A path begins with the root itself, which is outside if its limits do not bind.
                outer_nodes: constraints.paths[top as usize]
                    [usize::from(!non_binding.contains(&top))..]
                    .to_vec(),
                groups: groups.into_iter().collect(),
                share: as_kwh(needs[&top]) / all,
            }
        };
        let subtrees = groups.clone().into_iter().map(subtree).collect();
        let is_upper = |at: usize| upper_at.binary_search(&at).is_ok();
        Some(Self { upper: constraints.restricted_to(is_upper), upper_at, subtrees })
    }

    /// Picks the duals of the upper limits out of those of all limits.
    pub(crate) fn upper_duals(&self, duals: &[f64], slots: usize) -> Vec<f64> {
        gather(&self.upper_at, duals, slots)
    }

    /// Duals of all `dual_count` (limits times slots) from those of the upper limits; others are
    /// zero.
    pub(crate) fn spread_out(&self, upper: &[f64], dual_count: usize, slots: usize) -> Vec<f64> {
        let mut all = vec![0.0; dual_count];
        scatter(&self.upper_at, upper, &mut all, slots);
        all
    }
}

/// Picks the duals of the limits at the positions `at` out of those of all limits.
pub(crate) fn gather(at: &[usize], all: &[f64], slots: usize) -> Vec<f64> {
    at.iter().flat_map(|&constraint| all[constraint * slots..][..slots].iter().copied()).collect()
}

/// Writes the duals of the limits at the positions `at` into those of all limits.
pub(crate) fn scatter(at: &[usize], some: &[f64], all: &mut [f64], slots: usize) {
    for (&constraint, run) in at.iter().zip(some.chunks(slots.max(1))) {
        all[constraint * slots..][..slots].copy_from_slice(run);
    }
}

/// Root of the subtree of each node with vehicles, at the smallest depth with enough subtrees.
fn roots(constraints: &LinkingConstraints, sessions: &Sessions) -> Option<BTreeMap<u32, u32>> {
    let nodes: BTreeSet<u32> = sessions.blocks.iter().map(|block| block.node).collect();
    let from_top =
        |&node: &u32| (node, constraints.paths[node as usize].iter().rev().copied().collect());
    // Limited nodes from the root of the tree down to each node with vehicles.
    let chains: Vec<(u32, Vec<u32>)> = nodes.iter().map(from_top).collect();
    // Every chain has to reach the depth of the roots, so the shortest one bounds it.
    let depth_max = chains.iter().map(|(_, chain)| chain.len()).min()?;
    for depth in 0..depth_max {
        let upper: BTreeSet<u32> = chains.iter().flat_map(|(_, c)| c[..depth].to_vec()).collect();
        let tops: BTreeMap<u32, u32> = chains.iter().map(|(node, c)| (*node, c[depth])).collect();
        let distinct: BTreeSet<u32> = tops.values().copied().collect();
        // Upper nodes stay upper nodes at every greater depth, so their number cannot fall.
        if upper.len() > UPPER_NODES_MAX {
            return None;
        }
        if distinct.len() >= NODES_MANY {
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

    /// Roots of the subtrees, positions of the upper limits, and of the limits of each subtree.
    type Pieces = (Vec<u32>, Vec<usize>, Vec<Vec<usize>>);

    /// Decomposition of a tree of limited nodes with the given parents and four vehicles on each
    /// leaf.
    fn tree(parents: &[Option<usize>], is_non_binding: impl Fn(u32) -> bool) -> Option<Pieces> {
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
        let decomposition = Decomposition::new(&constraints, &sessions, is_non_binding)?;
        let tops = decomposition.subtrees.iter().map(|subtree| subtree.root).collect();
        let inside =
            decomposition.subtrees.iter().map(|subtree| subtree.constraints_at.clone()).collect();
        Some((tops, decomposition.upper_at, inside))
    }

    /// Parents of a tree of one root and `count` feeders.
    fn feeders(count: usize) -> Vec<Option<usize>> {
        std::iter::once(None).chain((0..count).map(|_| Some(0))).collect()
    }

    #[test]
    fn eight_feeders_are_subtrees_and_seven_are_not() {
        assert_eq!(tree(&feeders(7), |_| false), None);
        let (tops, upper, inside) = tree(&feeders(8), |_| false).unwrap();
        assert_eq!((tops, upper), ((1..9).collect(), vec![0]));
        assert_eq!(inside, (1..9).map(|at| vec![at]).collect::<Vec<_>>());
    }

    #[test]
    fn a_non_binding_feeder_leaves_its_limit_to_the_upper_master() {
        let (tops, upper, inside) = tree(&feeders(8), |node| node == 3).unwrap();
        assert_eq!((tops.len(), upper), (8, vec![0, 3]));
        assert_eq!((inside[1].clone(), inside[2].clone()), (vec![2], vec![]));
    }

    #[test]
    fn subtrees_begin_where_there_are_many() {
        // Two halves of an area, each of four feeders; the first feeder has two sites.
        let mut parents = vec![None, Some(0), Some(0)];
        parents.extend([Some(1); 4]);
        parents.extend([Some(2); 4]);
        parents.extend([Some(3); 2]);
        let (tops, upper, inside) = tree(&parents, |node| node == 3).unwrap();
        assert_eq!((tops, upper), ((3..11).collect(), vec![0, 1, 2]));
        // A feeder with limited sites inside is never treated as non-binding.
        assert_eq!((inside[0].clone(), inside[1].clone()), (vec![3, 11, 12], vec![4]));
    }

    #[test]
    fn feeders_without_an_area_are_subtrees_too() {
        let (tops, upper, _) = tree(&[None; 9], |_| false).unwrap();
        assert_eq!((tops.len(), upper), (9, vec![]));
    }
}

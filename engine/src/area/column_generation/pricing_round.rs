//! Asking all vehicles at some prices, and what their answers prove.
use crate::area::column_generation::master::{Reply, loads_of};
use crate::area::distributed::executor::Staff;
use crate::area::distributed::observer::{Answered, GroupAnswer};
use crate::area::distributed::protocol::What;
use crate::area::model::linking::Terms;
use crate::area::pricing::block_loads::{self, Sum};
use crate::area::pricing::context::Asked;

/// What all vehicles answered at some prices.
pub(crate) struct Heard {
    pub(crate) replies: Vec<Reply>,
    /// Load of each limited node in kWh; empty or absent for other nodes.
    pub(crate) loads: Vec<Vec<f64>>,
    /// Cost of the energy plus worth of what is shed, less what that can at
    /// most be above the least at these prices.
    pub(crate) least: f64,
}

/// Whoever asks all vehicles.
#[derive(Clone)]
pub(crate) struct Ear<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) terms: &'a Terms,
    /// Limited nodes of each group, in order.
    pub(crate) nodes: Vec<Vec<u32>>,
}

impl<'a> Ear<'a> {
    pub(crate) fn new(asked: Asked<'a>, terms: &'a Terms) -> Self {
        let nodes = nodes_of_groups(&asked, terms);
        Self { asked, terms, nodes }
    }

    /// What all vehicles buy when limits cost `duals`: remembered, or asked.
    pub(crate) fn hear(&self, round: usize, duals: &[f64], staff: &mut Staff<'_>) -> Heard {
        if let Some(known) = staff.watch.recall().filter(|known| self.is_answer(known, duals)) {
            let groups = known.groups.into_iter().enumerate();
            let replies = groups.map(|(group, known)| {
                let GroupAnswer { value, slack, shed, loads } = known;
                Reply { group, round, value, slack, shed, loads }
            });
            return self.heard(replies.collect());
        }
        let heard = self.ask(round, duals, staff);
        let groups = heard.replies.iter().map(|reply| GroupAnswer {
            value: reply.value,
            slack: reply.slack,
            shed: reply.shed,
            loads: reply.loads.clone(),
        });
        let groups = groups.collect();
        staff.watch.keep(&Answered { prices_per_kwh: duals.to_vec(), groups });
        heard
    }

    /// Whether something remembered answers this very question.
    fn is_answer(&self, known: &Answered, duals: &[f64]) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        let slots = self.terms.slots();
        let fits =
            |(group, nodes): (&GroupAnswer, &Vec<u32>)| group.loads.len() == nodes.len() * slots;
        known.prices_per_kwh.len() == duals.len()
            && known.prices_per_kwh.iter().zip(duals).all(same)
            && known.groups.len() == self.asked.stays.groups
            && known.groups.iter().zip(&self.nodes).all(fits)
    }

    fn heard(&self, replies: Vec<Reply>) -> Heard {
        let least = replies.iter().map(|reply| reply.value - reply.slack).sum();
        let weights = vec![1.0; replies.len()];
        let loads = loads_of(self.terms, &self.nodes, &replies, &weights);
        Heard { replies, loads, least }
    }

    /// Asks all vehicles what they buy when limits cost `duals`.
    fn ask(&self, round: usize, duals: &[f64], staff: &mut Staff<'_>) -> Heard {
        let sums = staff.ask(&self.asked, || What::Answer(duals.to_vec()), None);
        let sums = sums.unwrap_or_else(|| block_loads::answers(&self.asked, self.terms, duals));
        self.added_up(round, &sums)
    }

    /// The same without anybody who watches.
    pub(crate) fn answers(&self, duals: &[f64]) -> Heard {
        self.added_up(0, &block_loads::answers(&self.asked, self.terms, duals))
    }

    fn added_up(&self, round: usize, sums: &[Sum]) -> Heard {
        let slots = self.terms.slots();
        let groups = self.nodes.iter().enumerate();
        let mut replies: Vec<Reply> = groups
            .map(|(group, nodes)| Reply {
                group,
                round,
                value: 0.0,
                slack: 0.0,
                shed: 0,
                loads: vec![0; nodes.len() * slots],
            })
            .collect();
        for sum in sums {
            let reply = &mut replies[sum.group];
            for (block, of_block) in sum.slack.iter().enumerate() {
                reply.slack += of_block;
                reply.value += sum.cost[block] + sum.shed_worth[block];
            }
            reply.shed += sum.shed;
            for node in &self.terms.paths[sum.node as usize] {
                let nodes = &self.nodes[sum.group];
                let at = nodes.binary_search(node).expect("a path is among the nodes");
                let loads = &mut reply.loads[at * slots..][..slots];
                loads.iter_mut().zip(&sum.load).for_each(|(sum, load)| *sum += load);
            }
        }
        self.heard(replies)
    }

    /// The bound that prices prove, given what was heard at them.
    pub(crate) fn bound_of(&self, duals: &[f64], heard: &Heard) -> f64 {
        heard.least + self.terms.proved(duals, &heard.loads)
    }
}

/// The limited nodes that each group is part of, in order.
fn nodes_of_groups(asked: &Asked<'_>, terms: &Terms) -> Vec<Vec<u32>> {
    let mut nodes = vec![Vec::new(); asked.stays.groups];
    for block in &asked.stays.blocks {
        nodes[block.group].extend_from_slice(&terms.paths[block.node as usize]);
    }
    for nodes in &mut nodes {
        nodes.sort_unstable();
        nodes.dedup();
    }
    nodes
}

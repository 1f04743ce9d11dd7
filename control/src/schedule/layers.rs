//! Rules on top of each other, of which one after the other comes or goes.
use crate::schedule::rule::Rule;
use crate::schedule::week::{Layer, Week};

/// Number of neighbouring rules that are recomputed together when one of them comes or goes.
///
/// Fewer would make more layers, and each takes 2.5 kB.
const RUN: usize = 16;

/// Weekly verdicts of a list of rules, updated as rules come into force and expire.
///
/// A tree over the order of the rules: the leaves are runs of neighbours, and an inner node
/// combines two parts. When a rule comes or goes, its run is recomputed, then the nodes above it,
/// up to the first that is unchanged.
#[derive(Debug, Clone)]
pub(crate) struct Layers<'a> {
    rules: &'a [Rule],
    /// The whole is at 1, and the halves of `part` are at `2 * part` and the
    /// one after it, the earlier rules first.
    parts: Vec<Layer>,
}

impl<'a> Layers<'a> {
    /// The rules in force at an instant.
    pub(crate) fn at(rules: &'a [Rule], at: i64) -> Self {
        // A power of two gives every inner node two children; missing rules are empty layers.
        let runs = rules.len().div_ceil(RUN).next_power_of_two();
        let mut layers = Self { rules, parts: vec![Layer::EMPTY; 2 * runs] };
        for (run, rules) in rules.chunks(RUN).enumerate() {
            layers.parts[runs + run] = Layer::of(rules, at);
        }
        // From the leaves up, so that both halves of a node are there before it.
        for part in (1..runs).rev() {
            layers.parts[part] = layers.joined(part);
        }
        layers
    }

    /// A rule has come into force or expired at an instant. Returns whether all
    /// of them together say something else now.
    pub(crate) fn turn(&mut self, rule: usize, at: i64) -> bool {
        let run = rule / RUN;
        let last = self.rules.len().min((run + 1) * RUN);
        let mut part = self.parts.len() / 2 + run;
        let mut layer = Layer::of(&self.rules[run * RUN..last], at);
        // A node that comes out as it was leaves all nodes above it as they were.
        while layer != self.parts[part] {
            self.parts[part] = layer;
            if part == 1 {
                return true;
            }
            part /= 2;
            layer = self.joined(part);
        }
        false
    }

    /// Combined week of all rules, with the default in open minutes.
    pub(crate) fn week(&self, default_should_charge: bool) -> Week {
        self.parts[1].over(default_should_charge)
    }

    fn joined(&self, part: usize) -> Layer {
        self.parts[2 * part].on(&self.parts[2 * part + 1])
    }
}

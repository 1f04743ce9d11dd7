//! From the text of a scenario to a scenario, with places for what is wrong.
//!
//! YAML by `serde-saphyr`, which knows the line of each value; JSON is YAML too.
pub mod check;

use std::fmt;
use std::iter;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Location, Spanned};

use super::scenario::Scenario;
use crate::document::check::check;

/// Something wrong in a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Flaw {
    /// Line of the text, from one; `None` if the scenario is no text.
    pub line: Option<u64>,
    /// The field, such as `vehicles[3].capacity_kwh`; empty for the whole.
    pub field: String,
    /// A clause that says what is wrong.
    pub reason: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason)
    }
}

/// All that is wrong in a scenario, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ScenarioError(pub Vec<Flaw>);

impl Scenario {
    /// Reads a scenario in YAML or JSON, and checks that it makes sense.
    ///
    /// # Errors
    /// Text that is no YAML, a field that does not exist or has the wrong form:
    /// the first of these. Else everything that makes no sense: a name that
    /// nothing has, a name that two things have, numbers out of range, tariffs
    /// that overlap, policies that contradict themselves.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_sandbox::scenario::Scenario;
    /// let text = "users:\n  - {id: ada}\n  - {id: ada}\n";
    /// let error = Scenario::parse(text).unwrap_err();
    /// assert_eq!(error.to_string(), "line 3: users[1].id: \"ada\" is the name of users[0] too");
    /// ```
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let (scenario, places) = Self::read(text)?;
        let flaws = check(&scenario);
        if flaws.is_empty() { Ok(scenario) } else { Err(places.locate(flaws)) }
    }

    /// Reads a patch of this scenario, and checks that the two make sense together.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse). Lines are those of the patch; what no
    /// longer makes sense in the rest has none.
    pub fn parse_patch(&self, text: &str) -> Result<Patched, ScenarioError> {
        let (patch, places) = Self::read(text)?;
        let alone = check(&patch).into_iter().filter(|flaw| flaw.stands_alone);
        let alone: Vec<Finding> = alone.collect();
        if !alone.is_empty() {
            return Err(places.locate(alone));
        }
        let mut whole = self.clone();
        whole.patch(patch.clone());
        let flaws = check(&whole);
        if flaws.is_empty() {
            return Ok(Patched { whole, patch });
        }
        let flaws = flaws.into_iter().map(|finding| match in_patch(&whole, &patch, &finding) {
            Some(field) => Flaw { line: places.line(&field), field, reason: finding.reason },
            None => Flaw { line: None, field: finding.field, reason: finding.reason },
        });
        Err(ScenarioError(flaws.collect()))
    }

    fn read(text: &str) -> Result<(Self, Places), ScenarioError> {
        let places = Places::of(text)?;
        if places.0.is_empty() {
            return Ok((Self::default(), places));
        }
        let scenario = serde_saphyr::from_str_with_options(text, options(text));
        let scenario = scenario.map_err(|error| {
            let line = error.location().map(|location| location.line());
            let reason = words(&error);
            let place = error.location().and_then(|at| places.at(at.line(), at.column()));
            // What is missing is told at the end of what it is missing in.
            let is_missing = reason.starts_with("missing field");
            let field = place.map(|place| {
                let mut field = places.field(place);
                let around = field.rfind('.').filter(|_| is_missing && !places.0[place].is_map);
                field.truncate(around.unwrap_or(field.len()));
                field
            });
            ScenarioError(vec![Flaw { line, field: field.unwrap_or_default(), reason }])
        })?;
        Ok((scenario, places))
    }
}

/// A scenario after a patch, and the patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patched {
    /// All of it.
    pub whole: Scenario,
    /// Additions of the patch.
    pub patch: Scenario,
}

/// Something that makes no sense, in a field of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) field: String,
    pub(crate) reason: String,
    /// True if it is wrong whatever else the scenario holds.
    pub(crate) stands_alone: bool,
}

/// The field of a patch that a field of the patched scenario came from.
fn in_patch(whole: &Scenario, patch: &Scenario, finding: &Finding) -> Option<String> {
    let (list, rest) = finding.field.split_once('[')?;
    let (index, rest) = rest.split_once(']')?;
    let name = whole.names_in(list).into_iter().nth(index.parse().ok()?)?;
    let place = patch.names_in(list).iter().position(|named| *named == name)?;
    Some(format!("{list}[{place}]{rest}"))
}

/// Bytes of values that aliases may add to a text.
const ALIASES_BYTES_MAX: usize = 4 << 20;

/// Parser events that aliases may add to a text.
const ALIASES_EVENTS_MAX: usize = 100_000;

/// Thousands of homes are fine: a text may hold as much as fits into its length, which is
/// bounded elsewhere. Aliases repeat parts of it, and a short text full of them would take
/// gigabytes: what they add has a budget of its own.
fn options(text: &str) -> serde_saphyr::Options {
    let length = text.len();
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_total_scalar_bytes: length + ALIASES_BYTES_MAX,
            max_nodes: length + ALIASES_EVENTS_MAX,
            max_events: 3 * length + ALIASES_EVENTS_MAX,
            max_recorded_anchor_events: 3 * length + ALIASES_EVENTS_MAX,
            max_recorded_anchor_bytes: length + ALIASES_BYTES_MAX,
            // The other limits say what aliases may do.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIASES_EVENTS_MAX,
        },
        // Quantities refuse them, and say in which field.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

/// The parser's words on one line, without its picture of the text, the place,
/// the fields that a long list of others has, and advice for programmers.
fn words(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let mut text = text.lines().next().unwrap_or_default();
    for end in [" at line ", ", set DuplicateKeyPolicy", " by the configured policy"] {
        text = text.split(end).next().unwrap_or(text);
    }
    if text.starts_with("unknown field") && text.matches(',').count() > 12 {
        text = text.split(',').next().unwrap_or(text);
    }
    text.trim_end_matches(['.', ':']).to_owned()
}

/// Start of each field of a text, in the order of the text.
#[derive(Debug, Default)]
struct Places(Vec<Place>);

/// Start of a field. Its name is that of the place around it and one step more: whole names of deep
/// fields would take more memory than the text.
#[derive(Debug)]
struct Place {
    around: Option<usize>,
    step: Step,
    line: u64,
    column: u64,
    is_map: bool,
}

/// One step from a field into another.
#[derive(Debug)]
enum Step {
    Root,
    Item(usize),
    Member(String),
}

impl Places {
    fn of(text: &str) -> Result<Self, ScenarioError> {
        let tree =
            serde_saphyr::from_str_with_options::<Option<Spanned<Node>>>(text, options(text));
        let tree = tree.map_err(|error| {
            let line = error.location().map(|location| location.line());
            ScenarioError(vec![Flaw { line, field: String::new(), reason: words(&error) }])
        })?;
        let mut places = Self::default();
        if let Some(tree) = tree {
            places.walk(&tree, None, Step::Root);
        }
        Ok(places)
    }

    fn walk(&mut self, node: &Spanned<Node>, around: Option<usize>, step: Step) {
        let own = self.0.len();
        self.push((around, step), node.referenced, matches!(node.value, Node::Map(_)));
        match &node.value {
            Node::Leaf => (),
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, Some(own), Step::Item(index));
                }
            }
            Node::Map(entries) => {
                for (key, value) in entries {
                    let member = || Step::Member(key.value.clone());
                    self.push((Some(own), member()), key.referenced, false);
                    self.walk(value, Some(own), member());
                }
            }
        }
    }

    fn push(&mut self, (around, step): (Option<usize>, Step), at: Location, is_map: bool) {
        self.0.push(Place { around, step, line: at.line(), column: at.column(), is_map });
    }

    /// The name of the field of a place, such as `vehicles[3].capacity_kwh`.
    fn field(&self, place: usize) -> String {
        let chain = iter::successors(Some(place), |&inner| self.0[inner].around);
        let chain: Vec<usize> = chain.collect();
        let mut field = String::new();
        for &place in chain.iter().rev() {
            match &self.0[place].step {
                Step::Root => (),
                Step::Item(index) => {
                    let index = index.to_string();
                    field.extend(["[", &index, "]"]);
                }
                Step::Member(name) => {
                    field.push_str(if field.is_empty() { "" } else { "." });
                    field.push_str(name);
                }
            }
        }
        field
    }

    /// The field that begins last before a place of the text.
    fn at(&self, line: u64, column: u64) -> Option<usize> {
        let begin = |place: &Place| (place.line, place.column);
        let before = self.0.iter().enumerate().filter(|(_, it)| begin(it) <= (line, column));
        before.max_by_key(|(_, it)| begin(it)).map(|(place, _)| place)
    }

    /// The line of a field, or of what is around it.
    fn line(&self, field: &str) -> Option<u64> {
        let exact = |name: &str| {
            let place = (0..self.0.len()).find(|&place| self.is_named(place, name));
            place.map(|place| self.0[place].line)
        };
        let mut field = field;
        loop {
            if let Some(line) = exact(field) {
                return Some(line);
            }
            field = &field[..field.rfind(['.', '['])?];
        }
    }

    /// Returns `true` if the field of a place has a name, without making up the whole name.
    fn is_named(&self, place: usize, field: &str) -> bool {
        let mut rest = field;
        let mut inner = Some(place);
        while let Some(place) = inner.map(|inner| &self.0[inner]) {
            let before = match &place.step {
                Step::Root => Some(rest).filter(|rest| rest.is_empty()),
                Step::Item(index) => rest.strip_suffix(&format!("[{index}]")),
                Step::Member(name) => rest.strip_suffix(name.as_str()),
            };
            let Some(before) = before else { return false };
            let is_member = matches!(place.step, Step::Member(_));
            rest = match before.strip_suffix('.') {
                Some(before) if is_member => before,
                None if is_member && !before.is_empty() => return false,
                _ => before,
            };
            inner = place.around;
        }
        rest.is_empty()
    }

    fn locate(&self, findings: Vec<Finding>) -> ScenarioError {
        let located = findings.into_iter().map(|Finding { field, reason, .. }| Flaw {
            line: self.line(&field),
            field,
            reason,
        });
        let mut flaws: Vec<Flaw> = located.collect();
        flaws.sort_by_key(|flaw| flaw.line);
        ScenarioError(flaws)
    }
}

/// The shape of a text, without what its leaves say.
#[derive(Debug)]
enum Node {
    Leaf,
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Shape)
    }
}

struct Shape;

impl<'de> Visitor<'de> for Shape {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }
}

#[cfg(test)]
mod tests;

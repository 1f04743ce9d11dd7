//! From the text of a scenario to a scenario, with places for what is wrong.
//!
//! YAML by `serde-saphyr`, which knows the line of each value; JSON is YAML too.
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Location, Spanned};

use super::check::check;
use super::scenario::Scenario;

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
    /// use slackwater_api::sandbox::scenario::Scenario;
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
        let scenario = serde_saphyr::from_str_with_options(text, options());
        let scenario = scenario.map_err(|error| {
            let line = error.location().map(|location| location.line());
            let reason = words(&error);
            let place = error.location().and_then(|at| places.at(at.line(), at.column()));
            // What is missing is told at the end of what it is missing in.
            let is_missing = reason.starts_with("missing field");
            let field = place.map(|place| {
                let around = place.field.rfind('.').filter(|_| is_missing && !place.is_map);
                place.field[..around.unwrap_or(place.field.len())].to_owned()
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
    /// What is new in it.
    pub patch: Scenario,
}

/// Something that makes no sense, in a field of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) field: String,
    pub(crate) reason: String,
    /// Whether it is wrong whatever else the scenario holds.
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

/// Thousands of homes are fine; the length of a request is bounded elsewhere.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: None,
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

/// Where each field of a text begins, in the order of the text.
#[derive(Debug, Default)]
struct Places(Vec<Place>);

/// Where a field begins.
#[derive(Debug)]
struct Place {
    field: String,
    line: u64,
    column: u64,
    is_map: bool,
}

impl Places {
    fn of(text: &str) -> Result<Self, ScenarioError> {
        let tree = serde_saphyr::from_str_with_options::<Option<Spanned<Node>>>(text, options());
        let tree = tree.map_err(|error| {
            let line = error.location().map(|location| location.line());
            ScenarioError(vec![Flaw { line, field: String::new(), reason: words(&error) }])
        })?;
        let mut places = Self::default();
        if let Some(tree) = tree {
            places.walk(&tree, "");
        }
        Ok(places)
    }

    fn walk(&mut self, node: &Spanned<Node>, field: &str) {
        self.push(field, node.referenced, matches!(node.value, Node::Map(_)));
        match &node.value {
            Node::Leaf => (),
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, &format!("{field}[{index}]"));
                }
            }
            Node::Map(entries) => {
                for (key, value) in entries {
                    let dot = if field.is_empty() { "" } else { "." };
                    let inner = format!("{field}{dot}{}", key.value);
                    self.push(&inner, key.referenced, false);
                    self.walk(value, &inner);
                }
            }
        }
    }

    fn push(&mut self, field: &str, at: Location, is_map: bool) {
        let field = field.to_owned();
        self.0.push(Place { field, line: at.line(), column: at.column(), is_map });
    }

    /// The field that begins last before a place of the text.
    fn at(&self, line: u64, column: u64) -> Option<&Place> {
        let before = self.0.iter().filter(|place| (place.line, place.column) <= (line, column));
        before.max_by_key(|place| (place.line, place.column))
    }

    /// The line of a field, or of what is around it.
    fn line(&self, field: &str) -> Option<u64> {
        let exact = |name: &str| self.0.iter().find(|it| it.field == name).map(|it| it.line);
        let mut field = field;
        loop {
            if let Some(line) = exact(field) {
                return Some(line);
            }
            field = &field[..field.rfind(['.', '['])?];
        }
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

//! Bodies from templates.
//!
//! A template is JSON. In its texts, `{name}` stands for a part of the event. A
//! text that is one placeholder and nothing else becomes the part as it is, an
//! object too; in a longer text the part is written out. `{{` and `}}` are braces.
use serde_json::{Map, Value};

use crate::events::Event;

/// Fault of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is no JSON.
    #[error("the template is not JSON: {reason}")]
    Json {
        /// Message of the parser.
        reason: String,
    },
    /// A placeholder that stands for nothing.
    #[error("the template has `{{{given}}}`; placeholders are {}", Part::NAMES.join(", "))]
    Unknown {
        /// The placeholder as given.
        given: String,
    },
    /// A brace without its other one.
    #[error("the template has a single brace in {text:?}; write {{{{ or }}}} for a brace")]
    Brace {
        /// The text that has it.
        text: String,
    },
}

/// A template that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Plain(Value),
    Text(Vec<Piece>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Words(String),
    Part(Part),
}

/// A part of an event.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Id,
    Name,
    Version,
    Client,
    User,
    Target,
    At,
    Seq,
    /// Data of the event, or a member of it.
    Data(Vec<String>),
}

impl Part {
    const NAMES: [&'static str; 10] = [
        "{id}",
        "{name}",
        "{version}",
        "{client}",
        "{user}",
        "{target}",
        "{at}",
        "{seq}",
        "{data}",
        "{data.member}",
    ];

    fn parse(given: &str) -> Result<Self, TemplateError> {
        let unknown = || TemplateError::Unknown { given: given.to_owned() };
        Ok(match given {
            "id" => Self::Id,
            "name" => Self::Name,
            "version" => Self::Version,
            "client" => Self::Client,
            "user" => Self::User,
            "target" => Self::Target,
            "at" => Self::At,
            "seq" => Self::Seq,
            "data" => Self::Data(Vec::new()),
            other => {
                let path: Vec<String> = other
                    .strip_prefix("data.")
                    .ok_or_else(unknown)?
                    .split('.')
                    .map(str::to_owned)
                    .collect();
                if path.iter().any(String::is_empty) {
                    return Err(unknown());
                }
                Self::Data(path)
            }
        })
    }

    fn of(&self, event: &Event) -> Value {
        match self {
            Self::Id => event.id.to_string().into(),
            Self::Name => event.name.as_str().into(),
            Self::Version => event.version.as_str().into(),
            Self::Client => event.client_id.as_str().into(),
            Self::User => event.user_id.as_str().into(),
            Self::Target => event.target_id.map_or(Value::Null, |id| id.to_string().into()),
            Self::At => serde_json::to_value(event.at).unwrap_or_default(),
            Self::Seq => event.seq.into(),
            Self::Data(path) => {
                let found = path.iter().try_fold(&event.body, |value, name| value.get(name));
                found.cloned().unwrap_or_default()
            }
        }
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no JSON, or has a placeholder that stands for nothing.
    ///
    /// # Example
    ///
    /// ```
    /// use slackwater_store::template::Template;
    /// assert!(Template::parse(r#"{"event": "{name}", "data": "{data}"}"#).is_ok());
    /// assert!(Template::parse(r#"{"event": "{nome}"}"#).is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| TemplateError::Json { reason: error.to_string() })?;
        Ok(Self(node(value)?))
    }

    /// The body for an event.
    #[must_use]
    pub fn body(&self, event: &Event) -> String {
        filled(&self.0, event).to_string()
    }
}

fn node(value: Value) -> Result<Node, TemplateError> {
    Ok(match value {
        Value::String(text) => Node::Text(pieces(&text)?),
        Value::Array(items) => Node::List(items.into_iter().map(node).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| Ok((name, node(value)?)));
            Node::Object(members.collect::<Result<_, _>>()?)
        }
        plain => Node::Plain(plain),
    })
}

fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let single = || TemplateError::Brace { text: text.to_owned() };
    let mut pieces = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        words.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            words.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(single());
        }
        let (name, after) = after.split_once('}').ok_or_else(single)?;
        if !words.is_empty() {
            pieces.push(Piece::Words(std::mem::take(&mut words)));
        }
        pieces.push(Piece::Part(Part::parse(name)?));
        rest = after;
    }
    words.push_str(rest);
    if !words.is_empty() {
        pieces.push(Piece::Words(words));
    }
    Ok(pieces)
}

fn filled(node: &Node, event: &Event) -> Value {
    match node {
        Node::Plain(value) => value.clone(),
        Node::Text(pieces) => match pieces.as_slice() {
            [Piece::Part(part)] => part.of(event),
            pieces => pieces.iter().map(|piece| written(piece, event)).collect::<String>().into(),
        },
        Node::List(items) => items.iter().map(|item| filled(item, event)).collect(),
        Node::Object(members) => {
            let members = members.iter().map(|(name, node)| (name.clone(), filled(node, event)));
            Value::Object(members.collect::<Map<String, Value>>())
        }
    }
}

fn written(piece: &Piece, event: &Event) -> String {
    match piece {
        Piece::Words(words) => words.clone(),
        Piece::Part(part) => match part.of(event) {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slackwater_wire::version::dated::ApiVersion;
    use uuid::Uuid;

    use super::*;

    fn event() -> Event {
        Event {
            seq: 7,
            id: Uuid::from_u128(1),
            client_id: "c".to_owned(),
            user_id: "ada \"x\"".to_owned(),
            target_id: None,
            name: "n".to_owned(),
            version: ApiVersion::LATEST,
            at: "2026-01-05T18:00:00Z".parse().unwrap(),
            body: json!({ "changed": ["soc"], "deep": { "er": 1.5 } }),
            traceparent: None,
        }
    }

    fn made(template: &Value) -> Value {
        let body = Template::parse(&template.to_string()).unwrap().body(&event());
        serde_json::from_str(&body).unwrap()
    }

    #[test]
    fn a_body_is_what_the_operator_wrote() {
        let template = json!({
            "event": "{name}", "version": "{version}", "at": "{at}", "seq": "{seq}",
            "about": ["{client}/{user}", "{target}", "{data.deep.er}", "{data.none}", 1, null],
            "data": "{data}", "text": "{{{seq}}} {data.changed} {target}.", "{name}": true,
        });
        let expected = json!({
            "event": "n", "version": "2024-10-01", "at": "2026-01-05T18:00:00Z", "seq": 7,
            "about": ["c/ada \"x\"", null, 1.5, null, 1, null],
            "data": { "changed": ["soc"], "deep": { "er": 1.5 } },
            "text": "{7} [\"soc\"] .", "{name}": true,
        });
        assert_eq!(made(&template), expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        for (text, reason) in [
            ("{", "the template is not JSON"),
            ("\"{nome}\"", "the template has `{nome}`; placeholders are {id}"),
            ("[\"{data.}\"]", "`{data.}`"),
            ("{\"a\": \"{id\"}", "a single brace in \"{id\""),
            ("\"}\"", "a single brace"),
        ] {
            let error = Template::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

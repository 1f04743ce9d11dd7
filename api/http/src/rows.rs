//! Long bodies: arrays of flat objects, read item by item.
//!
//! Nothing is kept of what is not asked for, and of what is wrong no more than a
//! problem lists: a body of many megabytes takes little more than its own length.
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::problem::{ISSUES_MAX, Problem};

/// A member of a flat object.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A string.
    Text(String),
    /// A number.
    Number(f64),
    /// Anything else, null included.
    Other,
}

/// Faults of a body, as far as a problem lists them.
#[derive(Debug, Default)]
pub struct Issues(Vec<String>);

impl Issues {
    /// Adds what is wrong at a place, which is a JSON pointer.
    pub fn add(&mut self, place: impl FnOnce() -> String, reason: &str) {
        // One more than are listed shows that there are more.
        if self.0.len() <= ISSUES_MAX {
            self.0.push(format!("{}: {reason}", place()));
        }
    }

    /// Reads a member that must be there.
    pub fn required<T>(
        &mut self,
        place: impl FnOnce() -> String,
        member: Option<&Scalar>,
        read: impl FnOnce(&Scalar) -> Result<T, String>,
    ) -> Option<T> {
        self.value(place, member.map(read))
    }

    /// Value of a member that must be there, unless it could not be read.
    pub fn value<T>(
        &mut self,
        place: impl FnOnce() -> String,
        read: Option<Result<T, String>>,
    ) -> Option<T> {
        match read {
            None => self.add(place, "is required"),
            Some(Err(reason)) => self.add(place, &reason),
            Some(Ok(value)) => return Some(value),
        }
        None
    }

    /// These issues and then others.
    #[must_use]
    pub fn followed_by(mut self, Self(others): Self) -> Self {
        self.0.extend(others);
        self
    }

    /// The value, unless something was wrong.
    ///
    /// # Errors
    /// What was wrong.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, Problem> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(Problem::invalid(self.0)),
        }
    }
}

/// Reads a text.
///
/// # Errors
/// The member is none.
pub fn text(member: &Scalar) -> Result<String, String> {
    match member {
        Scalar::Text(text) => Ok(text.clone()),
        _ => Err("expected a string".to_owned()),
    }
}

/// Values that are not what is read: taken from the body, and told apart from it.
macro_rules! others {
    ($value:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

macro_rules! numbers_and_texts {
    ($value:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
}

pub(crate) use {numbers_and_texts, others};

/// Takes all items of an array that nobody reads.
pub(crate) fn skip_items<'de, A: SeqAccess<'de>>(mut items: A) -> Result<(), A::Error> {
    while items.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Takes all members of an object that nobody reads.
fn skip_members<'de, A: MapAccess<'de>>(mut members: A) -> Result<(), A::Error> {
    while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Reads any value as a scalar.
pub(crate) struct OneScalar;

impl<'de> DeserializeSeed<'de> for OneScalar {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Scalar, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneScalar {
    type Value = Scalar;

    others!(Scalar::Other);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Scalar, A::Error> {
        skip_items(items).map(|()| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Scalar, A::Error> {
        skip_members(members).map(|()| Scalar::Other)
    }
}

/// Reads the members of an object that have these names; `None` if the value is
/// no object.
struct Flat<const N: usize>([&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Flat<N> {
    type Value = Option<[Option<Scalar>; N]>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Flat<N> {
    type Value = Option<[Option<Scalar>; N]>;

    others!(None);
    numbers_and_texts!(None);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        skip_items(items).map(|()| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = [const { None }; N];
        while let Some(name) = members.next_key::<String>()? {
            match self.0.iter().position(|known| *known == name) {
                Some(at) => found[at] = Some(members.next_value_seed(OneScalar)?),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(found))
    }
}

/// An array of flat objects, and how an item of it is read.
pub struct Rows<'a, F, const N: usize> {
    /// Place of the array, as a JSON pointer.
    pub place: &'static str,
    /// The members of an item.
    pub names: [&'static str; N],
    /// Reads the members of an item, given its place.
    pub read: F,
    /// Faults so far.
    pub issues: &'a mut Issues,
}

impl<'de, T, F, const N: usize> DeserializeSeed<'de> for Rows<'_, F, N>
where
    F: FnMut([Option<Scalar>; N], &dyn Fn(&str) -> String, &mut Issues) -> Option<T>,
{
    type Value = Option<Vec<T>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T, F, const N: usize> Visitor<'de> for Rows<'_, F, N>
where
    F: FnMut([Option<Scalar>; N], &dyn Fn(&str) -> String, &mut Issues) -> Option<T>,
{
    type Value = Option<Vec<T>>;

    others!(None);
    numbers_and_texts!(None);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        skip_members(members).map(|()| None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self::Value, A::Error> {
        let (mut rows, mut index) = (Vec::new(), 0_usize);
        while let Some(item) = items.next_element_seed(Flat(self.names))? {
            let at = |member: &str| format!("{}/{index}{member}", self.place);
            match item {
                Some(members) => rows.extend((self.read)(members, &at, self.issues)),
                None => self.issues.add(|| at(""), "expected an object"),
            }
            index += 1;
        }
        Ok(Some(rows))
    }
}

//! Cursors: positions between items of a list that stay valid when the list changes.
use std::cmp::Reverse;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Sort key of an item: its creation time, then its identifier.
///
/// Lists are newest first. Of two items with one creation time, the one with the greater
/// identifier comes first (PAG-08, PAG-09).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// Identifier, unique in the list.
    pub id: String,
}

/// Side of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Side {
    /// Just above it: the item lies after the cursor.
    #[serde(rename = "above")]
    Above,
    /// Just below it: the item lies before the cursor.
    #[serde(rename = "below")]
    Below,
}

impl Side {
    /// Name of the side in serialised data.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Below => "below",
        }
    }
}

/// Position between two adjacent items of a list, given by one of them.
///
/// The item need not exist any more. The service turns a cursor into an opaque text for clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The item.
    pub key: Key,
    /// Side of the item.
    pub side: Side,
}

impl Cursor {
    /// True if an item lies behind the cursor, towards the old end of the list.
    #[must_use]
    pub fn is_ahead_of(&self, key: &Key) -> bool {
        match self.side {
            Side::Above => *key <= self.key,
            Side::Below => *key < self.key,
        }
    }
}

/// The order of a list: newest first.
#[must_use]
pub fn newest_first(key: &Key) -> Reverse<&Key> {
    Reverse(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_and_below_an_item() {
        let at = "2026-01-05T18:00:00Z".parse().unwrap();
        let key = |id: &str| Key { created_at: at, id: id.into() };
        let above = Cursor { key: key("b"), side: Side::Above };
        let below = Cursor { key: key("b"), side: Side::Below };
        assert_eq!(["a", "b", "c"].map(|id| above.is_ahead_of(&key(id))), [true, true, false]);
        assert_eq!(["a", "b", "c"].map(|id| below.is_ahead_of(&key(id))), [true, false, false]);
    }
}

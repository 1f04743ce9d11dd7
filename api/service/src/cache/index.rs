//! Lists in order of creation, from which pages are cut.
use std::collections::BTreeSet;
use std::ops::Bound;

use chrono::DateTime;
use slackwater_wire::page::cursor::{Cursor, Key, Side};
use slackwater_wire::page::list::{Page, PageRequest};

/// Identifier of an item of a list, in the order of its text.
pub trait Id: Ord + Clone {
    /// As text.
    fn to_text(&self) -> String;

    /// From text; `None` if no item can have it.
    fn from_text(text: &str) -> Option<Self>;
}

impl Id for uuid::Uuid {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Id for std::sync::Arc<str> {
    fn to_text(&self) -> String {
        self.as_ref().to_owned()
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

/// Items by creation, in microseconds since 1970, then by identifier.
#[derive(Debug, Clone)]
pub struct Index<I>(BTreeSet<(i64, I)>);

impl<I> Default for Index<I> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

/// One side of a place between items.
type Edge<I> = Bound<(i64, I)>;

impl<I: Id> Index<I> {
    /// Adds an item.
    pub fn insert(&mut self, created_micros: i64, id: I) {
        self.0.insert((created_micros, id));
    }

    /// Takes an item away.
    pub fn remove(&mut self, created_micros: i64, id: &I) {
        self.0.remove(&(created_micros, id.clone()));
    }

    /// When the last item was created, in microseconds since 1970.
    #[must_use]
    pub fn last_created(&self) -> Option<i64> {
        self.0.last().map(|(created_micros, _)| *created_micros)
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &I> {
        self.0.iter().map(|(_, id)| id)
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The page that a request asks for.
    ///
    /// Costs the length of the page, wherever in the list it is.
    #[must_use]
    pub fn page(&self, request: &PageRequest) -> Page {
        let lookup = request.lookup();
        let (newer, older) = match lookup.from.map(Self::split) {
            None => ((Bound::Unbounded, Bound::Unbounded), (Bound::Unbounded, Bound::Unbounded)),
            Some((start, end)) => ((start, Bound::Unbounded), (Bound::Unbounded, end)),
        };
        let limit = lookup.limit;
        if lookup.towards_newer {
            let found = self.0.range(newer).take(limit).map(key).collect();
            request.page(found, self.0.range(older).next().is_none())
        } else {
            let found = self.0.range(older).rev().take(limit).map(key).collect();
            let has_newer = lookup.from.is_some() && self.0.range(newer).next().is_some();
            request.page(found, !has_newer)
        }
    }

    /// Start of the newer side of a cursor, and end of its older side.
    fn split(cursor: &Cursor) -> (Edge<I>, Edge<I>) {
        let micros = cursor.key.created_at.timestamp_micros();
        let Some(id) = I::from_text(&cursor.key.id) else {
            // Signed by us, so that it never happens; then nothing is on either side.
            return (Bound::Unbounded, Bound::Unbounded);
        };
        let item = (micros, id);
        match cursor.side {
            Side::Above => (Bound::Excluded(item.clone()), Bound::Included(item)),
            Side::Below => (Bound::Included(item.clone()), Bound::Excluded(item)),
        }
    }
}

fn key<I: Id>((micros, id): &(i64, I)) -> Key {
    let created_at = DateTime::from_timestamp_micros(*micros).unwrap_or_default();
    Key { created_at, id: id.to_text() }
}

#[cfg(test)]
mod tests {
    use slackwater_wire::page::list::list_page;
    use std::sync::Arc;

    use super::*;

    /// The engine's own list of the same items is the oracle.
    #[test]
    fn pages_are_those_of_the_engine() {
        let items: Vec<(i64, Arc<str>)> =
            (0..23_i64).map(|n| (n / 3, format!("{:02}", (n * 7) % 23).into())).collect();
        let mut index = Index::default();
        for (micros, id) in &items {
            index.insert(*micros, Arc::clone(id));
        }
        let keys: Vec<Key> = items.iter().map(key).collect();
        for size in 1..=24 {
            let mut cursors = vec![(None, None)];
            let mut seen = 0;
            while let Some((before, after)) = cursors.pop() {
                let request = PageRequest::new(before, after.clone(), Some(size)).unwrap();
                let page = index.page(&request);
                assert_eq!(page, list_page(&keys, &request).unwrap());
                seen += page.keys.len();
                if let Some(next) = page.after.clone() {
                    cursors.push((None, Some(next)));
                } else if after.is_some() || page.before.is_some() {
                    // At the end: all the way back, once.
                    let mut back = page.before;
                    while let Some(cursor) = back {
                        let request = PageRequest::new(Some(cursor), None, Some(size)).unwrap();
                        let page = index.page(&request);
                        assert_eq!(page, list_page(&keys, &request).unwrap());
                        back = page.before;
                    }
                }
            }
            assert_eq!(seen, items.len(), "size {size}");
        }
    }
}

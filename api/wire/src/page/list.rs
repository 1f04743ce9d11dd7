//! One page of a list: the request, the lookup in a store, and the page.
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::page::cursor::{Cursor, Key, Side, newest_first};

/// Default number of items on a page (PAG-06, LIM-01).
pub const SIZE_DEFAULT: NonZeroUsize = NonZeroUsize::new(50).expect("fifty is not zero");

/// Position of a page in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Position {
    /// The newest items (PAG-07).
    #[default]
    #[serde(rename = "first")]
    First,
    /// The next page: items that follow a cursor (PAG-03).
    #[serde(rename = "after")]
    After(Cursor),
    /// The previous page: items that precede a cursor (PAG-04).
    #[serde(rename = "before")]
    Before(Cursor),
}

/// Error of an invalid page request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Both cursors were given (PAG-05, AMB-49).
    #[error("before and after exclude each other; give one of them")]
    BothCursors,
    /// A page holds at least one item (PAG-11).
    #[error("page_size is {given}; a page holds at least 1 item")]
    Size {
        /// The size as given.
        given: i64,
    },
    /// Two items have one key.
    #[error("items[{item}] has the creation time and identifier of another item")]
    Duplicate {
        /// Position in the input.
        item: usize,
    },
}

/// Position and size of a requested page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// Position of the page.
    pub position: Position,
    /// Most items on the page. The size has no maximum (PAG-12).
    pub size: NonZeroUsize,
}

/// Lookup in a store for a page: the items on one side of a cursor, from the cursor outwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup<'a> {
    /// Cursor at which the lookup begins; `None` begins at the newest item.
    pub from: Option<&'a Cursor>,
    /// Direction: true for newer items, false for older ones.
    pub towards_newer: bool,
    /// Most items to return: one more than the page holds, which shows that there are more.
    pub limit: usize,
}

/// One page, newest item first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Items of the page.
    pub keys: Vec<Key>,
    /// Cursor of the previous page; `None` if there are no newer items.
    pub before: Option<Cursor>,
    /// Cursor of the next page; `None` if there are no older items.
    pub after: Option<Cursor>,
}

impl PageRequest {
    /// Page request from at most one cursor, and a size ([`SIZE_DEFAULT`] if there is none).
    ///
    /// # Errors
    /// Both cursors are given, or the size is below one.
    pub fn new(
        before: Option<Cursor>,
        after: Option<Cursor>,
        size: Option<i64>,
    ) -> Result<Self, PageError> {
        let size = match size {
            None => SIZE_DEFAULT,
            Some(given) => usize::try_from(given)
                .ok()
                .and_then(NonZeroUsize::new)
                .ok_or(PageError::Size { given })?,
        };
        let position = match (before, after) {
            (Some(_), Some(_)) => return Err(PageError::BothCursors),
            (Some(before), None) => Position::Before(before),
            (None, Some(after)) => Position::After(after),
            (None, None) => Position::First,
        };
        Ok(Self { position, size })
    }

    /// Lookup that a store must do for this request.
    #[must_use]
    pub fn lookup(&self) -> Lookup<'_> {
        let (from, towards_newer) = match &self.position {
            Position::First => (None, false),
            Position::After(cursor) => (Some(cursor), false),
            Position::Before(cursor) => (Some(cursor), true),
        };
        Lookup { from, towards_newer, limit: self.size.get().saturating_add(1) }
    }

    /// Page from the items that a store found. `is_other_side_empty` tells that no item lies on the
    /// other side of the cursor.
    ///
    /// `found` is in the order of the lookup: from the cursor outwards. An empty page returns the
    /// cursor of its request, so that a client can go back after all items behind it were deleted.
    #[must_use]
    pub fn page(&self, found: Vec<Key>, is_other_side_empty: bool) -> Page {
        let mut keys = found;
        let has_more = keys.len() > self.size.get();
        keys.truncate(self.size.get());
        let towards_newer = matches!(self.position, Position::Before(_));
        if towards_newer {
            keys.reverse();
        }
        let origin = match &self.position {
            Position::First => None,
            Position::After(cursor) | Position::Before(cursor) => Some(cursor),
        };
        let edge = |key: Option<&Key>, side| {
            key.map(|key| Cursor { key: key.clone(), side }).or_else(|| origin.cloned())
        };
        let (newer, older) = if towards_newer {
            (has_more, !is_other_side_empty)
        } else {
            (!is_other_side_empty, has_more)
        };
        let before = edge(keys.first(), Side::Above).filter(|_| newer);
        let after = edge(keys.last(), Side::Below).filter(|_| older);
        Page { keys, before, after }
    }
}

/// Page of items that are given in any order (PAG-03 to PAG-10).
///
/// A cursor is a position and not a count. Items that are added or deleted between two requests
/// therefore neither repeat nor hide others.
///
/// # Errors
/// Two items have the same creation time and identifier.
///
/// # Example
///
/// ```
/// use slackwater_wire::page::cursor::Key;
/// use slackwater_wire::page::list::{PageRequest, list_page};
/// let day = |day: u32| Key {
///     created_at: format!("2026-01-{day:02}T00:00:00Z").parse().unwrap(),
///     id: format!("d{day}"),
/// };
/// let first = list_page(&[day(1), day(2), day(3)], &PageRequest::new(None, None, Some(2))?)?;
/// assert_eq!(first.keys, [day(3), day(2)]);
/// // The next page, after the last item seen was deleted and a new one came:
/// let next = PageRequest::new(None, first.after, Some(2))?;
/// assert_eq!(list_page(&[day(1), day(3), day(4)], &next)?.keys, [day(1)]);
/// # Ok::<(), slackwater_wire::page::list::PageError>(())
/// ```
pub fn list_page(items: &[Key], request: &PageRequest) -> Result<Page, PageError> {
    let mut sorted: Vec<usize> = (0..items.len()).collect();
    sorted.sort_by_key(|&item| newest_first(&items[item]));
    for pair in sorted.windows(2) {
        if items[pair[0]] == items[pair[1]] {
            return Err(PageError::Duplicate { item: pair[1] });
        }
    }
    let lookup = request.lookup();
    let behind = |item: &usize| lookup.from.is_none_or(|from| from.is_ahead_of(&items[*item]));
    let split = sorted.partition_point(|item| !behind(item));
    let (newer, older) = sorted.split_at(split);
    let take = |found: &mut dyn Iterator<Item = &usize>| {
        found.take(lookup.limit).map(|&item| items[item].clone()).collect()
    };
    Ok(if lookup.towards_newer {
        request.page(take(&mut newer.iter().rev()), older.is_empty())
    } else {
        request.page(take(&mut older.iter()), newer.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    fn key(id: u32) -> Key {
        let start: DateTime<Utc> = "2026-01-05T18:00:00Z".parse().unwrap();
        // Three items at a time share their creation time.
        let created_at = start + TimeDelta::minutes(i64::from(id / 3));
        Key { created_at, id: format!("{id:03}") }
    }

    fn keys(ids: impl IntoIterator<Item = u32>) -> Vec<Key> {
        ids.into_iter().map(key).collect()
    }

    fn request(before: Option<Cursor>, after: Option<Cursor>, size: i64) -> PageRequest {
        PageRequest::new(before, after, Some(size)).unwrap()
    }

    fn first(items: &[Key], size: i64) -> Page {
        list_page(items, &request(None, None, size)).unwrap()
    }

    fn next(items: &[Key], page: &Page, size: i64) -> Page {
        list_page(items, &request(None, page.after.clone(), size)).unwrap()
    }

    fn previous(items: &[Key], page: &Page, size: i64) -> Page {
        list_page(items, &request(page.before.clone(), None, size)).unwrap()
    }

    #[test]
    fn what_names_a_page() {
        let cursor = Some(Cursor { key: key(1), side: Side::Above });
        let both = PageRequest::new(cursor.clone(), cursor, None);
        assert_eq!(both, Err(PageError::BothCursors));
        assert_eq!(PageRequest::new(None, None, None).unwrap().size.get(), 50);
        for given in [0, -1, i64::MIN] {
            assert_eq!(PageRequest::new(None, None, Some(given)), Err(PageError::Size { given }));
        }
        assert_eq!(first(&keys(0..5), i64::MAX).keys.len(), 5);
    }

    #[test]
    fn an_empty_list_has_one_empty_page() {
        let page = first(&[], 2);
        assert_eq!(page, Page { keys: vec![], before: None, after: None });
    }

    #[test]
    fn the_way_back_stays_open_when_everything_behind_was_deleted() {
        let page = first(&keys(0..4), 2);
        let left = keys(2..4);
        let empty = next(&left, &page, 2);
        assert_eq!((empty.keys.len(), empty.after.is_none()), (0, true));
        assert_eq!(previous(&left, &empty, 2).keys, page.keys);
        // And when everything ahead was: the way on.
        let second = next(&keys(0..4), &page, 2);
        let rest = keys(0..2);
        let empty = previous(&rest, &second, 2);
        assert_eq!((empty.keys.len(), empty.before.is_none()), (0, true));
        assert_eq!(next(&rest, &empty, 2).keys, second.keys);
    }

    #[test]
    fn two_items_with_one_key_are_refused() {
        let request = request(None, None, 1);
        assert_eq!(list_page(&keys([1, 2, 1]), &request), Err(PageError::Duplicate { item: 2 }));
    }

    proptest! {
        /// EP-27: a walk sees everything once, in order, at every size; pages
        /// know whether anything lies on either side.
        #[test]
        fn a_walk_sees_everything_once(count in 0..14_u32) {
            let items = keys(0..count);
            let mut expected = items.clone();
            expected.reverse();
            for size in 1..=i64::from(count) + 1 {
                let mut page = first(&items, size);
                let mut seen = page.keys.clone();
                prop_assert!(page.before.is_none());
                while page.after.is_some() {
                    page = next(&items, &page, size);
                    prop_assert!(!page.keys.is_empty() && page.before.is_some());
                    seen.extend(page.keys.clone());
                    prop_assert!(seen.len() <= items.len(), "nothing twice");
                }
                prop_assert_eq!(&seen, &expected);
            }
        }

        /// EP-27, PAG-10: what is there all the time is seen once, whatever
        /// comes and goes; new items that sort behind the cursor are seen too.
        #[test]
        fn items_that_stay_are_seen_once(
            stays in prop::collection::btree_set(0..40_u32, 0..12),
            rounds in prop::collection::vec(prop::collection::btree_set(0..40_u32, 0..8), 1..12),
            size in 1..5_i64,
        ) {
            let list = |round: usize| {
                let come_and_go = &rounds[round % rounds.len()];
                keys(stays.union(come_and_go).copied())
            };
            let mut page = first(&list(0), size);
            let mut seen = page.keys.clone();
            for round in 1..100 {
                if page.after.is_none() { break }
                page = next(&list(round), &page, size);
                seen.extend(page.keys.clone());
            }
            prop_assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "in order, none twice");
            for &id in &stays {
                prop_assert!(seen.contains(&key(id)));
            }
        }

        /// EP-28: back and forth again leads to the same first item.
        #[test]
        fn before_and_after_are_inverse(count in 0..14_u32, size in 1..6_i64, pages in 0..6) {
            let items = keys(0..count);
            let mut page = first(&items, size);
            for _ in 0..pages {
                if page.after.is_some() { page = next(&items, &page, size); }
            }
            if page.before.is_some() {
                let back = previous(&items, &page, size);
                let again = next(&items, &back, size);
                prop_assert_eq!(again.keys.first(), page.keys.first());
            }
        }
    }
}

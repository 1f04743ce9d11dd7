//! Notifications of changes that other processes made, by LISTEN and NOTIFY of PostgreSQL.
//!
//! Triggers note every change of a row that processes keep in memory (see the
//! migration), so that no statement can forget to. A note arrives after its
//! commit, in the order of the commits, and once for rows of one key that a
//! change touched. It says which rows to read again, not what is in them: whoever
//! reads late reads what is there by then.
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::Pin;
use std::{io, iter};

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::postgres::PgListener;
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::rows::Pair;

/// The channel of the notes.
const CHANNEL: &str = "slackwater";

/// Future of a connection on which notes arrive.
pub type Arrival<'a, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'a>>;

/// Connects to the server at an address, and listens to its notes from then on.
pub type Listen = for<'a> fn(&'a str) -> Arrival<'a, Box<dyn NoteSource>>;

/// Connection on which notes arrive.
pub trait NoteSource: Debug + Send + Sync {
    /// Waits for the next note; `None` if the connection is lost. May be dropped while it waits;
    /// then nothing is lost.
    fn receive(&mut self) -> Arrival<'_, Option<String>>;
}

impl NoteSource for PgListener {
    fn receive(&mut self) -> Arrival<'_, Option<String>> {
        Box::pin(async {
            let note = self.try_recv().await?;
            Ok(note.map(|note| note.payload().to_owned()))
        })
    }
}

/// Listens by LISTEN of PostgreSQL.
pub(super) fn listen_to_server(address: &str) -> Arrival<'_, Box<dyn NoteSource>> {
    Box::pin(async move {
        let mut listener = PgListener::connect(address).await?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await?;
        Ok(Box::new(listener) as Box<dyn NoteSource>)
    })
}

/// A connection on which notes arrive.
#[derive(Debug)]
pub struct ChangeNotifications {
    /// `None` once it is lost: it would connect anew by itself, and hide that
    /// something was missed.
    source: Option<Box<dyn NoteSource>>,
    /// The name of this process, whose own notes say nothing new.
    replica: String,
}

/// Result of waiting for a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// Another process changed something.
    Change,
    /// A mark of this process.
    Mark(Uuid),
}

/// Rows that were changed, by the keys under which they are read again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedKeys {
    /// Users with their accounts and places, by client and user.
    pub users: BTreeSet<Pair>,
    /// Devices.
    pub devices: BTreeSet<Uuid>,
    /// Smart charging and flex policies, by device.
    pub policies: BTreeSet<Uuid>,
    /// Plans, by device.
    pub plans: BTreeSet<Uuid>,
    /// Pending actions, active overrides and schedules, by device.
    pub control: BTreeSet<Uuid>,
    /// Devices with new recordings.
    pub recordings: BTreeSet<Uuid>,
    /// Tariffs, by client and identifier.
    pub tariffs: BTreeSet<Pair>,
    /// Locations with another tariff.
    pub places: BTreeSet<Uuid>,
    /// Zones, by client and name.
    pub zones: BTreeSet<Pair>,
    /// Limits, by zone and area.
    pub limits: BTreeSet<Pair>,
    /// True if there are more changes, of unknown keys.
    pub is_more: bool,
}

impl ChangeNotifications {
    /// Listens from now on. `None` for a file, which one process has for itself.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn listen(store: &Store) -> Result<Option<Self>, StoreError> {
        let Some((address, replica)) = store.server() else { return Ok(None) };
        let source = (store.listen())(address).await?;
        Ok(Some(Self { source: Some(source), replica: replica.to_owned() }))
    }

    /// A connection that is lost already. `None` for a file.
    #[must_use]
    pub fn lost(store: &Store) -> Option<Self> {
        let (_, replica) = store.server()?;
        Some(Self { source: None, replica: replica.to_owned() })
    }

    /// Waits for the next note of another process, or mark of this one. May be
    /// dropped while it waits; then nothing is lost.
    ///
    /// # Errors
    /// The connection is lost, and with it what is noted before the next one.
    pub async fn hear(&mut self, touched: &mut ChangedKeys) -> Result<Notification, StoreError> {
        loop {
            let note = self.next().await?;
            let words: Vec<String> = serde_json::from_str(&note).unwrap_or_default();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                [origin, "mark", mark] if *origin == self.replica => {
                    return Ok(Notification::Mark(mark.parse().unwrap_or_default()));
                }
                [origin, kind, key @ ..] if *origin != self.replica && touched.add(kind, key) => {
                    return Ok(Notification::Change);
                }
                // Its own, or of a kind that only other versions have.
                _ => {}
            }
        }
    }

    async fn next(&mut self) -> Result<String, StoreError> {
        let gone = || sqlx::Error::Io(io::ErrorKind::ConnectionAborted.into());
        let note = self.source.as_mut().ok_or_else(gone)?.receive().await;
        if !matches!(note, Ok(Some(_))) {
            self.source = None;
        }
        Ok(note?.ok_or_else(gone)?)
    }

    /// Sends a mark. When it is heard, all that was committed before was.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn mark(&self, store: &Store) -> Result<Uuid, StoreError> {
        let mark = Uuid::new_v4();
        let note = serde_json::json!([self.replica, "mark", mark]).to_string();
        let query = sqlx::query("select 1 from pg_notify($1, $2)");
        query.bind(CHANNEL).bind(note).execute(store.reader()).await?;
        Ok(mark)
    }
}

impl ChangedKeys {
    /// Adds a note. Returns `true` if its kind is known.
    fn add(&mut self, kind: &str, key: &[&str]) -> bool {
        let pairs = match kind {
            "users" => Some(&mut self.users),
            "tariffs" => Some(&mut self.tariffs),
            "zones" => Some(&mut self.zones),
            "limits" => Some(&mut self.limits),
            _ => None,
        };
        let ids = match kind {
            "devices" => Some(&mut self.devices),
            "policies" => Some(&mut self.policies),
            "plans" => Some(&mut self.plans),
            "control" => Some(&mut self.control),
            "recordings" => Some(&mut self.recordings),
            "places" => Some(&mut self.places),
            _ => None,
        };
        match (pairs, ids, key) {
            (Some(pairs), _, [one, other]) => {
                pairs.insert(((*one).to_owned(), (*other).to_owned()));
            }
            (_, Some(ids), [id]) => {
                ids.extend(Uuid::parse_str(id));
            }
            _ if kind == "all" => self.is_more = true,
            _ => return false,
        }
        true
    }

    /// The keys of all rows that are there.
    ///
    /// # Errors
    /// The database failed.
    pub async fn all(from: &mut AnyConnection) -> Result<Self, StoreError> {
        let mut all = Self {
            users: pairs(from, "select client_id, id from users").await?,
            tariffs: pairs(from, "select client_id, id from tariffs").await?,
            zones: pairs(from, "select client_id, id from zones").await?,
            limits: pairs(from, "select zone_id, area_id from area_limits").await?,
            places: ids(from, "select location_id from tariff_schedules").await?,
            ..Self::default()
        };
        all.add_devices(&ids(from, "select id from devices").await?);
        Ok(all)
    }

    /// Adds devices with all that is kept by device.
    pub fn add_devices(&mut self, ids: &BTreeSet<Uuid>) {
        let Self { devices, policies, plans, control, recordings, .. } = self;
        for own in [devices, policies, plans, control, recordings] {
            own.extend(ids);
        }
    }

    /// All devices of which something was touched.
    #[must_use]
    pub fn all_devices(&self) -> BTreeSet<Uuid> {
        let Self { devices, policies, plans, control, recordings, .. } = self;
        [devices, policies, plans, control, recordings].into_iter().flatten().copied().collect()
    }

    /// Number of keys.
    #[must_use]
    pub fn count(&self) -> usize {
        let Self { users, devices, policies, plans, control, .. } = self;
        let by_device = devices.len() + policies.len() + plans.len() + control.len();
        let prices = self.tariffs.len() + self.places.len() + self.zones.len() + self.limits.len();
        users.len() + by_device + self.recordings.len() + prices
    }

    /// Splits the keys into parts of at most `most`. Users come before devices.
    #[must_use]
    pub fn parts(&self, most: usize) -> Vec<Self> {
        let users = cut(&self.users, most).map(|users| Self { users, ..Self::default() });
        let all_devices = self.all_devices();
        let devices = cut(&all_devices, most).map(|ids| Self {
            devices: &self.devices & &ids,
            policies: &self.policies & &ids,
            plans: &self.plans & &ids,
            control: &self.control & &ids,
            recordings: &self.recordings & &ids,
            ..Self::default()
        });
        let tariffs = cut(&self.tariffs, most).map(|tariffs| Self { tariffs, ..Self::default() });
        let places = cut(&self.places, most).map(|places| Self { places, ..Self::default() });
        let zones = cut(&self.zones, most).map(|zones| Self { zones, ..Self::default() });
        let limits = cut(&self.limits, most).map(|limits| Self { limits, ..Self::default() });
        users.chain(devices).chain(tariffs).chain(places).chain(zones).chain(limits).collect()
    }
}

/// A set in parts of so many members at most.
fn cut<T: Ord + Clone>(set: &BTreeSet<T>, most: usize) -> impl Iterator<Item = BTreeSet<T>> {
    let mut all = set.iter().cloned();
    iter::from_fn(move || {
        let some: BTreeSet<T> = all.by_ref().take(most).collect();
        (!some.is_empty()).then_some(some)
    })
}

async fn ids(
    from: &mut AnyConnection,
    statement: &'static str,
) -> Result<BTreeSet<Uuid>, StoreError> {
    let rows = sqlx::query(statement).fetch_all(from).await?;
    let mut found = BTreeSet::new();
    for row in &rows {
        found.extend(Uuid::parse_str(row.try_get(0)?));
    }
    Ok(found)
}

async fn pairs(
    from: &mut AnyConnection,
    statement: &'static str,
) -> Result<BTreeSet<Pair>, StoreError> {
    let rows = sqlx::query(statement).fetch_all(from).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_added_under_its_kind_and_others_are_left() {
        let (mut touched, id) = (ChangedKeys::default(), Uuid::from_u128(1));
        assert!(touched.add("users", &["c", "a b"]));
        assert!(touched.add("plans", &[&id.to_string()]));
        assert!(!touched.add("kettles", &["c"]));
        assert!(!touched.add("users", &["c"]));
        let expected = ChangedKeys {
            users: [("c".to_owned(), "a b".to_owned())].into(),
            plans: [id].into(),
            ..ChangedKeys::default()
        };
        assert_eq!(touched, expected);
        assert!(touched.add("all", &[]) && touched.is_more);
    }

    #[test]
    fn parts_have_all_keys_once() {
        let pair = |n: u32| ("c".to_owned(), n.to_string());
        let mut all = ChangedKeys {
            users: (0..5).map(pair).collect(),
            zones: (0..1).map(pair).collect(),
            limits: (3..4).map(pair).collect(),
            plans: (7..9).map(Uuid::from_u128).collect(),
            ..ChangedKeys::default()
        };
        all.devices = (0..3).map(Uuid::from_u128).collect();
        let parts = all.parts(2);
        assert_eq!(parts.len(), 3 + 3 + 1 + 1);
        let mut again = ChangedKeys::default();
        for mut part in parts {
            assert!(part.users.len() <= 2 && part.devices.len() + part.plans.len() <= 2);
            again.users.append(&mut part.users);
            again.zones.append(&mut part.zones);
            again.limits.append(&mut part.limits);
            again.plans.append(&mut part.plans);
            again.devices.append(&mut part.devices);
        }
        assert_eq!(again, all);
    }
}

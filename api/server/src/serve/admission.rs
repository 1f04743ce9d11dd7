//! Admission control: how many connections a socket holds, and which one makes room.
//!
//! A connection is *waiting* while none of its requests is under way: from its
//! opening to the end of the first head, and between an answer and the next head.
//! Otherwise it is *busy*. A newcomer that finds the socket full displaces the
//! connection that has waited longest, at first among those of its own peer. So
//! silent connections keep nobody out, however many they are. Busy connections
//! are never displaced; the time limits of `stream` and
//! `body` end those that make no progress.
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use slackwater_service::auth::throttle::Source;

/// `Entry::phase` of a connection with a request under way.
const BUSY: u64 = 0;
/// `Entry::phase` of a connection that had to make room. It stays displaced.
const DISPLACED: u64 = u64::MAX;

/// Most connections that a socket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From all peers together.
    pub total: usize,
    /// From one peer.
    pub of_peer: usize,
}

/// Reason to turn a newcomer away: no connection that could be displaced waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The peer has all that it may have, and uses them.
    Peer,
    /// All connections of the socket are in use.
    Socket,
}

/// The connections of one socket.
#[derive(Debug)]
pub(super) struct Admission {
    limits: Limits,
    open: Mutex<Open>,
    /// Number of the last waiting phase; a lower one began to wait earlier.
    turn: AtomicU64,
    /// Told when a connection ends or begins to wait.
    room: Notify,
}

#[derive(Debug, Default)]
struct Open {
    last_id: u64,
    entries: HashMap<u64, Arc<Entry>>,
    of_peer: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Entry {
    /// `None` for a peer without a limit of its own.
    peer: Option<Source>,
    /// [`BUSY`], [`DISPLACED`], or the turn since which it waits.
    phase: AtomicU64,
    /// The answer is handed over, but may not be sent yet.
    is_answered: AtomicBool,
    /// More was sent than the answer waited for.
    has_unread: AtomicBool,
    displaced: Notify,
}

/// A connection that was let in. Its place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    admission: Arc<Admission>,
    id: u64,
    entry: Arc<Entry>,
}

impl Admission {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let (open, turn, room) = (Mutex::default(), AtomicU64::new(0), Notify::new());
        Arc::new(Self { limits, open, turn, room })
    }

    /// Lets a connection in, if need be in place of one that waits. A peer of
    /// `None`, such as a trusted proxy, has no limit of its own.
    pub(super) fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Result<Arc<Admitted>, Full> {
        let peer = peer.map(Source::from_address);
        let mut open = self.open();
        let of_peer = peer.and_then(|peer| open.of_peer.get(&peer)).copied().unwrap_or_default();
        if of_peer >= self.limits.of_peer && !open.displace(|entry| entry.peer == peer) {
            return Err(Full::Peer);
        }
        if open.entries.len() >= self.limits.total && !open.displace(|_| true) {
            return Err(Full::Socket);
        }
        let entry = Arc::new(Entry {
            peer,
            phase: AtomicU64::new(self.next_turn()),
            is_answered: AtomicBool::new(false),
            has_unread: AtomicBool::new(false),
            displaced: Notify::new(),
        });
        open.last_id += 1;
        let id = open.last_id;
        open.entries.insert(id, Arc::clone(&entry));
        if let Some(peer) = peer {
            *open.of_peer.entry(peer).or_default() += 1;
        }
        Ok(Arc::new(Admitted { admission: Arc::clone(self), id, entry }))
    }

    /// Lets a connection in as soon as the socket has room for it.
    pub(super) async fn admit_when_possible(
        self: &Arc<Self>,
        peer: Option<IpAddr>,
    ) -> Option<Arc<Admitted>> {
        loop {
            // Listened to from before the attempt, so that no room is missed.
            let room = self.room.notified();
            match self.admit(peer) {
                Ok(admitted) => return Some(admitted),
                Err(Full::Peer) => return None,
                Err(Full::Socket) => room.await,
            }
        }
    }

    fn next_turn(&self) -> u64 {
        self.turn.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Displaces the connection of a kind that has waited longest. Returns `true` if there was one.
    fn displace(&mut self, is_of_kind: impl Fn(&Entry) -> bool) -> bool {
        loop {
            let waiting = self.entries.iter().filter(|(_, entry)| is_of_kind(entry));
            let waiting = waiting.map(|(id, entry)| (entry.phase.load(Ordering::Acquire), *id));
            let longest = waiting.filter(|(phase, _)| ![BUSY, DISPLACED].contains(phase)).min();
            let Some((turn, id)) = longest else { return false };
            if self.entries.get(&id).is_some_and(|entry| entry.displace(turn)) {
                self.remove(id);
                return true;
            }
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(peer) = self.entries.remove(&id).and_then(|entry| entry.peer) else { return };
        if let Some(count) = self.of_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&peer);
            }
        }
    }
}

impl Entry {
    /// Displaces the connection if it still waits since `turn`.
    fn displace(&self, turn: u64) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let is_displaced = self.phase.compare_exchange(turn, DISPLACED, success, failure).is_ok();
        if is_displaced {
            self.displaced.notify_one();
        }
        is_displaced
    }

    /// Moves on to another phase, unless the connection was displaced.
    fn go_on(&self, phase: u64) -> bool {
        let next = |now| (now != DISPLACED).then_some(phase);
        self.phase.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }
}

impl Admitted {
    /// Begins a request. Returns `false` if the connection was displaced before.
    pub(super) fn begin(&self) -> bool {
        self.entry.is_answered.store(false, Ordering::Release);
        self.entry.go_on(BUSY)
    }

    /// Notes that the answer was handed over in full.
    pub(super) fn answered(&self) {
        self.entry.is_answered.store(true, Ordering::Release);
    }

    /// Notes that all that was handed over was sent. Returns `true` if that was the end of an
    /// answer: then the connection begins to wait.
    pub(super) fn flushed(&self) -> bool {
        let is_end = self.entry.is_answered.swap(false, Ordering::AcqRel);
        if is_end {
            self.entry.go_on(self.admission.next_turn());
            self.admission.room.notify_waiters();
        }
        is_end
    }

    /// The turn since which the connection waits; `None` while it is busy.
    pub(super) fn waiting(&self) -> Option<u64> {
        Some(self.entry.phase.load(Ordering::Acquire)).filter(|phase| *phase != BUSY)
    }

    /// Displaces the connection if it waits. Returns `true` if it did.
    pub(super) fn displace_if_waiting(&self) -> bool {
        self.waiting().is_some_and(|turn| turn == DISPLACED || self.entry.displace(turn))
    }

    /// Waits until the connection has to make room.
    pub(super) async fn displaced(&self) {
        self.entry.displaced.notified().await;
    }

    /// Notes that the peer may still be sending a body that nobody reads.
    pub(super) fn leave_unread(&self) {
        self.entry.has_unread.store(true, Ordering::Release);
    }

    /// Returns `true` after [`leave_unread`](Self::leave_unread).
    pub(super) fn has_unread(&self) -> bool {
        self.entry.has_unread.load(Ordering::Acquire)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.open().remove(self.id);
        self.admission.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));
    const B: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)));

    fn is_displaced(admitted: &Admitted) -> bool {
        !admitted.begin()
    }

    #[test]
    fn a_newcomer_displaces_the_connection_that_has_waited_longest() {
        let admission = Admission::new(Limits { total: 3, of_peer: 3 });
        let [first, second, third] = [A, A, B].map(|peer| admission.admit(peer).unwrap());
        // The first has been answered since, and waits for a shorter time than the second.
        assert!(first.begin());
        first.answered();
        first.flushed();
        assert!(third.begin());
        let newcomer = admission.admit(B).unwrap();
        assert_eq!(
            [&first, &second, &third, &newcomer].map(|a| is_displaced(a)),
            [false, true, false, false]
        );
    }

    #[test]
    fn a_peer_at_its_limit_displaces_its_own_connections_only() {
        let admission = Admission::new(Limits { total: 3, of_peer: 2 });
        let of_b = admission.admit(B).unwrap();
        let [first, second] = [A, A].map(|peer| admission.admit(peer).unwrap());
        let _third = admission.admit(A).unwrap();
        assert_eq!([&of_b, &first, &second].map(|a| is_displaced(a)), [false, true, false]);
    }

    #[test]
    fn busy_connections_are_not_displaced() {
        let admission = Admission::new(Limits { total: 2, of_peer: 1 });
        let of_a = admission.admit(A).unwrap();
        assert!(of_a.begin());
        assert_eq!(admission.admit(A).unwrap_err(), Full::Peer);
        let of_b = admission.admit(B).unwrap();
        assert!(of_b.begin());
        // A peer without a limit of its own still needs room.
        assert_eq!(admission.admit(None).unwrap_err(), Full::Socket);
        // An answer that is not sent yet keeps the connection busy.
        of_a.answered();
        assert_eq!(admission.admit(None).unwrap_err(), Full::Socket);
        of_a.flushed();
        assert!(admission.admit(None).is_ok());
        assert!(is_displaced(&of_a));
    }

    #[test]
    fn a_connection_that_ends_leaves_nothing_behind() {
        let admission = Admission::new(Limits { total: 2, of_peer: 2 });
        for _ in 0..5 {
            drop([admission.admit(A).unwrap(), admission.admit(B).unwrap()]);
            let displaced: Vec<_> = (0..5).map(|_| admission.admit(A).unwrap()).collect();
            assert_eq!(displaced.iter().filter(|a| is_displaced(a)).count(), 3);
        }
        assert!(admission.open().entries.is_empty() && admission.open().of_peer.is_empty());
    }

    #[tokio::test]
    async fn a_full_socket_lets_in_who_comes_when_there_is_room() {
        let admission = Admission::new(Limits { total: 1, of_peer: 1 });
        let busy = admission.admit(A).unwrap();
        assert!(busy.begin());
        assert!(admission.admit_when_possible(A).await.is_none());
        let waiting = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.admit_when_possible(B).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(busy);
        assert!(waiting.await.unwrap().is_some());
    }
}

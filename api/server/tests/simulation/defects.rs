//! Defects of statements, each of which the simulation must find.
//!
//! The driver gets another statement in place of one of the store's, as if the store had sent that.
//! Defects outside of statements are in `tests/planted.toml`: each needs a compilation.

/// A defect: part of a statement, whose words have one space between them, and what stands there
/// instead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defect {
    pub(crate) name: &'static str,
    find: &'static str,
    replace: &'static str,
}

impl Defect {
    /// The statement with the defect, if it has the place.
    pub(crate) fn plant(&self, sql: &str) -> Option<String> {
        let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains(self.find).then(|| words.replace(self.find, self.replace))
    }
}

const fn defect(name: &'static str, find: &'static str, replace: &'static str) -> Defect {
    Defect { name, find, replace }
}

/// Defects that are planted one at a time.
pub(crate) const DEFECTS: [Defect; 12] = [
    defect(
        "the beginning of an action has no event",
        "where clients.id = $9",
        "where $7 not like '%PENDING%' and clients.id = $9",
    ),
    defect(
        "the end of an action has no event",
        "where clients.id = $9",
        "where $7 like '%PENDING%' and clients.id = $9",
    ),
    defect(
        "the end of an action is not kept",
        "set state = $2, updated_at = $3, completed_at = $4",
        "set state = 'pending', updated_at = $3, completed_at = $4",
    ),
    defect(
        "events are numbered twice",
        "set value = value + 1 where",
        "set value = value + 2 where",
    ),
    defect(
        "events are posted in another order",
        "order by seq limit $3",
        "order by seq desc limit $3",
    ),
    defect(
        "an event is passed over",
        "set posted_seq = $1, failures = $2",
        "set posted_seq = $1 + 1, failures = $2",
    ),
    defect(
        "the progress of a receiver is not kept",
        "set posted_seq = $1, failures = $2",
        "set posted_seq = posted_seq, failures = $2",
    ),
    defect(
        "pending actions are forgotten by a restart",
        "select * from actions where state = 'pending'",
        "select * from actions where state = 'pending' and target_id = ''",
    ),
    defect(
        "the end of an override is not kept",
        "update overrides set ended_at = $2",
        "update overrides set ended_at = null",
    ),
    defect(
        "a policy is not kept",
        "do update set policy = excluded.policy",
        "do update set policy = smart_charging_policies.policy",
    ),
    defect(
        "pending actions of other processes are not read",
        "where state = 'pending' and target_id = any(",
        "where state = 'none' and target_id = any(",
    ),
    defect(
        "changes of actions and overrides are not told",
        "select seq, note from notes where",
        "select seq, note from notes where note not like '%control%' and",
    ),
];

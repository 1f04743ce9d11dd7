//! Leases: the right of one process to work on a row until an instant, so that no two replicas do.
//!
//! Leases are in time of the machine, as the clock of a sandbox may stand still. A process renews
//! its lease in every change that depends on it, and writes nothing once the lease is lost. After
//! a crash the lease expires and another process acquires it. The clocks of replicas must agree
//! to much less than the length of a lease.
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, FromRow};

use crate::error::StoreError;

/// Lease of a row, as a process acquires or renews it.
#[derive(Debug, Clone, Copy)]
pub struct Lease<'a> {
    /// Name of the process.
    pub holder: &'a str,
    /// Time of the machine.
    pub now: DateTime<Utc>,
    /// First instant at which another process may acquire the lease.
    pub until: DateTime<Utc>,
}

impl<'a> Lease<'a> {
    /// Lease that begins `now` and lasts for `length` unless it is renewed.
    #[must_use]
    pub fn new(holder: &'a str, now: DateTime<Utc>, length: TimeDelta) -> Self {
        let until = now.checked_add_signed(length).unwrap_or(DateTime::<Utc>::MAX_UTC);
        Self { holder, now, until }
    }
}

/// Table whose rows are leased.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeasedTable {
    /// Name of the table.
    pub(crate) name: &'static str,
    /// Columns that identify a row.
    pub(crate) key: &'static [&'static str],
    /// Column of the process that holds the lease.
    pub(crate) holder: &'static str,
    /// Column of the instant at which the lease expires, in microseconds since 1970.
    pub(crate) until: &'static str,
    /// SQL condition: the row has work that needs a lease.
    pub(crate) has_work: &'static str,
}

impl LeasedTable {
    /// SQL condition: the row has work, and its lease is free at the instant of a parameter.
    pub(crate) fn is_available(&self, now: &str) -> String {
        format!("{} and coalesce({}, 0) <= {now}", self.has_work, self.until)
    }

    /// Acquires the lease of a row and returns the row; `None` if another process holds the lease,
    /// or the row is gone or has no work.
    pub(crate) async fn acquire<T: for<'r> FromRow<'r, AnyRow>>(
        &self,
        to: &mut AnyConnection,
        key: &[&str],
        lease: &Lease<'_>,
    ) -> Result<Option<T>, StoreError> {
        let statement = format!(
            "update {} set {} = $1, {} = $2 where {} and {} returning *",
            self.name,
            self.holder,
            self.until,
            self.is_available("$3"),
            self.is_row(4),
        );
        let query = sqlx::query(AssertSqlSafe(statement))
            .bind(lease.holder)
            .bind(lease.until.timestamp_micros())
            .bind(lease.now.timestamp_micros());
        let row = bind_key(query, key).fetch_optional(to).await?;
        Ok(row.as_ref().map(T::from_row).transpose()?)
    }

    /// Extends a lease to `lease.until`. Returns `false` if the process does not hold it any more:
    /// then nothing that depends on it may be written.
    pub(crate) async fn renew(
        &self,
        to: &mut AnyConnection,
        key: &[&str],
        lease: &Lease<'_>,
    ) -> Result<bool, StoreError> {
        let statement = format!(
            "update {} set {} = $1 where {} = $2 and {}",
            self.name,
            self.until,
            self.holder,
            self.is_row(3),
        );
        let query = sqlx::query(AssertSqlSafe(statement))
            .bind(lease.until.timestamp_micros())
            .bind(lease.holder);
        Ok(bind_key(query, key).execute(to).await?.rows_affected() == 1)
    }

    /// Gives a lease back. Returns `false` if the process does not hold it any more.
    pub(crate) async fn release(
        &self,
        to: &mut AnyConnection,
        key: &[&str],
        holder: &str,
    ) -> Result<bool, StoreError> {
        let statement = format!(
            "update {} set {} = null, {} = 0 where {} = $1 and {}",
            self.name,
            self.holder,
            self.until,
            self.holder,
            self.is_row(2),
        );
        let query = sqlx::query(AssertSqlSafe(statement)).bind(holder);
        Ok(bind_key(query, key).execute(to).await?.rows_affected() == 1)
    }

    /// SQL condition of the key, whose parameters have numbers from `first` on.
    fn is_row(&self, first: usize) -> String {
        let columns = self.key.iter().zip(first..);
        let conditions: Vec<String> =
            columns.map(|(column, number)| format!("{column} = ${number}")).collect();
        conditions.join(" and ")
    }
}

/// Binds the values of a key, in the order of its columns.
fn bind_key<'q>(query: Query<'q, Any, AnyArguments>, key: &[&str]) -> Query<'q, Any, AnyArguments> {
    key.iter().fold(query, |query, value| query.bind((*value).to_owned()))
}

//! Readers of vendors: which process reads the devices of a vendor, by a lease for each vendor of an
//! environment.
//!
//! The table is there on a server only, as a file has one process.
use chrono::{DateTime, Utc};
use sqlx::AnyConnection;
use sqlx::any::AnyRow;
use sqlx::{FromRow, query, query_as};

use crate::client::Environment;
use crate::error::StoreError;
use crate::lease::{Lease, LeasedTable};
use crate::rows::Cells;
use slackwater_integration::profile::VendorCode;

/// Leases of vendors. There is always something to read.
const LEASED: LeasedTable = LeasedTable {
    name: "vendor_readers",
    key: &["environment", "vendor"],
    holder: "lease_owner",
    until: "lease_until",
    has_work: "vendor is not null",
};

/// Vendor whose devices a process reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorReader {
    /// The vendor.
    pub vendor: VendorCode,
    /// First instant at which another process may acquire the lease.
    pub until: DateTime<Utc>,
}

/// Acquires or renews the lease of a vendor. Returns `false` if another process holds it.
///
/// # Errors
/// The database failed.
pub async fn acquire_or_renew_vendor(
    to: &mut AnyConnection,
    (environment, vendor): (Environment, &VendorCode),
    lease: &Lease<'_>,
) -> Result<bool, StoreError> {
    let key = [environment.as_str(), vendor.as_str()];
    if LEASED.renew(to, &key, lease).await? {
        return Ok(true);
    }
    query(
        "insert into vendor_readers (environment, vendor) values ($1, $2) on conflict do nothing",
    )
    .bind(key[0])
    .bind(key[1])
    .execute(&mut *to)
    .await?;
    let acquired: Option<VendorReader> = LEASED.acquire(to, &key, lease).await?;
    Ok(acquired.is_some())
}

/// Vendors of an environment that processes other than the lease's holder read now.
///
/// # Errors
/// The database failed, or holds what no version of this service has written.
pub async fn vendors_read_by_others(
    from: &mut AnyConnection,
    environment: Environment,
    lease: &Lease<'_>,
) -> Result<Vec<VendorReader>, StoreError> {
    let readers = query_as(
        "select * from vendor_readers
         where environment = $1 and lease_owner <> $2 and lease_until > $3 order by vendor",
    );
    let readers = readers.bind(environment.as_str()).bind(lease.holder);
    Ok(readers.bind(lease.now.timestamp_micros()).fetch_all(from).await?)
}

/// Gives back all leases of a process in an environment.
///
/// # Errors
/// The database failed.
pub async fn release_vendors(
    to: &mut AnyConnection,
    environment: Environment,
    holder: &str,
) -> Result<(), StoreError> {
    let held = "select * from vendor_readers where environment = $1 and lease_owner = $2
         order by vendor";
    let held = query_as(held).bind(environment.as_str()).bind(holder);
    let held: Vec<VendorReader> = held.fetch_all(&mut *to).await?;
    for VendorReader { vendor, .. } in held {
        LEASED.release(to, &[environment.as_str(), vendor.as_str()], holder).await?;
    }
    Ok(())
}

impl FromRow<'_, AnyRow> for VendorReader {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        let row = Cells::new("vendor_readers", row);
        Ok(Self { vendor: row.get("vendor")?, until: row.get("lease_until")? })
    }
}

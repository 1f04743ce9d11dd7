//! Probe of a database: whether it answers and takes writes.
use uuid::Uuid;

use crate::database::Store;
use crate::error::StoreError;
use crate::settings;

/// Name under which a write is tried when it is asked whether writes succeed.
const WRITE_PROBE: &str = "write_probe";

impl Store {
    /// Checks that the database answers and takes writes. While changes are made nothing is written
    /// for it; after one that was not, a value is.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("select 1").execute(self.reader()).await?;
        if self.is_in_doubt() {
            settings::set_setting(self, WRITE_PROBE, &Uuid::new_v4().to_string()).await?;
        }
        Ok(())
    }
}

//! Log of commits of a file: flushed to the disk, and taken over into the file.
use std::sync::Arc;

use sqlx::{AnyConnection, Row};

use crate::checkpoint::Checkpointer;
use crate::connect::Connector;
use crate::error::StoreError;
use crate::flush::Flusher;
use crate::writer::Writer;

/// Tasks that bring commits to the disk, and from their log into the file.
#[derive(Debug, Clone)]
pub(super) struct CommitLog {
    pub(super) flusher: Arc<Flusher>,
    pub(super) checkpointer: Arc<Checkpointer>,
}

impl CommitLog {
    /// For the file that the database is in, wherever its address leads.
    pub(super) async fn of(
        first: &mut AnyConnection,
        connector: &Connector,
        writer: &Writer,
    ) -> Result<Self, StoreError> {
        let file =
            "select cast(file as text) as file from pragma_database_list where name = 'main'";
        let row = sqlx::query(file).fetch_one(first).await?;
        let flusher = Flusher::new(row.try_get("file")?);
        let checkpointer = Checkpointer::new(connector.clone(), writer.clone());
        Ok(Self { flusher: Arc::new(flusher), checkpointer: Arc::new(checkpointer) })
    }
}

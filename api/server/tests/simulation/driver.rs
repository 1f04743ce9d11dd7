//! A driver of `sqlx` that takes the place of PostgreSQL's: statements run on the simulated server.
//!
//! A statement is sent, runs, and is answered; the time of each depends on the seed alone. It runs
//! within one poll of its task: SQLite has a thread of its own, and this one waits for it. No task
//! goes on and no simulated time passes meanwhile, so that a seed has one order of everything.
//!
//! PostgreSQL's own words are few: `set_config` and `pg_notify` are played, and two functions that
//! take lists of keys have other names in SQLite.
use std::future::ready;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, TryStreamExt, stream};
use log::LevelFilter;
use sqlx::any::{AnyArguments, AnyConnectOptions, AnyQueryResult, AnyRow, AnyStatement};
use sqlx::any::{AnyTypeInfo, install_drivers};
use sqlx::migrate::{AppliedMigration, Migrate, MigrateError, Migration};
use sqlx::{ConnectOptions, Database, Either, Row, SqlStr};
use sqlx_core::Url;
use sqlx_core::any::AnyConnectionBackend;
use sqlx_core::any::driver::AnyDriver;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use crate::double::Double;
use crate::server::{Answer, Failing, Link, Server, block_on, reset};

/// Longest wait for the changes of other processes, as the store sets it for its connections.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

const DRIVERS: &[AnyDriver] = &[AnyDriver::without_migrate::<Double>()];

/// Has all stores of this program connect to the simulated server.
pub(crate) fn install() {
    // Each test of the program asks for it.
    let _: Result<(), _> = install_drivers(DRIVERS);
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Rows<'a> =
    Pin<Box<dyn Stream<Item = sqlx::Result<Either<AnyQueryResult, AnyRow>>> + Send + 'a>>;

/// A connection of a process to the server.
#[derive(Debug)]
pub(crate) struct Wire {
    link: Arc<Link>,
    /// Name under which the process makes changes, as the store tells it.
    replica: String,
    /// Held by the connection that makes a change.
    turn: Option<OwnedMutexGuard<()>>,
    /// A statement of the change was refused: the server refuses all that follow.
    is_refused: bool,
    is_broken: bool,
}

impl Wire {
    fn server(&self) -> &Server {
        self.link.server()
    }

    /// Sends a statement, and waits for its answer.
    async fn send(&mut self, sql: SqlStr, arguments: Option<AnyArguments>) -> sqlx::Result<Answer> {
        self.link.call(sql.as_str()).await;
        let answer = self.run(sql, arguments).await;
        self.link.call("answered").await;
        answer
    }

    /// Runs a statement on the server, unless it fails there.
    async fn run(&mut self, sql: SqlStr, arguments: Option<AnyArguments>) -> sqlx::Result<Answer> {
        let step = match sql.as_str() {
            "begin" => Some(Failing::Begin),
            "commit" => Some(Failing::Commit),
            "rollback" => None,
            _ if self.turn.is_some() => Some(Failing::Statement),
            _ => Some(Failing::Read),
        };
        if self.is_broken || step.is_some_and(|step| self.link.fails_at(step)) {
            return Err(self.break_off());
        }
        match sql.as_str() {
            "begin" => {
                let turn = timeout(LOCK_PATIENCE, self.server().turn()).await;
                self.turn = Some(turn.map_err(|_| reset())?);
                self.is_refused = false;
                self.server().write("begin immediate")
            }
            "commit" if !self.is_refused => {
                self.server().write("commit")?;
                self.server().pass_notes(&self.replica);
                self.turn = None;
                // Made, and nobody says so.
                if self.link.fails_at(Failing::Answer) {
                    Err(self.break_off())
                } else {
                    Ok(Vec::new())
                }
            }
            "commit" | "rollback" => {
                self.undo();
                Ok(Vec::new())
            }
            _ if self.is_refused => Err(sqlx::Error::Protocol("the change was refused".to_owned())),
            text if text.starts_with("select set_config") => {
                let asked = self.server().ask("select $1 as replica, $2 as patience", arguments)?;
                self.replica = text_of(&asked, "replica");
                Ok(Vec::new())
            }
            text if text.contains("pg_notify") => {
                let asked = self.server().ask("select $1 as channel, $2 as note", arguments)?;
                self.server().notify(&text_of(&asked, "note"));
                Ok(Vec::new())
            }
            text if self.turn.is_some() => {
                let done = self.server().change(text, arguments);
                self.is_refused = done.is_err();
                done
            }
            text => self.server().ask(text, arguments),
        }
    }

    /// Undoes the change that is being made, if there is one.
    fn undo(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.server().write("rollback").unwrap();
            drop(turn);
        }
    }

    fn break_off(&mut self) -> sqlx::Error {
        self.undo();
        self.is_broken = true;
        reset()
    }
}

/// A server undoes what a process that is gone was about to change.
impl Drop for Wire {
    fn drop(&mut self) {
        self.undo();
    }
}

/// The text in a column of the first row.
fn text_of(answer: &[Either<AnyQueryResult, AnyRow>], column: &str) -> String {
    let row = answer.iter().find_map(|item| item.as_ref().right()).unwrap();
    row.get(column)
}

impl AnyConnectionBackend for Wire {
    fn name(&self) -> &str {
        Double::NAME
    }

    fn close(self: Box<Self>) -> Boxed<'static, sqlx::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn close_hard(self: Box<Self>) -> Boxed<'static, sqlx::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn ping(&mut self) -> Boxed<'_, sqlx::Result<()>> {
        Box::pin(ready(if self.is_broken { Err(reset()) } else { Ok(()) }))
    }

    fn begin(&mut self, statement: Option<SqlStr>) -> Boxed<'_, sqlx::Result<()>> {
        let statement = statement.unwrap_or_else(|| SqlStr::from_static("begin"));
        Box::pin(async move { self.send(statement, None).await.map(drop) })
    }

    fn commit(&mut self) -> Boxed<'_, sqlx::Result<()>> {
        Box::pin(async move { self.send(SqlStr::from_static("commit"), None).await.map(drop) })
    }

    fn rollback(&mut self) -> Boxed<'_, sqlx::Result<()>> {
        Box::pin(async move { self.send(SqlStr::from_static("rollback"), None).await.map(drop) })
    }

    fn start_rollback(&mut self) {
        self.undo();
    }

    fn get_transaction_depth(&self) -> usize {
        usize::from(self.turn.is_some())
    }

    fn shrink_buffers(&mut self) {}

    fn flush(&mut self) -> Boxed<'_, sqlx::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn should_flush(&self) -> bool {
        false
    }

    fn as_migrate(&mut self) -> sqlx::Result<&mut (dyn Migrate + Send + 'static)> {
        Ok(self)
    }

    fn fetch_many(&mut self, sql: SqlStr, _: bool, arguments: Option<AnyArguments>) -> Rows<'_> {
        let sent = async move {
            let answer = self.send(sql, arguments).await?;
            Ok::<_, sqlx::Error>(stream::iter(answer.into_iter().map(Ok)))
        };
        Box::pin(stream::once(sent).try_flatten())
    }

    fn fetch_optional(
        &mut self,
        sql: SqlStr,
        _: bool,
        arguments: Option<AnyArguments>,
    ) -> Boxed<'_, sqlx::Result<Option<AnyRow>>> {
        Box::pin(async move {
            let answer = self.send(sql, arguments).await?;
            Ok(answer.into_iter().find_map(Either::right))
        })
    }

    fn prepare_with<'c, 'q: 'c>(
        &'c mut self,
        _: SqlStr,
        _: &[AnyTypeInfo],
    ) -> Boxed<'c, sqlx::Result<AnyStatement>> {
        Box::pin(ready(Err(sqlx::Error::Protocol("nothing is prepared".to_owned()))))
    }
}

/// Migrations run on the file at once. Those of PostgreSQL alone count as applied: they are
/// triggers, in whose place the server has its own.
impl Migrate for Wire {
    fn create_schema_if_not_exists<'e>(
        &'e mut self,
        schema: &'e str,
    ) -> Boxed<'e, Result<(), MigrateError>> {
        Box::pin(ready(block_on(self.server().writer().create_schema_if_not_exists(schema))))
    }

    fn ensure_migrations_table<'e>(
        &'e mut self,
        table: &'e str,
    ) -> Boxed<'e, Result<(), MigrateError>> {
        Box::pin(ready(block_on(self.server().writer().ensure_migrations_table(table))))
    }

    fn dirty_version<'e>(
        &'e mut self,
        table: &'e str,
    ) -> Boxed<'e, Result<Option<i64>, MigrateError>> {
        Box::pin(ready(block_on(self.server().writer().dirty_version(table))))
    }

    fn list_applied_migrations<'e>(
        &'e mut self,
        table: &'e str,
    ) -> Boxed<'e, Result<Vec<AppliedMigration>, MigrateError>> {
        Box::pin(ready(block_on(self.server().writer().list_applied_migrations(table))))
    }

    fn lock(&mut self) -> Boxed<'_, Result<(), MigrateError>> {
        Box::pin(ready(Ok(())))
    }

    fn unlock(&mut self) -> Boxed<'_, Result<(), MigrateError>> {
        Box::pin(ready(Ok(())))
    }

    fn apply<'e>(
        &'e mut self,
        table: &'e str,
        migration: &'e Migration,
    ) -> Boxed<'e, Result<Duration, MigrateError>> {
        let mut writer = self.server().writer();
        let applied = if migration.sql.as_str().contains("language plpgsql") {
            block_on(writer.skip(table, migration)).map(|()| Duration::ZERO)
        } else {
            block_on(writer.apply(table, migration))
        };
        Box::pin(ready(applied))
    }

    fn revert<'e>(
        &'e mut self,
        table: &'e str,
        migration: &'e Migration,
    ) -> Boxed<'e, Result<Duration, MigrateError>> {
        Box::pin(ready(block_on(self.server().writer().revert(table, migration))))
    }
}

/// Address of the server: its host is the name of the process that connects.
#[derive(Debug, Clone)]
pub(crate) struct Address(String);

impl FromStr for Address {
    type Err = sqlx::Error;

    fn from_str(url: &str) -> sqlx::Result<Self> {
        let options: AnyConnectOptions = url.parse()?;
        Self::try_from(&options)
    }
}

impl TryFrom<&AnyConnectOptions> for Address {
    type Error = sqlx::Error;

    fn try_from(options: &AnyConnectOptions) -> sqlx::Result<Self> {
        let host = options.database_url.host_str().unwrap_or_default();
        Ok(Self(host.to_owned()))
    }
}

impl ConnectOptions for Address {
    type Connection = Wire;

    fn from_url(url: &Url) -> sqlx::Result<Self> {
        url.as_str().parse()
    }

    async fn connect(&self) -> sqlx::Result<Wire> {
        let link = Link::named(&self.0);
        link.call("connect").await;
        let replica = String::new();
        Ok(Wire { link, replica, turn: None, is_refused: false, is_broken: false })
    }

    fn log_statements(self, _: LevelFilter) -> Self {
        self
    }

    fn log_slow_statements(self, _: log::LevelFilter, _: Duration) -> Self {
        self
    }
}

//! Types that `sqlx` asks of a database. Its connections are [`Wire`]; all else has no values.
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::future::ready;

use sqlx::any::AnyQueryResult;
use sqlx::error::BoxDynError;
use sqlx::{Arguments, Column, ColumnIndex, Connection, Database, Either, Encode, Row, SqlStr};
use sqlx::{Statement, Transaction, Type, TypeInfo, Value, ValueRef};
use sqlx_core::impl_statement_query;
use sqlx_core::transaction::TransactionManager;

use crate::driver::{Address, Wire};

/// The simulated server, under the name and the addresses of PostgreSQL.
#[derive(Debug)]
pub(crate) struct Double;

impl Database for Double {
    type Connection = Wire;
    type TransactionManager = Never;
    type Row = Never;
    type QueryResult = AnyQueryResult;
    type Column = Never;
    type TypeInfo = Never;
    type Value = Never;
    type ValueRef<'r> = Never;
    type Arguments = NoArguments;
    type ArgumentBuffer = ();
    type Statement = Never;

    const NAME: &'static str = "PostgreSQL";
    const URL_SCHEMES: &'static [&'static str] = &["postgres", "postgresql"];
}

impl Connection for Wire {
    type Database = Double;
    type Options = Address;

    fn close(self) -> impl Future<Output = sqlx::Result<()>> + Send + 'static {
        ready(Ok(()))
    }

    fn close_hard(self) -> impl Future<Output = sqlx::Result<()>> + Send + 'static {
        ready(Ok(()))
    }

    fn ping(&mut self) -> impl Future<Output = sqlx::Result<()>> + Send + '_ {
        ready(Ok(()))
    }

    fn begin(&mut self) -> impl Future<Output = sqlx::Result<Transaction<'_, Double>>> + Send + '_ {
        Transaction::begin(self, None)
    }

    fn shrink_buffers(&mut self) {}

    fn flush(&mut self) -> impl Future<Output = sqlx::Result<()>> + Send + '_ {
        ready(Ok(()))
    }

    fn should_flush(&self) -> bool {
        false
    }
}

/// Arguments of no statement.
#[derive(Debug, Default)]
pub(crate) struct NoArguments;

impl Arguments for NoArguments {
    type Database = Double;

    fn reserve(&mut self, _: usize, _: usize) {}

    fn add<'t, T: Encode<'t, Double> + Type<Double>>(&mut self, _: T) -> Result<(), BoxDynError> {
        Ok(())
    }

    fn len(&self) -> usize {
        0
    }
}

/// Type without a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Never {}

impl Display for Never {
    fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl TransactionManager for Never {
    type Database = Double;

    fn begin(
        _: &mut Wire,
        _: Option<SqlStr>,
    ) -> impl Future<Output = sqlx::Result<()>> + Send + '_ {
        ready(Ok(()))
    }

    fn commit(_: &mut Wire) -> impl Future<Output = sqlx::Result<()>> + Send + '_ {
        ready(Ok(()))
    }

    fn rollback(_: &mut Wire) -> impl Future<Output = sqlx::Result<()>> + Send + '_ {
        ready(Ok(()))
    }

    fn start_rollback(_: &mut Wire) {}

    fn get_transaction_depth(_: &Wire) -> usize {
        0
    }
}

impl TypeInfo for Never {
    fn is_null(&self) -> bool {
        match *self {}
    }

    fn name(&self) -> &str {
        match *self {}
    }
}

impl Column for Never {
    type Database = Double;

    fn ordinal(&self) -> usize {
        match *self {}
    }

    fn name(&self) -> &str {
        match *self {}
    }

    fn type_info(&self) -> &Self {
        match *self {}
    }
}

impl Row for Never {
    type Database = Double;

    fn columns(&self) -> &[Self] {
        match *self {}
    }

    fn try_get_raw<I: ColumnIndex<Self>>(&self, _: I) -> sqlx::Result<Self> {
        match *self {}
    }
}

impl Value for Never {
    type Database = Double;

    fn as_ref(&self) -> Self {
        match *self {}
    }

    fn type_info(&self) -> Cow<'_, Self> {
        match *self {}
    }

    fn is_null(&self) -> bool {
        match *self {}
    }
}

impl ValueRef<'_> for Never {
    type Database = Double;

    fn to_owned(&self) -> Self {
        match *self {}
    }

    fn type_info(&self) -> Cow<'_, Self> {
        match *self {}
    }

    fn is_null(&self) -> bool {
        match *self {}
    }
}

impl Statement for Never {
    type Database = Double;

    fn into_sql(self) -> SqlStr {
        match self {}
    }

    fn sql(&self) -> &SqlStr {
        match *self {}
    }

    fn parameters(&self) -> Option<Either<&[Self], usize>> {
        match *self {}
    }

    fn columns(&self) -> &[Self] {
        match *self {}
    }

    impl_statement_query!(NoArguments);
}

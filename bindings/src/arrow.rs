//! Columns in and out by the Arrow PyCapsule interface.
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, Float64Array, ListArray, RecordBatch, RecordBatchReader, StructArray,
    TimestampMicrosecondArray,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use pyo3_arrow::input::AnyRecordBatch;

use crate::error::Refused;
use crate::names::{Meant, find_meant, has_same_words};
use crate::record;

/// Timestamps as the engine counts them.
pub(crate) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// A column of timestamps that says it is UTC.
pub(crate) fn utc(times: TimestampMicrosecondArray) -> TimestampMicrosecondArray {
    times.with_timezone("UTC")
}

/// An Arrow error as a refusal.
pub(crate) fn refused(error: ArrowError) -> Refused {
    Refused::Input(format!("the Arrow data cannot be read: {error}"))
}

/// A table, a stream or a single batch of any Arrow library, as an argument: the only place where
/// columns come in. Frames of polars, some of whose columns are not in Arrow's format, are made
/// readable by `slackwater._frames`.
pub(crate) struct TableInput(AnyRecordBatch);

impl<'py> FromPyObject<'_, 'py> for TableInput {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let frames = given.py().import("slackwater._frames")?;
        Ok(Self(frames.call_method1("readable_table", (given,))?.extract()?))
    }
}

impl TableInput {
    /// A reader of the record batches, one after the other.
    pub(crate) fn into_reader(self) -> Result<Box<dyn RecordBatchReader + Send>, Refused> {
        Ok(self.0.into_reader()?)
    }
}

/// The record batches of a table, a stream or a single batch: at least one,
/// so that the columns of an empty table are looked at as well.
pub(crate) fn batches(data: TableInput) -> Result<Vec<RecordBatch>, Refused> {
    let reader = data.into_reader()?;
    let schema = reader.schema();
    let mut batches = reader.collect::<Result<Vec<_>, _>>().map_err(refused)?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}

/// The columns of one batch by name, in the types that the engine takes.
pub(crate) struct Columns<'a> {
    batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(batch: &'a RecordBatch) -> Self {
        Self { batch }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&'a ArrayRef> {
        self.batch.column_by_name(name)
    }

    /// A column that must be there.
    pub(crate) fn column(&self, name: &str) -> Result<&'a ArrayRef, Refused> {
        self.find(name).ok_or_else(|| {
            let schema = self.batch.schema();
            let found: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            // Frames of pandas hand out their index by such a name.
            let is_index = |found: &&str| found.starts_with("__index_level_");
            let index = if found.iter().any(is_index) {
                "; an index becomes a column by reset_index()"
            } else {
                ""
            };
            Refused::Input(format!(
                "there is no column {name:?}; found: {}{index}",
                found.join(", ")
            ))
        })
    }

    /// Refuses columns that other functions honour: ignoring them would plan something else.
    pub(crate) fn refuse_foreign<'b>(
        &self,
        foreign: impl IntoIterator<Item = &'b &'b str>,
        function: &str,
    ) -> Result<(), Refused> {
        match foreign.into_iter().find(|name| self.find(name).is_some()) {
            None => Ok(()),
            Some(name) => Err(Refused::Input(format!(
                "column {name:?} is not something {function} can honour; drop it"
            ))),
        }
    }

    /// Refuses a column that nothing reads, but that has the earlier name of a
    /// known one, or looks like one of `known` that is not there: a slip of the
    /// pen, or the name that another function has for it. Ignoring it would
    /// plan something else. A column whose name has the words of a known one in
    /// another order is refused beside that one, too.
    pub(crate) fn refuse_lookalikes(&self, known: &[&str]) -> Result<(), Refused> {
        for field in self.batch.schema().fields() {
            let given = field.name().as_str();
            if known.contains(&given) {
                continue;
            }
            match find_meant(given, "", known) {
                Some(Meant::Renamed(name)) => {
                    let text = format!("the column {given:?} is called {name:?}; rename it");
                    return Err(Refused::Input(text));
                }
                Some(Meant::Near(name)) if self.find(name).is_none() => {
                    return Err(Refused::Input(format!(
                        "there is a column {given:?}, which is not read; is it {name:?}? \
                         Rename it or drop it"
                    )));
                }
                Some(Meant::Near(name)) if has_same_words(given, name) => {
                    return Err(Refused::Input(format!(
                        "there are columns {given:?} and {name:?}, of which the latter is read; \
                         drop one of them"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A column as microseconds in UTC. A zone is converted, its absence refused.
    pub(crate) fn times(&self, name: &str) -> Result<TimestampMicrosecondArray, Refused> {
        let column = self.column(name)?;
        let as_micros = cast_times(name, column)?;
        Ok(as_micros.as_primitive::<TimestampMicrosecondType>().clone())
    }

    /// A column as numbers.
    pub(crate) fn numbers(&self, name: &str) -> Result<Float64Array, Refused> {
        to_numbers(name, self.column(name)?)
    }

    /// A column as numbers with NaN for null, if it is there.
    pub(crate) fn optional_numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Refused> {
        self.find(name).map(|column| Ok(or_nan(&to_numbers(name, column)?))).transpose()
    }

    /// A column of true and false, if it is there; null is true.
    pub(crate) fn optional_flags(&self, name: &str) -> Result<Option<Vec<bool>>, Refused> {
        let Some(column) = self.find(name) else { return Ok(None) };
        let Some(flags) = column.as_boolean_opt() else {
            let text =
                format!("column {name:?} holds {}, not true or false", content(column.data_type()));
            return Err(Refused::Input(text));
        };
        Ok(Some(flags.iter().map(|flag| flag.unwrap_or(true)).collect()))
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Refuses a null, naming its row.
    pub(crate) fn refuse_nulls(
        name: &str,
        column: &dyn Array,
        first: usize,
    ) -> Result<(), Refused> {
        match (0..column.len()).find(|&row| column.is_null(row)) {
            Some(row) => Err(Refused::Input(format!("{name} of row {} is null", first + row))),
            None => Ok(()),
        }
    }
}

/// Type of the values of a column, whether each is stored or points into a dictionary.
fn value_type(column: &ArrayRef) -> &DataType {
    match column.data_type() {
        DataType::Dictionary(_, value) => value,
        kind => kind,
    }
}

/// A column of any numeric type as numbers.
pub(crate) fn to_numbers(name: &str, column: &ArrayRef) -> Result<Float64Array, Refused> {
    let kind = value_type(column);
    let numeric = kind.is_numeric() || kind == &DataType::Null;
    if !numeric {
        let text = format!("column {name:?} holds {}, not numbers", content(column.data_type()));
        return Err(Refused::Input(text));
    }
    let cast = arrow_cast::cast(column, &DataType::Float64).map_err(refused)?;
    Ok(cast.as_primitive::<Float64Type>().clone())
}

/// A column of aware timestamps in microseconds.
pub(crate) fn cast_times(name: &str, column: &ArrayRef) -> Result<ArrayRef, Refused> {
    match value_type(column) {
        DataType::Timestamp(_, Some(_)) => arrow_cast::cast(column, &timestamp()).map_err(refused),
        DataType::Timestamp(_, None) => Err(Refused::Input(format!(
            "column {name:?} holds timestamps without a time zone; give them the zone of the \
             clock that they are from (pandas: dt.tz_localize, polars: dt.replace_time_zone)"
        ))),
        other => Err(Refused::Input(format!(
            "column {name:?} holds {}, not timestamps with a time zone; make them first \
             (pandas: to_datetime with utc=True, polars: str.to_datetime with time_zone=\"UTC\")",
            content(other)
        ))),
    }
}

/// A column of lists, whose lengths some libraries count with 64 bits; `None` for other content.
pub(crate) fn to_lists(column: &ArrayRef) -> Result<Option<ListArray>, Refused> {
    let (DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) =
        column.data_type()
    else {
        return Ok(None);
    };
    let lists = arrow_cast::cast(column, &DataType::List(item.clone())).map_err(refused)?;
    Ok(Some(lists.as_list::<i32>().clone()))
}

/// Content of a column of a type, in words that need no knowledge of Arrow.
pub(crate) fn content(kind: &DataType) -> String {
    let words = match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "texts",
        DataType::Boolean => "true or false",
        DataType::Null => "nothing",
        DataType::Date32 | DataType::Date64 => "dates without a time of day",
        DataType::Time32(_) | DataType::Time64(_) => "times of day",
        DataType::Timestamp(_, Some(_)) => "timestamps",
        DataType::Timestamp(_, None) => "timestamps without a time zone",
        DataType::Duration(_) | DataType::Interval(_) => "durations",
        DataType::Struct(_) | DataType::Map(_, _) => "records",
        DataType::Dictionary(_, value) => return content(value),
        kind if kind.is_nested() => "lists",
        kind if kind.is_numeric() => "numbers",
        _ => "bytes",
    };
    words.to_owned()
}

/// Numbers with NaN for null. Borrowed columns would save this copy only
/// where there is no null, so callers check that first.
pub(crate) fn or_nan(column: &Float64Array) -> Vec<f64> {
    column.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// Columns with names, which any Arrow library reads: ``pyarrow.table(table)``,
/// ``polars.DataFrame(table)`` and so on.
///
/// A table can be pickled, so it can be handed to other processes. Two tables are equal if they have
/// the same columns and rows.
#[pyclass(frozen, subclass, module = "slackwater")]
#[derive(Debug, Clone)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    pub(crate) fn from_batch(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), batches: vec![batch] }
    }

    /// A table of columns, each with its name and whether it may hold nulls. That is a property of
    /// the table, not of the rows at hand, so that all tables of a kind have one schema.
    pub(crate) fn of_columns<N: AsRef<str>>(
        columns: impl IntoIterator<Item = (N, ArrayRef, bool)>,
    ) -> Result<Self, Refused> {
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(refused)?;
        Ok(Self::from_batch(batch))
    }

    /// The record batches themselves.
    pub(crate) fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }

    /// The record batches: at least one, so that an empty table has its columns.
    pub(crate) fn batches(&self) -> Vec<RecordBatch> {
        if self.batches.is_empty() {
            return vec![RecordBatch::new_empty(self.schema.clone())];
        }
        self.batches.clone()
    }

    /// The same with the currency in the metadata of the schema.
    pub(crate) fn in_currency(batch: RecordBatch, currency: &str) -> Result<Self, Refused> {
        Self::with_metadata(batch, "currency", currency)
    }

    /// The table with the currency in the metadata of its schema.
    pub(crate) fn with_currency(self, currency: &str) -> Result<Self, Refused> {
        match self.batches().into_iter().next() {
            Some(batch) => Self::in_currency(batch, currency),
            None => Ok(self),
        }
    }

    /// The same with an entry in the metadata of the schema.
    pub(crate) fn with_metadata(
        batch: RecordBatch,
        name: &str,
        value: &str,
    ) -> Result<Self, Refused> {
        let metadata = [(name.to_owned(), value.to_owned())].into();
        let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(metadata));
        let batch = batch.with_schema(schema.clone()).map_err(refused)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// True if both tables have the same columns and rows, however the rows are split into batches.
    fn holds_same(&self, other: &Self) -> bool {
        let filled = |table: &Self| {
            let batches = table.batches.iter().filter(|batch| batch.num_rows() > 0);
            batches.cloned().collect::<Vec<_>>().into_iter()
        };
        let rest = |batch: &RecordBatch, rows: usize| {
            let left = batch.num_rows() - rows;
            (left > 0).then(|| batch.slice(rows, left))
        };
        let (mut own, mut others) = (filled(self), filled(other));
        let (mut next, mut next_other) = (own.next(), others.next());
        while let (Some(batch), Some(other)) = (&next, &next_other) {
            let rows = batch.num_rows().min(other.num_rows());
            if batch.slice(0, rows).columns() != other.slice(0, rows).columns() {
                return false;
            }
            let left = (rest(batch, rows), rest(other, rows));
            next = left.0.or_else(|| own.next());
            next_other = left.1.or_else(|| others.next());
        }
        self.schema == other.schema && next.is_none() && next_other.is_none()
    }

    /// One line with the number of rows, each a `thing`, other words about them and the names
    /// of the columns.
    pub(crate) fn shown(&self, class: &str, thing: &str, others: &[String]) -> String {
        let rows = self.num_rows();
        let plural = if rows == 1 { "" } else { "s" };
        let words = [&[format!("{rows} {thing}{plural}")], others].concat();
        format!("{class}({}: {})", words.join(", "), self.column_names().join(", "))
    }

    /// Sum of a column of numbers, and the number of its rows above 0; `None` without the column.
    pub(crate) fn add_up(&self, name: &str) -> Option<(f64, usize)> {
        self.schema.column_with_name(name)?;
        let columns = self.batches.iter().filter_map(|batch| batch.column_by_name(name));
        let numbers = columns.filter_map(|column| column.as_primitive_opt::<Float64Type>());
        let values: Vec<f64> = numbers.flat_map(|numbers| numbers.iter().flatten()).collect();
        Some((values.iter().sum(), values.iter().filter(|&&value| value > 0.0).count()))
    }

    /// Currency of the amounts; empty if the table has none.
    pub(crate) fn currency(&self) -> &str {
        self.schema.metadata().get("currency").map_or("", String::as_str)
    }

    /// The table as a capsule with an Arrow C stream.
    pub(crate) fn stream<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let rows = self.batches.clone().into_iter();
        let arrays = rows.map(|batch| Ok(Arc::new(StructArray::from(batch)) as ArrayRef));
        let field = Field::new_struct("", self.schema.fields().clone(), false)
            .with_metadata(self.schema.metadata().clone());
        let reader = Box::new(ArrayIterator::new(arrays, field.into()));
        to_stream_pycapsule(py, reader, requested_schema)
            .map_err(|error| Refused::Python(error.into()))
    }

    /// The table in the format of Arrow streams.
    fn to_ipc(&self) -> Result<Vec<u8>, ArrowError> {
        let mut writer = StreamWriter::try_new(Vec::new(), &self.schema)?;
        for batch in &self.batches {
            writer.write(batch)?;
        }
        writer.into_inner()
    }
}

#[pymethods]
impl Table {
    /// Reads the bytes of an Arrow stream, as a pickled table has them.
    #[new]
    pub(crate) fn from_ipc(ipc: &[u8]) -> Result<Self, Refused> {
        let reader = StreamReader::try_new(ipc, None).map_err(refused)?;
        let schema = reader.schema();
        Ok(Self { schema, batches: reader.collect::<Result<_, _>>().map_err(refused)? })
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Bytes of all columns.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.holds_same(other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["num_rows", "column_names"])
    }

    fn __repr__(&self) -> String {
        self.shown("Table", "row", &[])
    }

    /// Hand the table to an Arrow library.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        self.stream(py, requested_schema)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyBytes>,), Refused> {
        Ok((PyBytes::new(py, &self.to_ipc().map_err(refused)?),))
    }
}

/// A schema with the currency in its metadata.
pub(crate) fn schema(fields: Vec<Field>, currency: &str) -> SchemaRef {
    let metadata = [("currency".to_owned(), currency.to_owned())].into();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

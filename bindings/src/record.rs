//! Records: frozen Python values with named fields, of which results are made.
//!
//! [`record!`] turns a struct into a Python class. Doc comments of fields become the documentation of
//! the attributes. The functions below work on the Python values of the fields by name, so the macro
//! holds nothing but names.
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::types::Date32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use chrono::{DateTime, NaiveDate, Utc};
use pyo3::PyTypeInfo;
#[cfg(feature = "introspection")]
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
#[cfg(feature = "introspection")]
use pyo3::types::PyInt;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
#[cfg(feature = "introspection")]
use pyo3::{type_hint_identifier, type_hint_subscript};

use crate::arrow::utc;

/// Most entries of a list that `repr` shows.
const SHOWN_MAX: usize = 6;

/// Entries of a longer list that `repr` shows before the number of the others.
const SHOWN_FIRST: usize = 3;

/// Adds the class for a sequence of records to [`record!`], if it has a name.
macro_rules! record_table {
    (() $name:ident ($($field:ident)*)) => {};
    (($table:ident) $name:ident ($($field:ident)*)) => {
        #[doc = concat!(
            "Sequence of `", stringify!($name), "` records, which any Arrow library reads as a table."
        )]
        ///
        /// The columns are the fields of the record. Instants are timestamps in UTC, to the
        /// microsecond; a field that may be `None` is a column with nulls.
        #[pyclass(frozen, from_py_object, module = "slackwater")]
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $table(Vec<$name>);

        impl FromIterator<$name> for $table {
            fn from_iter<I: IntoIterator<Item = $name>>(records: I) -> Self {
                Self(records.into_iter().collect())
            }
        }

        impl $table {
            fn table(&self) -> Result<crate::arrow::Table, crate::error::Refused> {
                crate::arrow::Table::of_columns([$(crate::record::column(
                    stringify!($field),
                    self.0.iter().map(|record| &record.$field),
                )),*])
            }
        }

        #[pymethods]
        impl $table {
            #[new]
            fn from_records(records: Vec<$name>) -> Self {
                Self(records)
            }

            /// Names of the columns.
            #[getter]
            fn column_names(&self) -> Vec<&'static str> {
                $name::FIELDS.to_vec()
            }

            /// Number of records.
            #[getter]
            fn num_rows(&self) -> usize {
                self.0.len()
            }

            fn __len__(&self) -> usize {
                self.0.len()
            }

            fn __getitem__<'py>(
                &self,
                py: Python<'py>,
                index: crate::record::Index<'py>,
            ) -> PyResult<crate::record::One<'py, $name>> {
                let list = pyo3::types::PyList::new(py, self.0.clone())?;
                Ok(crate::record::One::new(list.as_any().get_item(index.0)?))
            }

            fn __iter__<'py>(
                &self,
                py: Python<'py>,
            ) -> PyResult<crate::record::Each<'py, $name>> {
                let list = pyo3::types::PyList::new(py, self.0.clone())?;
                Ok(crate::record::Each::new(list.try_iter()?))
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                if let Ok(records) = other.cast::<Self>() {
                    return self.0 == records.get().0;
                }
                other.extract::<Vec<$name>>().is_ok_and(|list| self.0 == list)
            }

            fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
                pyo3::types::PyTuple::new(py, self.0.clone())?.hash()
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let list = pyo3::types::PyList::new(py, self.0.clone())?;
                Ok(format!("{}({})", stringify!($table), crate::record::shown(&list)?))
            }

            fn __getnewargs__(&self) -> (Vec<$name>,) {
                (self.0.clone(),)
            }

            #[pyo3(signature = (requested_schema = None))]
            fn __arrow_c_stream__<'py>(
                &self,
                py: Python<'py>,
                requested_schema: Option<Bound<'py, pyo3::types::PyCapsule>>,
            ) -> Result<Bound<'py, pyo3::types::PyCapsule>, crate::error::Refused> {
                self.table()?.stream(py, requested_schema)
            }
        }
    };
}

/// Makes Python classes of structs.
///
/// `in Reasons` adds a class for a sequence of such records, which is an Arrow table as well; each
/// field is a column, so its type has to be a [`Cell`]. `impl { .. }` adds methods.
macro_rules! record {
    ($(
        $(#[$doc:meta])*
        pub(crate) struct $name:ident $(in $table:ident)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
        $(impl { $($method:tt)* })?
    )*) => {$(
        #[pyclass(frozen, get_all, eq, from_py_object, module = "slackwater")]
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $name {
            $($(#[$field_doc])* $field: $type,)*
        }

        impl $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*, $($field),*))]
            fn from_fields($($field: $type),*) -> Self {
                Self { $($field),* }
            }

            /// Names of the fields, for `match` statements.
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, pyo3::types::PyTuple>> {
                pyo3::types::PyTuple::new(py, Self::FIELDS)
            }

            /// Return the fields as a dictionary; records inside of it become dictionaries, too.
            fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<crate::record::Fields<'py>> {
                crate::record::to_dict(slf.as_any(), Self::FIELDS)
            }

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                crate::record::repr(slf.as_any(), stringify!($name), Self::FIELDS)
            }

            fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
                crate::record::hash(slf.as_any(), Self::FIELDS)
            }

            fn __getnewargs_ex__<'py>(
                slf: &Bound<'py, Self>,
            ) -> PyResult<((), crate::record::Fields<'py>)> {
                Ok(((), crate::record::fields(slf.as_any(), Self::FIELDS)?))
            }

            $($($method)*)?
        }

        record_table! { ($($table)?) $name ($($field)*) }
    )*};
}

/// Fields of a record by name, in their order.
pub(crate) struct Fields<'py>(pub(crate) Bound<'py, PyDict>);

impl<'py> IntoPyObject<'py> for Fields<'py> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;
    #[cfg(feature = "introspection")]
    const OUTPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        PyDict::TYPE_HINT,
        type_hint_identifier!("builtins", "str"),
        type_hint_identifier!("builtins", "object")
    );

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(self.0)
    }
}

/// Values of the fields by name, as Python has them.
pub(crate) fn fields<'py>(record: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(record.py());
    for name in names {
        fields.set_item(name, record.getattr(*name)?)?;
    }
    Ok(Fields(fields))
}

/// Values of the fields by name; records among them become dictionaries, alone and in lists.
pub(crate) fn to_dict<'py>(record: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<Fields<'py>> {
    let fields = PyDict::new(record.py());
    for name in names {
        fields.set_item(name, plain(record.getattr(*name)?)?)?;
    }
    Ok(Fields(fields))
}

fn plain(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    if let Ok(list) = value.cast::<PyList>() {
        let entries = list.iter().map(plain).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(value.py(), entries)?.into_any());
    }
    if value.hasattr("__arrow_c_stream__")? {
        return plain(
            PyList::new(value.py(), value.try_iter()?.collect::<PyResult<Vec<_>>>()?)?.into_any(),
        );
    }
    if value.hasattr("to_dict")? { value.call_method0("to_dict") } else { Ok(value) }
}

/// Name of the class with all fields. Of a list of more than six entries it shows the first three
/// and the number of the others.
pub(crate) fn repr(record: &Bound<'_, PyAny>, class: &str, names: &[&str]) -> PyResult<String> {
    let field = |name: &&str| Ok::<_, PyErr>(format!("{name}={}", shown(&record.getattr(*name)?)?));
    let fields = names.iter().map(field).collect::<PyResult<Vec<String>>>()?;
    Ok(format!("{class}({})", fields.join(", ")))
}

/// Text of a value, with long lists shortened.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(list) = value.cast::<PyList>() else { return Ok(value.repr()?.to_string()) };
    let shown = if list.len() > SHOWN_MAX { SHOWN_FIRST } else { list.len() };
    let text = |entry: Bound<'_, PyAny>| Ok::<_, PyErr>(entry.repr()?.to_string());
    let mut entries = list.iter().take(shown).map(text).collect::<PyResult<Vec<String>>>()?;
    if shown < list.len() {
        entries.push(format!("... {} more", list.len() - shown));
    }
    Ok(format!("[{}]", entries.join(", ")))
}

/// Hash of the values of all fields: equal records have equal hashes.
pub(crate) fn hash(record: &Bound<'_, PyAny>, names: &[&str]) -> PyResult<isize> {
    let value = |name: &&str| hashable(record.getattr(*name)?);
    let values = names.iter().map(value).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(record.py(), values)?.hash()
}

/// A value with tuples in place of lists, which have no hash.
fn hashable(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    if !value.is_instance_of::<PyList>() && !value.is_instance_of::<PyTuple>() {
        return Ok(value);
    }
    let entries = value.try_iter()?.map(|entry| hashable(entry?)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(value.py(), entries)?.into_any())
}

/// Position of a record in a sequence, or a slice of it.
pub(crate) struct Index<'py>(pub(crate) Bound<'py, PyAny>);

impl<'py> FromPyObject<'_, 'py> for Index<'py> {
    type Error = PyErr;
    #[cfg(feature = "introspection")]
    const INPUT_TYPE: PyStaticExpr = PyInt::TYPE_HINT;

    fn extract(index: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(index.to_owned()))
    }
}

/// Record of a sequence; a slice gives a list of them.
pub(crate) struct One<'py, T> {
    record: Bound<'py, PyAny>,
    kind: PhantomData<T>,
}

/// Iterator over the records of a sequence.
pub(crate) struct Each<'py, T> {
    records: Bound<'py, PyIterator>,
    kind: PhantomData<T>,
}

impl<'py, T> One<'py, T> {
    pub(crate) fn new(record: Bound<'py, PyAny>) -> Self {
        Self { record, kind: PhantomData }
    }
}

impl<'py, T> Each<'py, T> {
    pub(crate) fn new(records: Bound<'py, PyIterator>) -> Self {
        Self { records, kind: PhantomData }
    }
}

impl<'py, T: PyTypeInfo> IntoPyObject<'py> for One<'py, T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    #[cfg(feature = "introspection")]
    const OUTPUT_TYPE: PyStaticExpr = T::TYPE_HINT;

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.record)
    }
}

impl<'py, T: PyTypeInfo> IntoPyObject<'py> for Each<'py, T> {
    type Target = PyIterator;
    type Output = Bound<'py, PyIterator>;
    type Error = PyErr;
    #[cfg(feature = "introspection")]
    const OUTPUT_TYPE: PyStaticExpr =
        type_hint_subscript!(type_hint_identifier!("collections.abc", "Iterator"), T::TYPE_HINT);

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        Ok(self.records)
    }
}

/// Type of a field that can be a column of an Arrow table.
pub(crate) trait Cell {
    /// Values of a column as Arrow has them.
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;

    /// True if a value may be absent, which is a null of the column.
    const IS_NULLABLE: bool = false;
}

/// A column of an Arrow table with its name and whether it may hold nulls.
pub(crate) type Column = (&'static str, ArrayRef, bool);

/// Column of one field of all records.
pub(crate) fn column<'a, T: Cell + 'a>(
    name: &'static str,
    values: impl Iterator<Item = &'a T>,
) -> Column {
    (name, T::array(values), T::IS_NULLABLE)
}

impl Cell for DateTime<Utc> {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let micros = values.map(DateTime::timestamp_micros);
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros)))
    }
}

impl Cell for Option<DateTime<Utc>> {
    const IS_NULLABLE: bool = true;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let micros = values.map(|at| at.as_ref().map(DateTime::timestamp_micros));
        Arc::new(utc(micros.collect::<TimestampMicrosecondArray>()))
    }
}

impl Cell for f64 {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(values.copied()))
    }
}

impl Cell for usize {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        // Positions in a list, which 64 bits hold on every machine.
        Arc::new(Int64Array::from_iter_values(values.map(|&value| value as i64)))
    }
}

impl Cell for Option<usize> {
    const IS_NULLABLE: bool = true;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let places = values.map(|place| place.map(|value| value as i64));
        Arc::new(places.collect::<Int64Array>())
    }
}

impl Cell for Option<f64> {
    const IS_NULLABLE: bool = true;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.copied().collect::<Float64Array>())
    }
}

impl Cell for bool {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.copied().map(Some).collect::<BooleanArray>())
    }
}

impl Cell for NaiveDate {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(Date32Array::from_iter_values(
            values.map(|&date| Date32Type::from_naive_date(date)),
        ))
    }
}

impl Cell for Option<NaiveDate> {
    const IS_NULLABLE: bool = true;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let days = values.map(|date| date.map(Date32Type::from_naive_date));
        Arc::new(days.collect::<Date32Array>())
    }
}

impl Cell for String {
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(values))
    }
}

impl Cell for Option<String> {
    const IS_NULLABLE: bool = true;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.map(Option::as_deref).collect::<StringArray>())
    }
}

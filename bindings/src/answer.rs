//! Columns that the answers of all batches have in common.
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int8Array, ListArray, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use slackwater_engine::columns::IntervalColumns;

use crate::arrow::{timestamp, utc};

/// Words of the `status` column.
const STATUS: [&str; 3] = ["optimal", "shortfall", "error"];

/// The columns `intervals`, `status` and `error`.
pub(crate) fn fields() -> [Field; 3] {
    let words = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    [
        Field::new("intervals", DataType::List(item().into()), false),
        Field::new("status", words, false),
        Field::new("error", DataType::Utf8, true),
    ]
}

pub(crate) fn item() -> Field {
    Field::new("item", DataType::Struct(interval_fields()), false)
}

pub(crate) fn interval_fields() -> Fields {
    Fields::from(vec![
        Field::new("start", timestamp(), false),
        Field::new("end", timestamp(), false),
        Field::new("power_kw", DataType::Float64, false),
    ])
}

/// One list of intervals per row.
pub(crate) fn intervals(columns: IntervalColumns) -> ArrayRef {
    let IntervalColumns { offsets, start, end, power_kw } = columns;
    let times =
        |micros: Vec<i64>| Arc::new(utc(TimestampMicrosecondArray::from(micros))) as ArrayRef;
    let columns = vec![times(start), times(end), Arc::new(Float64Array::from(power_kw))];
    let periods = StructArray::new(interval_fields(), columns, None);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Arc::new(ListArray::new(item().into(), offsets, Arc::new(periods), None))
}

/// A word per row; a row without a shortfall, not even of nothing, is an error.
pub(crate) fn status(shortfall_kwh: &[f64]) -> ArrayRef {
    let code = |kwh: &f64| if kwh.is_nan() { 2 } else { i8::from(*kwh > 0.0) };
    let codes = Int8Array::from_iter_values(shortfall_kwh.iter().map(code));
    let words = Arc::new(StringArray::from(STATUS.to_vec()));
    Arc::new(DictionaryArray::new(codes, words))
}

/// The text of an error where there is one, by positions in ascending order.
pub(crate) fn errors<E: ToString>(rows: usize, errors: &[(usize, E)]) -> ArrayRef {
    let mut texts = StringBuilder::with_capacity(rows, errors.len() * 48);
    let mut errors = errors.iter().peekable();
    for row in 0..rows {
        match errors.next_if(|(position, _)| *position == row) {
            Some((_, error)) => texts.append_value(error.to_string()),
            None => texts.append_null(),
        }
    }
    Arc::new(texts.finish())
}

/// A column of numbers with null for NaN.
pub(crate) fn numbers(values: Vec<f64>) -> ArrayRef {
    let nulls = values
        .iter()
        .any(|value| value.is_nan())
        .then(|| values.iter().map(|value| !value.is_nan()).collect::<Vec<bool>>());
    let values = ScalarBuffer::from(values);
    Arc::new(Float64Array::new(values, nulls.map(NullBuffer::from)))
}

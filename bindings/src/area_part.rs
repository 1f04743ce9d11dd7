//! A part of the vehicles of an area, which answers and writes plans by itself.
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::DataType;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use slackwater_engine::area::Worker;
use slackwater_engine::area::distributed::{
    Overrides, Partition, PricingRequest, SessionUpdate, WorkerError,
};

use crate::area_crew::{PART, POSITION, ROW, sums_table, with_columns};
use crate::area_input::{AreaColumns, NodeArg, Paid, one_batch};
use crate::area_table;
use crate::arrow::{Columns, Table, TableInput, refused};
use crate::error::Refused;

/// Vehicles of a part, ready to be asked. It answers the same whoever asks, and
/// however often.
#[pyclass(frozen, module = "slackwater._engine")]
pub(crate) struct AreaPart {
    number: i64,
    columns: AreaColumns,
    rows: Int64Array,
    paid: Paid,
    part: Arc<Worker>,
    /// The change of the last question, and the part after it.
    changed: Mutex<Option<(String, Arc<Worker>)>>,
}

fn read_json<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Refused> {
    serde_json::from_str(text).map_err(|error| Refused::argument(name, error))
}

fn not_ours(error: WorkerError) -> Refused {
    Refused::Input(error.to_string())
}

/// Whole numbers of a column without nulls.
fn whole(batch: &RecordBatch, name: &str) -> Result<Int64Array, Refused> {
    let column = Columns::new(batch).column(name)?;
    Columns::refuse_nulls(name, column, 0)?;
    let column = arrow_cast::cast(column, &DataType::Int64).map_err(refused)?;
    Ok(column.as_primitive::<Int64Type>().clone())
}

/// The rows in the order of their positions, which may have been lost on the way.
fn in_order(batch: RecordBatch) -> Result<RecordBatch, Refused> {
    let positions = whole(&batch, POSITION)?;
    if positions.values().is_sorted() {
        return Ok(batch);
    }
    let mut order: Vec<u32> = (0..batch.num_rows() as u32).collect();
    order.sort_by_key(|&row| positions.value(row as usize));
    let order = UInt32Array::from(order);
    arrow_select::take::take_record_batch(&batch, &order).map_err(refused)
}

#[pymethods]
impl AreaPart {
    #[new]
    #[pyo3(signature = (vehicles, paid, *, nodes, place))]
    fn new(
        py: Python<'_>,
        vehicles: TableInput,
        paid: Paid,
        nodes: Vec<NodeArg>,
        place: &str,
    ) -> Result<Self, Refused> {
        let place: Partition = read_json("place", place)?;
        let batch = in_order(one_batch(vehicles)?)?;
        let number = whole(&batch, PART)?.values().first().copied().unwrap_or(0);
        let columns = AreaColumns::new(&batch, &paid, &nodes)?;
        let rows = whole(&batch, ROW)?;
        let part = crate::work::in_parallel(py, || {
            let problem = columns.problem(&paid)?;
            Worker::new(&problem, &place).map_err(not_ours)
        })??;
        let changed = Mutex::new(None);
        Ok(Self { number, columns, rows, paid, part: Arc::new(part), changed })
    }

    /// Answer of the part to a question.
    #[pyo3(signature = (question, own, change))]
    fn answer(
        &self,
        py: Python<'_>,
        question: &str,
        own: &str,
        change: Option<&str>,
    ) -> Result<Table, Refused> {
        crate::work::in_parallel(py, || {
            let (question, own, part) = self.asked(question, own, change)?;
            let prices = (self.paid.import()?.0, self.paid.export()?);
            let sums = part.answer(prices, &question, &own).map_err(not_ours)?;
            sums_table(self.number, &sums)
        })?
    }

    /// The plans of the rows of the part, with their rows among all vehicles.
    #[pyo3(signature = (question, own, change))]
    fn plans(
        &self,
        py: Python<'_>,
        question: &str,
        own: &str,
        change: Option<&str>,
    ) -> Result<Table, Refused> {
        crate::work::in_parallel(py, || {
            let (question, own, part) = self.asked(question, own, change)?;
            self.written(&part, &question, &own)
        })?
    }
}

impl AreaPart {
    /// Question of a call, and the part that it asks.
    fn asked(
        &self,
        question: &str,
        own: &str,
        change: Option<&str>,
    ) -> Result<(PricingRequest, Overrides, Arc<Worker>), Refused> {
        Ok((read_json("question", question)?, read_json("own", own)?, self.after(change)?))
    }

    /// The part after a change; the last one is kept.
    fn after(&self, change: Option<&str>) -> Result<Arc<Worker>, Refused> {
        let Some(change) = change else { return Ok(self.part.clone()) };
        let mut last = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((text, part)) = last.as_ref()
            && text == change
        {
            return Ok(part.clone());
        }
        let read: SessionUpdate = read_json("change", change)?;
        let part = Arc::new(self.part.updated(&read).map_err(not_ours)?);
        *last = Some((change.to_owned(), part.clone()));
        Ok(part)
    }

    fn written(
        &self,
        part: &Worker,
        question: &PricingRequest,
        own: &Overrides,
    ) -> Result<Table, Refused> {
        let problem = self.columns.problem(&self.paid)?;
        let estimates = self.columns.estimates(&self.paid);
        let (id, currency) = (self.columns.id(), self.paid.import()?.1);
        let schema = area_table::plan_schema(id.data_type(), currency);
        let (mut first, mut made, mut failed) = (0, Vec::new(), None);
        let mut errors = part.errors().iter().peekable();
        let told = (question, own);
        part.rows(&problem, told, area_table::RUN, &mut |rows| {
            let mut texts = StringBuilder::new();
            let count = rows.len();
            for row in first..first + count {
                let error = errors.next_if(|(at, _)| *at == row);
                texts.append_option(error.map(|(_, error)| error.to_string()));
            }
            let guessed = estimates.energies(first, &rows.intervals, &rows.numbers.cost);
            let batch = area_table::record_batch(
                &schema,
                id.slice(first, count),
                rows,
                guessed,
                Arc::new(texts.finish()),
            );
            let rows = self.rows.slice(first, count);
            first += count;
            match batch.and_then(|batch| with_columns(&batch, [(ROW, rows)])) {
                Ok(batch) => made.push(batch),
                Err(error) => failed = Some(error),
            }
        })
        .map_err(not_ours)?;
        if let Some(error) = failed {
            return Err(error);
        }
        if made.is_empty() {
            let none = Int64Array::from(Vec::<i64>::new());
            made.push(with_columns(&RecordBatch::new_empty(schema), [(ROW, none)])?);
        }
        Ok(Table::new(made[0].schema(), made))
    }
}

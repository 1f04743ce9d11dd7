//! Vehicles of an area that are asked elsewhere: what Python is told, and what it says.
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field};
use pyo3::prelude::*;
use serde::Serialize;
use slackwater_engine::area as engine;
use slackwater_engine::area::BlockLoad;
use slackwater_engine::area::distributed::{
    Assigned, Overrides, Partition, PricingRequest, SessionUpdate,
};

use crate::area_input::one_batch;
use crate::area_watch::Raised;
use crate::arrow::{Columns, Table, TableInput, refused};
use crate::error::Refused;

/// The part of a row, in tables of parts and of sums.
pub(crate) const PART: &str = "area_part";
/// The position of a row in its part.
pub(crate) const POSITION: &str = "area_position";
/// The row in the table of all vehicles.
pub(crate) const ROW: &str = "area_row";

/// Data of the engine as text of one line.
pub(crate) fn text(data: &impl Serialize) -> String {
    // Finite numbers and names of our own: nothing that has no text.
    serde_json::to_string(data).unwrap_or_default()
}

/// A `slackwater.parts.Crew`.
pub(crate) struct Crew {
    python: Py<PyAny>,
    parts: usize,
    vehicles: RecordBatch,
    slots: usize,
    places: Vec<Partition>,
    raised: Raised,
}

impl Crew {
    pub(crate) fn new(
        py: Python<'_>,
        crew: Py<PyAny>,
        vehicles: RecordBatch,
        slots: usize,
        raised: Raised,
    ) -> Result<Self, Refused> {
        let parts = crew.getattr(py, "parts")?.extract(py)?;
        if parts == 0 {
            return Err(Refused::Input("parts is 0; it is 1 or more".into()));
        }
        Ok(Self { python: crew, parts, vehicles, slots, places: Vec::new(), raised })
    }

    pub(crate) fn into_places(self) -> Vec<Partition> {
        self.places
    }

    fn asked(
        &self,
        question: &PricingRequest,
        own: &[Overrides],
    ) -> Result<Vec<Vec<BlockLoad>>, Refused> {
        let (question, own): (String, Vec<String>) =
            (text(question), own.iter().map(text).collect());
        let tables = Python::attach(|py| {
            let answer = self.python.call_method1(py, "ask", (question, own))?;
            answer.extract::<Vec<TableInput>>(py)
        })?;
        let mut by_part: BTreeMap<usize, Vec<BlockLoad>> = BTreeMap::new();
        for table in tables {
            for (part, sum) in read_sums(&one_batch(table)?)? {
                by_part.entry(part).or_default().push(sum);
            }
        }
        let mut all = Vec::with_capacity(self.places.len());
        for (part, place) in self.places.iter().enumerate() {
            let mut sums = by_part.remove(&part).unwrap_or_default();
            sums.sort_by_key(|sum| (sum.group, sum.node));
            if !place.fits(&sums, self.slots) {
                let text = format!("part {part} did not answer what it was asked");
                return Err(Refused::Input(text));
            }
            all.push(sums);
        }
        match by_part.keys().next() {
            Some(part) => Err(Refused::Input(format!("there is no part {part}; it answered"))),
            None => Ok(all),
        }
    }

    fn dealt(&self, at: usize, share: &Assigned) -> Result<(), Refused> {
        let rows = UInt32Array::from(share.rows.clone());
        let batch =
            arrow_select::take::take_record_batch(&self.vehicles, &rows).map_err(refused)?;
        let count = share.rows.len() as i64;
        let more = [
            (PART, Int64Array::from(vec![at as i64; share.rows.len()])),
            (POSITION, Int64Array::from_iter_values(0..count)),
            (ROW, share.rows.iter().map(|&row| i64::from(row)).collect()),
        ];
        let batch = with_columns(&batch, more)?;
        let place = text(&share.partition);
        Python::attach(|py| {
            self.python.call_method1(py, "deal", (at, Table::from_batch(batch), place))
        })?;
        Ok(())
    }

    fn note(&self, done: Result<(), Refused>) {
        if let Err(error) = done {
            self.raised.fail(error.into());
        }
    }
}

/// The same batch with further columns of whole numbers.
pub(crate) fn with_columns<const N: usize>(
    batch: &RecordBatch,
    more: [(&str, Int64Array); N],
) -> Result<RecordBatch, Refused> {
    let schema = batch.schema();
    let mut fields: Vec<Field> =
        schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    let mut columns = batch.columns().to_vec();
    for (name, column) in more {
        if schema.column_with_name(name).is_some() {
            return Err(Refused::Input(format!("column {name:?} is ours; drop it")));
        }
        fields.push(Field::new(name, DataType::Int64, false));
        columns.push(Arc::new(column));
    }
    let schema = arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new(schema.into(), columns).map_err(refused)
}

impl engine::Workers for Crew {
    fn parts(&self) -> usize {
        self.parts
    }

    fn assign(&mut self, shares: Vec<Assigned>) {
        for (at, share) in shares.into_iter().enumerate() {
            if !self.raised.has_failed() {
                let done = self.dealt(at, &share);
                self.note(done);
            }
            self.places.push(share.partition);
        }
    }

    fn update(&mut self, changes: &[SessionUpdate]) {
        if !self.raised.has_failed() {
            let changes: Vec<String> = changes.iter().map(text).collect();
            let done =
                Python::attach(|py| self.python.call_method1(py, "change", (changes,)).map(drop));
            self.note(done.map_err(Refused::from));
        }
    }

    fn price(
        &mut self,
        question: &PricingRequest,
        own: &[Overrides],
    ) -> Option<Vec<Vec<BlockLoad>>> {
        if self.raised.has_failed() {
            return None;
        }
        match self.asked(question, own) {
            Ok(sums) => Some(sums),
            Err(error) => {
                self.note(Err(error));
                None
            }
        }
    }
}

fn list(item: DataType) -> DataType {
    DataType::List(Field::new("item", item, true).into())
}

/// Answer of a part, one row a run of blocks.
pub(crate) fn sums_table(part: i64, sums: &[BlockLoad]) -> Result<Table, Refused> {
    let whole = |of: &dyn Fn(&BlockLoad) -> i64| -> ArrayRef {
        Arc::new(sums.iter().map(of).collect::<Int64Array>())
    };
    let numbers = |of: &dyn Fn(&BlockLoad) -> &Vec<f64>| -> ArrayRef {
        let mut lists = ListBuilder::new(Float64Builder::new());
        for sum in sums {
            lists.values().append_slice(of(sum));
            lists.append(true);
        }
        Arc::new(lists.finish())
    };
    let mut loads = ListBuilder::new(Int64Builder::new());
    let mut short = ListBuilder::new(Int64Builder::new());
    for sum in sums {
        loads.values().append_slice(&sum.load);
        loads.append(true);
        sum.with_shortfall.iter().for_each(|&at| short.values().append_value(i64::from(at)));
        short.append(true);
    }
    let columns: [(&str, ArrayRef); 10] = [
        (PART, whole(&|_| part)),
        ("group", whole(&|sum| sum.group as i64)),
        ("node", whole(&|sum| i64::from(sum.node))),
        ("cost", numbers(&|sum| &sum.cost)),
        ("shed_worth", numbers(&|sum| &sum.shortfall_penalty)),
        ("slack", numbers(&|sum| &sum.optimality_slack)),
        ("load", Arc::new(loads.finish())),
        ("shed", whole(&|sum| sum.shortfall)),
        ("sold", whole(&|sum| sum.discharged)),
        ("short", Arc::new(short.finish())),
    ];
    Ok(Table::from_batch(RecordBatch::try_from_iter(columns).map_err(refused)?))
}

/// The sums of a table, with the part of each.
fn read_sums(batch: &RecordBatch) -> Result<Vec<(usize, BlockLoad)>, Refused> {
    let columns = Columns::new(batch);
    let column = |name: &str, kind: DataType| {
        arrow_cast::cast(columns.column(name)?, &kind).map_err(refused)
    };
    let whole = |name| column(name, DataType::Int64);
    let [part, group, node, shed, sold] =
        [whole(PART)?, whole("group")?, whole("node")?, whole("shed")?, whole("sold")?];
    let numbers = |name| column(name, list(DataType::Float64));
    let [cost, worth, slack] = [numbers("cost")?, numbers("shed_worth")?, numbers("slack")?];
    let [load, short] =
        [column("load", list(DataType::Int64))?, column("short", list(DataType::Int64))?];
    let at = |column: &ArrayRef, row: usize| column.as_primitive::<Int64Type>().value(row);
    let floats = |column: &ArrayRef, row: usize| {
        column.as_list::<i32>().value(row).as_primitive::<Float64Type>().values().to_vec()
    };
    let ints = |column: &ArrayRef, row: usize| {
        column.as_list::<i32>().value(row).as_primitive::<Int64Type>().values().to_vec()
    };
    let sum = |row: usize| BlockLoad {
        group: at(&group, row) as usize,
        node: at(&node, row) as u32,
        cost: floats(&cost, row),
        shortfall_penalty: floats(&worth, row),
        optimality_slack: floats(&slack, row),
        load: ints(&load, row),
        shortfall: at(&shed, row),
        discharged: at(&sold, row),
        with_shortfall: ints(&short, row).into_iter().map(|at| at as u32).collect(),
    };
    Ok((0..batch.num_rows()).map(|row| (at(&part, row) as usize, sum(row))).collect())
}

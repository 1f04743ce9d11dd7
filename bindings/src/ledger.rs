//! Many sessions into the ledger, Arrow to Arrow.
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray, UInt32Array,
};
use arrow_schema::DataType;
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::statistics::fixed::Amount;
use slackwater_engine::statistics::sample::Sample;
use slackwater_engine::statistics::savings::{self, FrozenSession, Session};
use slackwater_engine::statistics::sessions::{self, SessionItem};
use slackwater_engine::units::{Power, Price, UnitError};

use crate::arrow::{Columns, Table, TableInput, batches, content, refused, utc};
use crate::error::Refused;
use crate::interrupt;
use crate::keys::Keys;
use crate::prices::Prices;
use crate::statistics_columns::money;

/// Sessions as they were read: what they are called, and what is known of them.
struct Read {
    keys: Keys,
    sessions: Vec<Session>,
    /// Position of the prices of each session.
    curve: Vec<usize>,
}

fn instant(name: &str, row: usize, micros: i64) -> Result<DateTime<Utc>, Refused> {
    DateTime::from_timestamp_micros(micros).ok_or_else(|| {
        Refused::Input(format!("{name} of row {row} lies outside of the years that can be told"))
    })
}

fn quantity<T>(name: &str, row: usize, made: Result<T, UnitError>) -> Result<T, Refused> {
    made.map_err(|error| Refused::Input(format!("{name} of row {row}: {error}")))
}

/// Which sessions are smart: all without such a column.
fn smart(columns: &Columns<'_>, rows: usize, first: usize) -> Result<Vec<bool>, Refused> {
    let Some(column) = columns.find("is_smart") else { return Ok(vec![true; rows]) };
    if column.data_type() != &DataType::Boolean {
        let text =
            format!("column \"is_smart\" holds {}, not true or false", content(column.data_type()));
        return Err(Refused::Input(text));
    }
    Columns::refuse_nulls("is_smart", column, first)?;
    let flags = column.as_boolean();
    Ok((0..rows).map(|row| flags.value(row)).collect())
}

impl Read {
    fn sessions(
        data: TableInput,
        by: &str,
        ids: Option<&HashMap<String, usize>>,
    ) -> Result<Self, Refused> {
        let keys = Keys::new(&[by.to_owned()]);
        let mut read = Self { keys, sessions: Vec::new(), curve: Vec::new() };
        for batch in batches(data)? {
            read.add(&batch, by, ids)?;
        }
        Ok(read)
    }

    fn add(
        &mut self,
        batch: &RecordBatch,
        by: &str,
        ids: Option<&HashMap<String, usize>>,
    ) -> Result<(), Refused> {
        let (columns, first) = (Columns::new(batch), self.sessions.len());
        let (plugged_in, power) = (columns.times("plugged_in")?, columns.numbers("power_max_kw")?);
        Columns::refuse_nulls("plugged_in", &plugged_in, first)?;
        Columns::refuse_nulls("power_max_kw", &power, first)?;
        let is_smart = smart(&columns, batch.num_rows(), first)?;
        let codes = self.keys.encode(batch, first)?.unwrap_or_default();
        for (index, code) in codes.into_iter().enumerate() {
            let row = first + index;
            if code as usize != row {
                return Err(Refused::Input(format!("{by} of row {row} is there already")));
            }
            self.sessions.push(Session {
                plugged_in: instant("plugged_in", row, plugged_in.value(index))?,
                power_max: quantity("power_max_kw", row, Power::from_kw(power.value(index)))?,
                is_smart: is_smart[index],
                samples: Vec::new(),
            });
        }
        self.curve.extend(curves(&columns, batch.num_rows(), first, ids)?);
        Ok(())
    }

    /// Gives each session its samples.
    fn add_samples(&mut self, data: TableInput, by: &str) -> Result<(), Refused> {
        let mut first = 0;
        for batch in batches(data)? {
            let columns = Columns::new(&batch);
            let (start, end) = (columns.times("start")?, columns.times("end")?);
            Columns::refuse_nulls("start", &start, first)?;
            Columns::refuse_nulls("end", &end, first)?;
            let (power, price) =
                (columns.numbers("power_kw")?, columns.optional_numbers("price_per_kwh")?);
            let codes = self.keys.encode(&batch, first)?.unwrap_or_default();
            for (index, code) in codes.into_iter().enumerate() {
                let row = first + index;
                let Some(session) = self.sessions.get_mut(code as usize) else {
                    let text = format!("{by} of row {row} of the samples is no session");
                    return Err(Refused::Input(text));
                };
                let power = power.is_valid(index).then(|| Power::from_kw(power.value(index)));
                let price =
                    price.as_ref().map(|price| price[index]).filter(|price| !price.is_nan());
                let price = price.map(Price::from_per_kwh);
                session.samples.push(Sample {
                    start: instant("start", row, start.value(index))?,
                    end: instant("end", row, end.value(index))?,
                    power: power.map(|power| quantity("power_kw", row, power)).transpose()?,
                    price: price.map(|price| quantity("price_per_kwh", row, price)).transpose()?,
                    non_smart: None,
                });
            }
            first += batch.num_rows();
        }
        Ok(())
    }
}

/// Position of the prices of each row: the only ones, or those of its `price_id`.
fn curves(
    columns: &Columns<'_>,
    rows: usize,
    first: usize,
    ids: Option<&HashMap<String, usize>>,
) -> Result<Vec<usize>, Refused> {
    let Some(ids) = ids else { return Ok(vec![0; rows]) };
    let column = columns.column("price_id")?;
    Columns::refuse_nulls("price_id", column, first)?;
    let words = arrow_cast::cast(column, &DataType::LargeUtf8).map_err(refused)?;
    let words = words.as_string::<i64>();
    let position = |row: usize| {
        let word = words.value(row);
        ids.get(word).copied().ok_or_else(|| {
            Refused::Input(format!("price_id of row {}: there are no prices {word:?}", first + row))
        })
    };
    (0..rows).map(position).collect()
}

/// See `slackwater.statistics.freeze_sessions`.
#[pyfunction]
#[pyo3(signature = (sessions, samples, prices, *, by, price_ids))]
pub(crate) fn freeze_sessions(
    py: Python<'_>,
    sessions: TableInput,
    samples: TableInput,
    prices: Vec<PyRef<'_, Prices>>,
    by: &str,
    price_ids: Option<Vec<String>>,
) -> Result<(Table, Table), Refused> {
    let curves: Vec<Arc<PriceCurve>> = prices.iter().map(|prices| prices.curve.clone()).collect();
    if curves.is_empty() {
        return Err(Refused::Input("prices holds no price curve".into()));
    }
    if let Some(ids) = price_ids.as_ref().filter(|ids| ids.len() != curves.len()) {
        let text = format!("price_ids has {} names for {} prices", ids.len(), curves.len());
        return Err(Refused::Input(text));
    }
    let ids: Option<HashMap<String, usize>> =
        price_ids.map(|ids| ids.into_iter().zip(0..).collect());
    let by = by.to_owned();
    interrupt::run(py, None, move |_| {
        let by = by.as_str();
        let mut read = Read::sessions(sessions, by, ids.as_ref())?;
        read.add_samples(samples, by)?;
        let frozen = savings::freeze_each(&read.sessions, |index| &curves[read.curve[index]]);
        let frozen = frozen
            .map_err(|(row, error)| Refused::argument(&format!("session in row {row}"), error))?;
        Ok((rows(&read.keys, &frozen)?, summary(&read, &frozen)?))
    })?
}

/// All rows of all sessions, for good.
fn rows(keys: &Keys, frozen: &[FrozenSession]) -> Result<Table, Refused> {
    let owners = frozen.iter().zip(0_u32..);
    let owners = owners.flat_map(|(own, session)| own.samples.iter().map(move |_| session));
    let owners: UInt32Array = owners.collect();
    let all = || frozen.iter().flat_map(|own| &own.samples);
    let times = |of: fn(&Sample) -> DateTime<Utc>| {
        let micros = all().map(|sample| of(sample).timestamp_micros());
        Arc::new(utc(TimestampMicrosecondArray::from_iter_values(micros))) as ArrayRef
    };
    let numbers = |of: fn(&Sample) -> Option<f64>| {
        Arc::new(all().map(of).collect::<Float64Array>()) as ArrayRef
    };
    let mut columns = keys.columns(&owners);
    let mut push = |name: &str, column: ArrayRef, is_nullable: bool| {
        columns.push((name.to_owned(), column, is_nullable));
    };
    push("start", times(|sample| sample.start), false);
    push("end", times(|sample| sample.end), false);
    push("power_kw", numbers(|sample| sample.power.map(Power::as_kw)), true);
    push("price_per_kwh", numbers(|sample| sample.price.map(Price::as_per_kwh)), true);
    push("non_smart_kw", numbers(|sample| sample.non_smart.map(Power::as_kw)), true);
    Table::of_columns(columns)
}

/// One row a session.
fn summary(read: &Read, frozen: &[FrozenSession]) -> Result<Table, Refused> {
    let items: Result<Vec<Option<SessionItem>>, _> =
        frozen.iter().map(|frozen| sessions::session(&frozen.samples)).collect();
    let items = items?;
    let all: UInt32Array = (0..frozen.len() as u32).collect();
    let times = |of: fn(&SessionItem) -> DateTime<Utc>| {
        let micros = items.iter().map(|item| item.as_ref().map(|item| of(item).timestamp_micros()));
        Arc::new(utc(micros.collect::<TimestampMicrosecondArray>())) as ArrayRef
    };
    let numbers = |of: fn(&SessionItem) -> Option<f64>| {
        let numbers = items.iter().map(|item| item.as_ref().and_then(of));
        Arc::new(numbers.collect::<Float64Array>()) as ArrayRef
    };
    let amounts = |of: fn(&SessionItem) -> Option<Amount>| {
        money(items.iter().map(|item| item.as_ref().and_then(of)))
    };
    let mut columns = read.keys.columns(&all);
    let mut push = |name: &str, column: ArrayRef, is_nullable: bool| {
        columns.push((name.to_owned(), column, is_nullable));
    };
    push("start", times(|item| item.from), true);
    push("end", times(|item| item.to), true);
    push("energy_kwh", numbers(|item| Some(item.totals.energy.as_kwh())), true);
    push("priced_kwh", numbers(|item| Some(item.totals.priced_energy.as_kwh())), true);
    push("cost", amounts(|item| Some(item.totals.cost))?, true);
    push("non_smart_cost", amounts(|item| Some(item.totals.non_smart?.cost))?, true);
    push("savings", money(frozen.iter().map(FrozenSession::savings))?, true);
    Table::of_columns(columns)
}

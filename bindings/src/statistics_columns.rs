//! Statistics of many devices, Arrow to Arrow.
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, RecordBatch, TimestampMicrosecondArray, UInt32Array,
};
use chrono::TimeDelta;
use chrono_tz::Tz;
use pyo3::prelude::*;
use slackwater_engine::statistics::charging::{Item, savings_of};
use slackwater_engine::statistics::columns::Aggregator;
use slackwater_engine::statistics::fixed::{Amount, DECIMALS};
use slackwater_engine::statistics::sample_columns::{Flows, Lengths, Samples};
use slackwater_engine::statistics::totals::{Spread, Totals};
use slackwater_engine::statistics::week::hours_of_week;
use slackwater_engine::units::{Energy, Power, Price};

use crate::arrow::{Columns, Table, TableInput, refused, to_numbers};
use crate::batch::Numbers;
use crate::error::Refused;
use crate::interrupt;
use crate::keys::Keys;
use crate::statistics::{buckets, range};
use crate::time::Instant;

/// Rows converted at a time: what a conversion copies stays small beside the table.
const PIECE: usize = 1 << 20;

/// Digits of a decimal of 128 bits.
const DIGITS: u8 = 38;

/// Power or energy by the name of its column.
struct FlowColumn {
    is_energy: bool,
    numbers: Numbers,
}

impl FlowColumn {
    fn find(columns: &Columns<'_>, stem: &str) -> Result<Option<Self>, Refused> {
        let names = match stem {
            "non_smart" => ["non_smart_kw", "non_smart_kwh"],
            _ => ["power_kw", "energy_kwh"],
        };
        if names.iter().all(|name| columns.find(name).is_some()) {
            let text =
                format!("there are both {:?} and {:?}; give one of them", names[0], names[1]);
            return Err(Refused::Input(text));
        }
        for (name, is_energy) in names.into_iter().zip([false, true]) {
            if let Some(column) = columns.find(name) {
                return Ok(Some(Self {
                    is_energy,
                    numbers: Numbers::new(to_numbers(name, column)?),
                }));
            }
        }
        Ok(None)
    }

    fn flows(&self) -> Flows<'_> {
        let values = self.numbers.values();
        if self.is_energy { Flows::EnergyKwh(values) } else { Flows::PowerKw(values) }
    }
}

/// Columns that are read.
const KNOWN: [&str; 7] =
    ["start", "end", "power_kw", "energy_kwh", "price_per_kwh", "non_smart_kw", "non_smart_kwh"];

/// The columns of one piece of samples.
struct SampleColumns {
    start: TimestampMicrosecondArray,
    end: Option<TimestampMicrosecondArray>,
    flow: FlowColumn,
    price: Option<Numbers>,
    non_smart: Option<FlowColumn>,
}

impl SampleColumns {
    fn new(batch: &RecordBatch, first: usize, has_length: bool) -> Result<Self, Refused> {
        let columns = Columns::new(batch);
        columns.refuse_lookalikes(&KNOWN)?;
        let times = |name: &str| {
            let times = columns.times(name)?;
            Columns::refuse_nulls(name, &times, first)?;
            Ok::<_, Refused>(times)
        };
        if has_length && columns.find("end").is_some() {
            let text = "there is a column \"end\"; sample_length goes with tables that have none";
            return Err(Refused::Input(text.into()));
        }
        let Some(flow) = FlowColumn::find(&columns, "power")? else {
            // Says what was found instead.
            columns.column("power_kw")?;
            return Err(Refused::Input("power_kw is missing".into()));
        };
        let price = columns.find("price_per_kwh");
        Ok(Self {
            start: times("start")?,
            end: if has_length { None } else { Some(times("end")?) },
            flow,
            price: price
                .map(|column| to_numbers("price_per_kwh", column).map(Numbers::new))
                .transpose()?,
            non_smart: FlowColumn::find(&columns, "non_smart")?,
        })
    }

    fn samples<'a>(&'a self, group: Option<&'a [u32]>, length: i64) -> Samples<'a> {
        Samples {
            group,
            start: self.start.values(),
            lengths: match &self.end {
                Some(end) => Lengths::Ends(end.values()),
                None => Lengths::Even(length),
            },
            flows: self.flow.flows(),
            price_per_kwh: self.price.as_ref().map(Numbers::values),
            non_smart: self.non_smart.as_ref().map(FlowColumn::flows),
        }
    }
}

/// See `slackwater.statistics.aggregate`.
#[pyfunction]
#[pyo3(signature = (
    samples, *, by, resolution, utc_offset_hours, time_zone, start, end, now, sample_length
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn statistics_aggregate(
    py: Python<'_>,
    samples: TableInput,
    by: Vec<String>,
    resolution: &str,
    utc_offset_hours: Option<f64>,
    time_zone: Option<&str>,
    start: Option<Instant>,
    end: Option<Instant>,
    now: Option<Instant>,
    sample_length: Option<TimeDelta>,
) -> Result<Table, Refused> {
    let buckets = buckets(resolution, utc_offset_hours, time_zone)?;
    let sums = Aggregator::new(buckets, range(start, end, now)?);
    let mut keys = Keys::new(&by);
    let zone = zone_of_labels(time_zone);
    interrupt::run(py, None, move |_| {
        let [sums] = add_all([sums], &mut keys, samples, sample_length)?;
        table(&keys, sums, &zone)
    })?
}

/// See `slackwater.statistics.hours_of_week`.
#[pyfunction]
#[pyo3(signature = (samples, *, time_zone, sample_length))]
pub(crate) fn statistics_week(
    py: Python<'_>,
    samples: TableInput,
    time_zone: &str,
    sample_length: Option<TimeDelta>,
) -> Result<Vec<Vec<f64>>, Refused> {
    let zone = crate::time::time_zone(time_zone)?;
    let sums = Aggregator::new(buckets("quarter_hour", None, None)?, range(None, None, None)?);
    interrupt::run(py, None, move |_| {
        let [sums] = add_all([sums], &mut Keys::new(&[]), samples, sample_length)?;
        Ok(week(sums, zone))
    })?
}

/// Months, what they saved, and energies of the hours of the week.
type YearTuple = (Table, Option<String>, Vec<Vec<f64>>);

/// Months, what they saved, and the hours of the week, in one pass: what
/// `slackwater.statistics.plot_year` draws.
#[pyfunction]
#[pyo3(signature = (samples, *, time_zone, utc_offset_hours, sample_length))]
pub(crate) fn statistics_year(
    py: Python<'_>,
    samples: TableInput,
    time_zone: &str,
    utc_offset_hours: Option<f64>,
    sample_length: Option<TimeDelta>,
) -> Result<YearTuple, Refused> {
    let zone = crate::time::time_zone(time_zone)?;
    let all = range(None, None, None)?;
    // An offset of their own is for months that a server with one has summed up.
    let clock = if utc_offset_hours.is_none() { Some(time_zone) } else { None };
    let months = Aggregator::new(buckets("month", utc_offset_hours, clock)?, all);
    let labels = zone_of_labels(clock);
    let quarters = Aggregator::new(buckets("quarter_hour", None, None)?, all);
    interrupt::run(py, None, move |_| {
        let mut keys = Keys::new(&[]);
        let [months, quarters] = add_all([months, quarters], &mut keys, samples, sample_length)?;
        let items: Vec<Item> =
            months.clone().finish().into_iter().flat_map(|(_, items)| items).collect();
        let savings = savings_of(&items).map(|savings| savings.to_string());
        Ok((table(&keys, months, &labels)?, savings, week(quarters, zone)))
    })?
}

/// Energy of 24 hours of seven days.
fn week(quarters: Aggregator, zone: Tz) -> Vec<Vec<f64>> {
    let items: Vec<Item> = quarters.finish().into_iter().flat_map(|(_, items)| items).collect();
    hours_of_week(&items, zone).map(|day| day.map(Energy::as_kwh).to_vec()).to_vec()
}

/// Adds one batch at a time: a stream may hold more than memory does.
fn add_all<const N: usize>(
    mut sums: [Aggregator; N],
    keys: &mut Keys,
    samples: TableInput,
    length: Option<TimeDelta>,
) -> Result<[Aggregator; N], Refused> {
    let length = length.map(|length| length.num_microseconds().unwrap_or(i64::MAX));
    let reader = samples.into_reader()?;
    let schema = reader.schema();
    let mut is_empty = true;
    for batch in reader {
        is_empty = false;
        add(&mut sums, keys, &batch.map_err(refused)?, length)?;
    }
    if is_empty {
        // The columns of an empty table are looked at as well.
        add(&mut sums, keys, &RecordBatch::new_empty(schema), length)?;
    }
    Ok(sums)
}

fn add(
    sums: &mut [Aggregator],
    keys: &mut Keys,
    batch: &RecordBatch,
    length: Option<i64>,
) -> Result<(), Refused> {
    let mut first = 0;
    loop {
        let piece = batch.slice(first, PIECE.min(batch.num_rows() - first));
        let before = sums.first().map_or(0, Aggregator::rows);
        let columns = SampleColumns::new(&piece, before, length.is_some())?;
        let groups = keys.encode(&piece, before)?;
        let samples = columns.samples(groups.as_deref(), length.unwrap_or_default());
        for sums in &mut *sums {
            sums.add(&samples, keys.len())?;
        }
        first += piece.num_rows();
        if first >= batch.num_rows() {
            return Ok(());
        }
    }
}

/// A column of exact amounts.
pub(crate) fn money(amounts: impl Iterator<Item = Option<Amount>>) -> Result<ArrayRef, Refused> {
    let parts: Decimal128Array = amounts.map(|amount| amount.map(Amount::as_parts)).collect();
    Ok(Arc::new(parts.with_precision_and_scale(DIGITS, DECIMALS as i8).map_err(refused)?))
}

/// Zone of the column `date`: labels of local buckets are instants, and read best on their clock.
fn zone_of_labels(time_zone: Option<&str>) -> String {
    time_zone.unwrap_or("UTC").to_owned()
}

/// One row a bucket, by group and then by time, in several record batches.
fn table(keys: &Keys, sums: Aggregator, zone: &str) -> Result<Table, Refused> {
    let schema = batch(keys, &[], zone)?.schema();
    let batches: Result<Vec<RecordBatch>, Refused> =
        sums.finish_with(|items| batch(keys, items, zone)).into_iter().collect();
    Ok(Table::new(schema, batches?))
}

fn batch(keys: &Keys, items: &[(u32, Item)], zone: &str) -> Result<RecordBatch, Refused> {
    let groups = UInt32Array::from_iter_values(items.iter().map(|(group, _)| *group));
    let always = |of: &dyn Fn(&Totals) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(items.iter().map(|(_, item)| of(&item.totals))))
    };
    let number = |of: &dyn Fn(&Totals) -> Option<f64>| -> ArrayRef {
        Arc::new(items.iter().map(|(_, item)| of(&item.totals)).collect::<Float64Array>())
    };
    let money = |of: &dyn Fn(&Totals) -> Option<Amount>| {
        money(items.iter().map(|(_, item)| of(&item.totals)))
    };
    let power = |of: fn(&Spread<Power>) -> Power| always(&|totals| of(&totals.power).as_kw());
    let price = |of: fn(&Spread<Price>) -> Price| {
        number(&|totals| totals.price.as_ref().map(of).map(Price::as_per_kwh))
    };
    let instead = |of: fn(&Spread<Price>) -> Price| {
        number(&|totals| totals.non_smart?.price.as_ref().map(of).map(Price::as_per_kwh))
    };
    let labels = items.iter().map(|(_, item)| item.label.timestamp_micros());
    let mut columns = keys.columns(&groups);
    // Whether a column may hold nulls is the same in every batch and every table.
    let mut push = |name: &str, column: ArrayRef, is_nullable: bool| {
        columns.push((name.to_owned(), column, is_nullable));
    };
    let dates = TimestampMicrosecondArray::from_iter_values(labels).with_timezone(zone);
    push("date", Arc::new(dates), false);
    push("kw_min", power(|power| power.min), false);
    push("kw_max", power(|power| power.max), false);
    push("kw_mean", power(|power| power.mean), false);
    push("hours", always(&|totals| totals.hours), false);
    push("energy_kwh", always(&|totals| totals.energy.as_kwh()), false);
    push("priced_kwh", always(&|totals| totals.priced_energy.as_kwh()), false);
    push("price_min_per_kwh", price(|price| price.min), true);
    push("price_max_per_kwh", price(|price| price.max), true);
    push("price_mean_per_kwh", price(|price| price.mean), true);
    push("cost", money(&|totals| Some(totals.cost))?, false);
    push("baseline_cost", money(&Totals::baseline_cost)?, true);
    push("non_smart_kwh", number(&|totals| Some(totals.non_smart?.energy.as_kwh())), true);
    push("non_smart_price_min_per_kwh", instead(|price| price.min), true);
    push("non_smart_price_max_per_kwh", instead(|price| price.max), true);
    push("non_smart_price_mean_per_kwh", instead(|price| price.mean), true);
    push("non_smart_cost", money(&|totals| Some(totals.non_smart?.cost))?, true);
    push("savings", money(&|totals| Some(totals.non_smart?.savings))?, true);
    RecordBatch::try_from_iter_with_nullable(columns).map_err(refused)
}

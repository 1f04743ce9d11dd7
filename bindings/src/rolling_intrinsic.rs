//! Rolling intrinsic trading of a battery against an order book.
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use slackwater_engine::plan::rolling_intrinsic::{
    BookSide, Order, Retrade, RollingIntrinsic, RollingIntrinsicRequest, TradingBattery,
    products_between,
};
use slackwater_engine::units::{Energy, Power, Price};

use crate::arrow::{Columns, TableInput, batches, refused};
use crate::error::{Named, Refused};
use crate::time::Instant;

/// Orders between two looks for Ctrl-C.
const PIECE: usize = 1 << 14;

/// Columns that are read.
const KNOWN: [&str; 7] = [
    "time",
    "valid_until",
    "delivery_start",
    "delivery_end",
    "side",
    "price_per_kwh",
    "energy_kwh",
];

record! {
    /// A trade with one order of the book.
    pub(crate) struct IntradayTrade in IntradayTrades {
        /// Instant of the trade, in UTC.
        at: DateTime<Utc>,
        /// Start of the delivery, in UTC.
        delivery_start: DateTime<Utc>,
        /// End of the delivery, in UTC.
        delivery_end: DateTime<Utc>,
        /// Row of the order in the table of orders, from 0.
        order: usize,
        /// Energy in kWh at the grid, positive bought and negative sold.
        energy_kwh: f64,
        /// Price of the order, in units of the currency.
        price_per_kwh: f64,
    }

    /// Trades of one update of the book, together.
    pub(crate) struct IntradayUpdate in IntradayUpdates {
        /// Instant of the update, in UTC.
        at: DateTime<Utc>,
        /// Number of trades.
        trades: usize,
        /// Money received less money paid, fees and wear, in units of the currency.
        gain: f64,
        /// Upper bound on the gain of all trades that the book allowed.
        bound: f64,
        /// True if bound and gain differ by rounding only: at most 1e-9 of the gain, or of 1 if the
        /// gain is less.
        is_proved: bool,
    }

    /// Position of the battery in a delivery product.
    pub(crate) struct IntradayPosition in IntradayPositions {
        /// Start of the delivery, in UTC.
        delivery_start: DateTime<Utc>,
        /// End of the delivery, in UTC.
        delivery_end: DateTime<Utc>,
        /// Energy in kWh at the grid, positive bought and negative sold.
        position_kwh: f64,
        /// Stored energy at the end of the delivery, in kWh.
        stored_kwh: f64,
        /// Value of one more stored kWh after the delivery, by the last search; `None` if its gate
        /// was closed then.
        marginal_value_per_kwh: Option<f64>,
    }

    /// Outcome of rolling intrinsic trading; see `slackwater.trade_rolling_intrinsic`.
    pub(crate) struct RollingIntrinsicTrading {
        /// Money received less money paid, fees and wear, in units of the currency.
        profit: f64,
        /// Fees of all trades, in units of the currency.
        fees: f64,
        /// Wear of the positions, less that of the positions at the start.
        wear_cost: f64,
        /// Largest difference between the bound of an update and its gain; 0 up to rounding if
        /// each update is proved optimal.
        gap_max: f64,
        /// Number of orders.
        orders: usize,
        /// Number of orders after which trades were searched; all others were known to add
        /// nothing.
        searches: usize,
        /// All trades, in time order.
        trades: IntradayTrades,
        /// Updates with trades, in time order.
        updates: IntradayUpdates,
        /// Positions at the end, by delivery.
        positions: IntradayPositions,
    }
}

/// Battery: capacity, stored, least stored at the end, power in and out, efficiency in and out,
/// wear, fee.
type BatteryNumbers = (f64, f64, f64, f64, f64, f64, f64, f64, f64);

fn battery(given: BatteryNumbers) -> Result<TradingBattery, Refused> {
    let (capacity, stored, stored_end_min, charge_max, discharge_max, in_, out, wear, fee) = given;
    Ok(TradingBattery {
        capacity: Energy::from_kwh(capacity).named("capacity_kwh")?,
        stored: Energy::from_kwh(stored).named("stored_kwh")?,
        stored_end_min: Energy::from_kwh(stored_end_min).named("stored_end_min_kwh")?,
        charge_max: Power::from_kw(charge_max).named("power_max_kw")?,
        discharge_max: Power::from_kw(discharge_max).named("discharge_max_kw")?,
        efficiency: in_,
        efficiency_discharge: out,
        wear_price: Price::from_per_kwh(wear).named("wear_price_per_kwh")?,
        trading_fee: Price::from_per_kwh(fee).named("trading_fee_per_kwh")?,
    })
}

/// Refusal of a row.
fn refuse_row(row: usize, error: impl std::fmt::Display) -> Refused {
    Refused::Input(format!("row {row}: {error}"))
}

fn instant(row: usize, name: &str, micros: i64) -> Result<DateTime<Utc>, Refused> {
    let told = || refuse_row(row, format!("{name} lies outside of the years that can be told"));
    DateTime::from_timestamp_micros(micros).ok_or_else(told)
}

/// Reads the orders of one batch, whose first row has the number `first`.
fn read_orders(
    batch: &RecordBatch,
    first: usize,
    trader: &RollingIntrinsic,
    orders: &mut Vec<Order>,
) -> Result<(), Refused> {
    let columns = Columns::new(batch);
    columns.refuse_lookalikes(&KNOWN)?;
    let required = |name| {
        let times = columns.times(name)?;
        Columns::refuse_nulls(name, &times, first)?;
        Ok::<_, Refused>(times)
    };
    let optional = |name| columns.find(name).map(|_| columns.times(name)).transpose();
    let number = |name| {
        let numbers = columns.numbers(name)?;
        Columns::refuse_nulls(name, &numbers, first)?;
        Ok::<_, Refused>(numbers)
    };
    let (times, starts) = (required("time")?, required("delivery_start")?);
    let (valid, ends) = (optional("valid_until")?, optional("delivery_end")?);
    let sides = cast(columns.column("side")?, &DataType::Utf8).map_err(refused)?;
    let sides: &StringArray = sides.as_string();
    let (prices, energies) = (number("price_per_kwh")?, number("energy_kwh")?);
    for index in 0..batch.num_rows() {
        let row = first + index;
        let start = instant(row, "delivery_start", starts.value(index))?;
        let end = ends.as_ref().filter(|ends| ends.is_valid(index));
        let end = end.map(|ends| instant(row, "delivery_end", ends.value(index))).transpose()?;
        let product = trader.find_product(start, end).map_err(|error| refuse_row(row, error))?;
        let side = if sides.is_valid(index) { sides.value(index) } else { "null" };
        let Some(side) = BookSide::ALL.into_iter().find(|known| known.as_str() == side) else {
            return Err(refuse_row(row, format!("side is {side:?}; it is \"buy\" or \"sell\"")));
        };
        let valid_until = valid.as_ref().filter(|valid| valid.is_valid(index));
        let valid_until =
            valid_until.map(|valid| instant(row, "valid_until", valid.value(index))).transpose()?;
        let price = Price::from_per_kwh(prices.value(index));
        let energy = Energy::from_kwh(energies.value(index));
        orders.push(Order {
            id: row as i64,
            time: instant(row, "time", times.value(index))?,
            valid_until,
            product,
            side,
            price: price.map_err(|error| refuse_row(row, format!("price_per_kwh: {error}")))?,
            energy: energy.map_err(|error| refuse_row(row, format!("energy_kwh: {error}")))?,
        });
    }
    Ok(())
}

/// Outcome of a trader after so many orders.
fn outcome(
    trader: &RollingIntrinsic,
    orders: usize,
    retrades: &[Retrade],
) -> RollingIntrinsicTrading {
    let products = trader.products();
    let done = retrades.iter().flat_map(|retrade| {
        retrade.trades.iter().map(|trade| {
            let (delivery_start, delivery_end) = products.period(trade.product);
            IntradayTrade {
                at: retrade.time,
                delivery_start,
                delivery_end,
                order: trade.order as usize,
                energy_kwh: trade.energy.as_kwh(),
                price_per_kwh: trade.price.as_per_kwh(),
            }
        })
    });
    let update = |retrade: &Retrade| IntradayUpdate {
        at: retrade.time,
        trades: retrade.trades.len(),
        gain: retrade.gain.as_amount(),
        bound: retrade.bound.as_amount(),
        is_proved: retrade.is_proved(),
    };
    let values = trader.marginal_values();
    let held = trader.positions().zip(trader.stored()).zip(values);
    let positions =
        products.periods().zip(held).map(|((start, end), ((position, stored), value))| {
            IntradayPosition {
                delivery_start: start,
                delivery_end: end,
                position_kwh: position.as_kwh(),
                stored_kwh: stored.as_kwh(),
                marginal_value_per_kwh: value.map(Price::as_per_kwh),
            }
        });
    RollingIntrinsicTrading {
        profit: trader.profit().as_amount(),
        fees: trader.fees().as_amount(),
        wear_cost: trader.wear_cost().as_amount(),
        gap_max: trader.gap_max().as_amount(),
        orders,
        searches: trader.searches(),
        trades: done.collect(),
        updates: retrades.iter().map(update).collect(),
        positions: positions.collect(),
    }
}

/// See `slackwater.trade_rolling_intrinsic`.
#[pyfunction]
#[pyo3(signature = (
    orders, *, start, until, product_length, battery, gate_closure, positions_kwh, trade_from
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn trade_rolling_intrinsic(
    py: Python<'_>,
    orders: TableInput,
    start: Instant,
    until: Instant,
    product_length: TimeDelta,
    battery: BatteryNumbers,
    gate_closure: TimeDelta,
    positions_kwh: Vec<f64>,
    trade_from: Option<Instant>,
) -> Result<RollingIntrinsicTrading, Refused> {
    let position = |(index, kwh): (usize, f64)| {
        Energy::from_kwh(kwh).named(&format!("positions_kwh[{index}]"))
    };
    let positions = positions_kwh.into_iter().enumerate().map(position);
    let mut trader = RollingIntrinsic::new(RollingIntrinsicRequest {
        products: products_between(start.0, until.0, product_length)?,
        battery: self::battery(battery)?,
        gate_closure,
        positions: positions.collect::<Result<_, Refused>>()?,
    })?;
    let mut read = Vec::new();
    for batch in batches(orders)? {
        read_orders(&batch, read.len(), &trader, &mut read)?;
    }
    let trade_from = trade_from.map(|from| from.0);
    let mut retrades = Vec::new();
    for (piece, orders) in read.chunks(PIECE).enumerate() {
        py.check_signals()?;
        let found = py.detach(|| trader.replay_orders(orders, trade_from));
        let row = |index| piece * PIECE + index;
        retrades.extend(found.map_err(|error| refuse_row(row(error.index), error.source))?);
    }
    Ok(outcome(&trader, read.len(), &retrades))
}

//! State of rolling intrinsic trading: the book, the positions, and the trades of each update.
use chrono::{DateTime, TimeDelta, Utc};

use crate::plan::rolling_intrinsic::battery::{RollingIntrinsicError, TradingBattery};
use crate::plan::rolling_intrinsic::optimal_trades::{OptimalTrades, StoredLimits};
use crate::plan::rolling_intrinsic::order_book::{BookSide, Order, OrderBook, OrderError};
use crate::plan::rolling_intrinsic::trade_costs::TradeCosts;
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::tolerance::{GAP_MAX, SUM_DRIFT, SUM_ROUNDING, allowed};
use crate::units::{Energy, Money, Price};

/// Battery, products and positions at the start of trading.
#[derive(Debug, Clone, PartialEq)]
pub struct RollingIntrinsicRequest {
    /// Delivery periods of the products. They may differ in length and leave gaps, in which the
    /// battery rests.
    pub products: Horizon,
    /// Battery and fee.
    pub battery: TradingBattery,
    /// Time before the start of a delivery from which on its product is not traded.
    pub gate_closure: TimeDelta,
    /// Energy that each product has already, such as from an auction: bought is positive, sold
    /// negative. Empty if there is none.
    pub positions: Vec<Energy>,
}

/// Trade with one order of the book.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trade {
    /// Position of the product.
    pub product: usize,
    /// Identifier of the order.
    pub order: i64,
    /// Energy, positive bought and negative sold.
    pub energy: Energy,
    /// Price of the order.
    pub price: Price,
}

/// Trades of one update, with their gain and the proof that no others gain more.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Retrade {
    /// Instant of the update.
    pub time: DateTime<Utc>,
    /// Trades by product, in the order of their execution.
    pub trades: Vec<Trade>,
    /// Money received less money paid, fees and wear.
    pub gain: Money,
    /// Upper bound on the gain of all trades that the book allows.
    pub bound: Money,
}

impl Retrade {
    /// Bound minus gain: the most that other trades can gain beyond these.
    #[must_use]
    pub fn gap(&self) -> Money {
        self.bound - self.gain
    }

    /// Returns true if the gap is rounding: at most 1e-9 of the gain, or of 1 if that is larger.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.gap().as_amount().abs() <= allowed(GAP_MAX, self.gain.as_amount())
    }
}

/// Invalid order of a replay.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("orders[{index}]: {source}")]
pub struct ReplayError {
    /// Position of the order.
    pub index: usize,
    /// Error of the order.
    pub source: OrderError,
}

/// Battery that trades against an order book; see the [module](crate::plan::rolling_intrinsic).
#[derive(Debug, Clone)]
pub struct RollingIntrinsic {
    products: Horizon,
    battery: TradingBattery,
    gate_micros: i64,
    book: OrderBook,
    positions: Vec<f64>,
    /// First product whose gate is open.
    first_open: usize,
    /// Stored energy before the first open product.
    stored: f64,
    now: Option<i64>,
    costs: TradeCosts,
    search: OptimalTrades,
    /// First open product at the last search, to which its first marginal value belongs.
    valued_from: usize,
    /// True if a search may find a gain that the last one did not.
    may_gain: bool,
    /// True if the marginal values of the last search prove its trades optimal.
    is_bound_met: bool,
    searches: usize,
    totals: Totals,
}

/// Sums over all trades, in units of the currency.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    profit: f64,
    fees: f64,
    wear: f64,
    gap_max: f64,
}

impl RollingIntrinsic {
    /// Trader with an empty book.
    ///
    /// # Errors
    /// A number of the battery is out of its range, there is no product, or the battery cannot
    /// deliver the positions.
    pub fn new(request: RollingIntrinsicRequest) -> Result<Self, RollingIntrinsicError> {
        let RollingIntrinsicRequest { products, battery, gate_closure, positions } = request;
        battery.check()?;
        if products.is_empty() {
            return Err(RollingIntrinsicError::NoProduct);
        }
        if gate_closure < TimeDelta::zero() {
            let seconds = gate_closure.num_seconds();
            return Err(RollingIntrinsicError::NegativeGate { seconds });
        }
        let positions = if positions.is_empty() {
            vec![Energy::ZERO; products.len()]
        } else {
            check_positions(&products, &battery, &positions)?;
            positions
        };
        Ok(Self {
            book: OrderBook::new(products.len()),
            positions: positions.iter().map(|position| position.as_kwh()).collect(),
            first_open: 0,
            stored: battery.stored.as_kwh(),
            now: None,
            gate_micros: gate_closure.num_microseconds().unwrap_or(i64::MAX),
            products,
            battery,
            costs: TradeCosts::default(),
            search: OptimalTrades::default(),
            valued_from: 0,
            may_gain: true,
            is_bound_met: false,
            searches: 0,
            totals: Totals::default(),
        })
    }

    /// Puts an order into the book, after those that ended by its time have left.
    ///
    /// An order that crosses the book is matched with the other side first.
    ///
    /// # Errors
    /// The order has no volume, ends before it begins, is for a product that does not exist or is
    /// no longer traded, or comes before an earlier one.
    pub fn receive_order(&mut self, order: &Order) -> Result<(), OrderError> {
        self.check_order(order)?;
        self.move_to(micros_of(order.time));
        if self.book.add(order) {
            self.may_gain |= !self.is_bound_met || self.improves(order);
        }
        Ok(())
    }

    /// Trades the difference to the positions of most value, if that gains anything.
    pub fn trade_now(&mut self) -> Option<Retrade> {
        if !self.may_gain {
            return None;
        }
        self.costs.clear();
        for product in self.first_open..self.products.len() {
            let (position, hours) = (self.positions[product], self.products.hours(product));
            self.costs.add_product(&self.battery, (&self.book, product), position, hours);
        }
        let limits = StoredLimits {
            start: self.stored,
            most: self.battery.capacity.as_kwh(),
            end_least: self.battery.stored_end_min.as_kwh(),
        };
        let solved = self.search.solve(&self.costs, limits);
        self.searches += 1;
        self.valued_from = self.first_open;
        let gap = solved.bound_by_values - solved.gain;
        self.is_bound_met = gap <= allowed(SUM_DRIFT, solved.gain);
        self.may_gain = false;
        self.totals.gap_max = self.totals.gap_max.max(solved.bound - solved.gain);
        if solved.gain <= 0.0 {
            return None;
        }
        let mut trades = Vec::new();
        let before = self.totals.profit;
        for index in 0..self.costs.products.len() {
            let (present, change) =
                (self.costs.products[index].present, self.search.changes[index]);
            if (change - present).abs() > 0.0 {
                self.execute(self.first_open + index, change, &mut trades);
            }
        }
        let gain = amount(self.totals.profit - before);
        // The bound holds for exact sums; the gain is what the trades say.
        Some(Retrade { time: self.time(), trades, gain, bound: amount(solved.bound) })
    }

    /// Receives orders one after the other and trades after each one, from an instant on.
    ///
    /// # Errors
    /// An order is invalid, as in [`RollingIntrinsic::receive_order`]. Those before it stay.
    pub fn replay_orders(
        &mut self,
        orders: &[Order],
        trade_from: Option<DateTime<Utc>>,
    ) -> Result<Vec<Retrade>, ReplayError> {
        let mut retrades = Vec::new();
        for (index, order) in orders.iter().enumerate() {
            self.receive_order(order).map_err(|source| ReplayError { index, source })?;
            if trade_from.is_none_or(|from| order.time >= from) {
                retrades.extend(self.trade_now());
            }
        }
        Ok(retrades)
    }

    /// Products, by time of delivery.
    #[must_use]
    pub fn products(&self) -> &Horizon {
        &self.products
    }

    /// Position of the product with a delivery from `start`, and if it is given to `end`.
    ///
    /// # Errors
    /// No product starts then, or it has another end.
    pub fn find_product(
        &self,
        start: DateTime<Utc>,
        end: Option<DateTime<Utc>>,
    ) -> Result<usize, OrderError> {
        let found = self.products.starts().binary_search(&micros_of(start));
        let product = found.map_err(|_| OrderError::NoProduct { start })?;
        let (_, product_end) = self.products.period(product);
        match end {
            Some(end) if end != product_end => {
                Err(OrderError::DeliveryEnd { start, end, product_end })
            }
            _ => Ok(product),
        }
    }

    /// Energy of each product, positive bought and negative sold.
    #[must_use = "the positions are read only as they are asked for"]
    pub fn positions(&self) -> impl ExactSizeIterator<Item = Energy> + '_ {
        self.positions.iter().map(|&position| energy(position))
    }

    /// Stored energy after each product.
    #[must_use = "the energies are summed up only as they are asked for"]
    pub fn stored(&self) -> impl ExactSizeIterator<Item = Energy> + '_ {
        let (battery, mut stored) = (self.battery, self.battery.stored.as_kwh());
        self.positions.iter().map(move |&position| {
            stored += battery.stored_change(position);
            energy(stored.clamp(0.0, battery.capacity.as_kwh()))
        })
    }

    /// Value of a stored kWh after each product whose gate was open at the last search.
    #[must_use]
    pub fn marginal_values(&self) -> Vec<Option<Price>> {
        let value = |product: usize| {
            let index = product.checked_sub(self.valued_from)?;
            self.search.values.get(index).and_then(|&value| Price::from_per_kwh(value).ok())
        };
        (0..self.products.len()).map(value).collect()
    }

    /// Money received less money paid, fees and wear, over all trades.
    #[must_use]
    pub fn profit(&self) -> Money {
        amount(self.totals.profit)
    }

    /// Fees of all trades.
    #[must_use]
    pub fn fees(&self) -> Money {
        amount(self.totals.fees)
    }

    /// Wear of the positions, less that of the positions at the start.
    #[must_use]
    pub fn wear_cost(&self) -> Money {
        amount(self.totals.wear)
    }

    /// Largest gap of all updates, between the bound and the gain.
    #[must_use]
    pub fn gap_max(&self) -> Money {
        amount(self.totals.gap_max)
    }

    /// Number of searches; all other updates were known to gain nothing.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.searches
    }

    fn time(&self) -> DateTime<Utc> {
        instant_at(self.now.unwrap_or_else(|| self.products.starts()[0]))
    }

    /// Instant in microseconds from which on a product is not traded.
    fn gate_of(&self, product: usize) -> i64 {
        self.products.starts()[product].saturating_sub(self.gate_micros)
    }

    fn check_order(&self, order: &Order) -> Result<(), OrderError> {
        let (time, products) = (order.time, self.products.len());
        if order.energy <= Energy::ZERO {
            return Err(OrderError::Energy { energy: order.energy });
        }
        if let Some(valid_until) = order.valid_until
            && valid_until <= time
        {
            return Err(OrderError::Validity { valid_until, time });
        }
        if order.product >= products {
            return Err(OrderError::Product { product: order.product, products });
        }
        if let Some(latest) = self.now.filter(|&now| micros_of(time) < now) {
            return Err(OrderError::TimeOrder { time, latest: instant_at(latest) });
        }
        let gate = self.gate_of(order.product);
        if micros_of(time) >= gate {
            let start = instant_at(self.products.starts()[order.product]);
            return Err(OrderError::GateClosed { time, start, gate: instant_at(gate) });
        }
        Ok(())
    }

    /// Moves to an instant: orders end and gates close.
    fn move_to(&mut self, now: i64) {
        self.now = Some(now);
        self.book.expire(now);
        while self.first_open < self.products.len() && self.gate_of(self.first_open) <= now {
            // The position is delivered as it is.
            let change = self.battery.stored_change(self.positions[self.first_open]);
            self.stored = (self.stored + change).clamp(0.0, self.battery.capacity.as_kwh());
            self.first_open += 1;
        }
    }

    /// Returns true if an order that rests in the book can add to the gain: it sells a stored kWh
    /// below the marginal value, or buys one above it.
    fn improves(&self, order: &Order) -> bool {
        let fee = self.battery.trading_fee.as_per_kwh();
        let position = self.positions[order.product];
        let value = order.product.checked_sub(self.valued_from);
        let Some(&value) = value.and_then(|index| self.search.values.get(index)) else {
            return true;
        };
        let price = order.price.as_per_kwh();
        // At a negative price the cost may fall again beyond `x = 0`: let the search decide.
        match order.side {
            BookSide::Sell => {
                let price = price + fee;
                let is_bent = price < 0.0 && position < 0.0;
                is_bent || self.battery.slope(price, position >= 0.0) < value
            }
            BookSide::Buy => {
                let price = price - fee;
                let is_bent = price < 0.0 && position > 0.0;
                is_bent || self.battery.slope(price, position > 0.0) > value
            }
        }
    }

    /// Trades a product to a change of the stored energy, and books money and position.
    fn execute(&mut self, product: usize, change: f64, trades: &mut Vec<Trade>) {
        let battery = self.battery;
        let before = self.positions[product];
        let wanted = battery.position_of(change) - before;
        let (side, sign) = if wanted > 0.0 { (BookSide::Sell, 1.0) } else { (BookSide::Buy, -1.0) };
        let rounding = SUM_ROUNDING * battery.capacity.as_kwh();
        let (mut moved, mut paid) = (0.0, 0.0);
        self.book.take((product, side), wanted.abs(), rounding, |order, taken| {
            moved += sign * taken;
            paid += sign * taken * order.price;
            let (energy, price) = (energy(sign * taken), Price::from_per_kwh(order.price));
            let price = price.unwrap_or_default();
            trades.push(Trade { product, order: order.id, energy, price });
        });
        let discharged = |position: f64| (-battery.stored_change(position)).max(0.0);
        let worn = discharged(before + moved) - discharged(before);
        let wear = battery.wear_price.as_per_kwh() * worn;
        let fee = battery.trading_fee.as_per_kwh() * moved.abs();
        self.positions[product] = before + moved;
        self.totals.fees += fee;
        self.totals.wear += wear;
        self.totals.profit -= paid + fee + wear;
    }
}

/// Energy of a finite sum.
fn energy(kwh: f64) -> Energy {
    Energy::from_kwh(kwh).unwrap_or_default()
}

/// Money of a finite sum.
fn amount(sum: f64) -> Money {
    Money::from_amount(sum).unwrap_or_default()
}

/// Checks that the battery can deliver positions.
fn check_positions(
    products: &Horizon,
    battery: &TradingBattery,
    positions: &[Energy],
) -> Result<(), RollingIntrinsicError> {
    if positions.len() != products.len() {
        let (length, products) = (positions.len(), products.len());
        return Err(RollingIntrinsicError::Positions { length, products });
    }
    let slack = allowed(GAP_MAX, battery.capacity.as_kwh());
    let mut stored = battery.stored.as_kwh();
    for (index, &position) in positions.iter().enumerate() {
        let (start, hours) = (instant_at(products.starts()[index]), products.hours(index));
        let least = energy(-battery.discharge_max.as_kw() * hours);
        let most = energy(battery.charge_max.as_kw() * hours);
        let kwh = position.as_kwh();
        if kwh < least.as_kwh() - slack || kwh > most.as_kwh() + slack {
            return Err(RollingIntrinsicError::PositionPower { start, position, least, most });
        }
        stored += battery.stored_change(kwh);
        let is_last = index + 1 == positions.len();
        let least = if is_last { battery.stored_end_min } else { Energy::ZERO };
        let most = battery.capacity;
        if stored < least.as_kwh() - slack || stored > most.as_kwh() + slack {
            let stored = energy(stored);
            return Err(RollingIntrinsicError::PositionStored { start, stored, least, most });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::rolling_intrinsic::battery::products_between;
    use crate::units::{kw, kwh, per_kwh};

    fn start() -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse().unwrap()
    }

    fn request(products: usize, battery: TradingBattery) -> RollingIntrinsicRequest {
        let products = Horizon::steps(start(), TimeDelta::hours(1), products).unwrap();
        let (gate_closure, positions) = (TimeDelta::minutes(5), Vec::new());
        RollingIntrinsicRequest { products, battery, gate_closure, positions }
    }

    /// Order an hour before the first delivery, after so many seconds.
    fn order(second: i64, product: usize, side: BookSide, price: f64, energy: f64) -> Order {
        let time = start() - TimeDelta::hours(1) + TimeDelta::seconds(second);
        let (id, valid_until) = (second, None);
        let (price, energy) = (per_kwh(price), kwh(energy));
        Order { id, time, valid_until, product, side, price, energy }
    }

    fn told(retrade: &Retrade) -> String {
        let trade = |trade: &Trade| {
            let (energy, price) = (trade.energy.as_kwh(), trade.price.as_per_kwh());
            format!("{energy} kWh of {} at {price} from order {}", trade.product, trade.order)
        };
        let trades: Vec<String> = retrade.trades.iter().map(trade).collect();
        format!("{:.6}: {}", retrade.gain.as_amount(), trades.join(", "))
    }

    #[test]
    fn each_update_trades_the_difference() {
        use BookSide::{Buy, Sell};
        let battery = TradingBattery {
            trading_fee: per_kwh(0.01),
            ..TradingBattery::new(kwh(10.0), kw(5.0))
        };
        let mut trader = RollingIntrinsic::new(request(3, battery)).unwrap();
        let orders = [
            order(0, 0, Sell, 0.10, 3.0),
            order(1, 2, Buy, 0.115, 9.0), // Less than the fees of both trades.
            order(2, 2, Buy, 0.20, 2.0),
            order(3, 1, Buy, 0.30, 4.0), // Worth more earlier: the rest, and what is bought back.
            order(4, 2, Sell, 0.15, 1.0),
            order(5, 2, Sell, 0.05, 9.0), // Crosses a bid, which is matched first.
        ];
        let retrades = trader.replay_orders(&orders, None).unwrap();
        expect![[r#"
            0.160000: 2 kWh of 0 at 0.1 from order 0, -2 kWh of 2 at 0.2 from order 2
            0.180000: 1 kWh of 0 at 0.1 from order 0, -1 kWh of 1 at 0.3 from order 3
            0.130000: -1 kWh of 1 at 0.3 from order 3, 1 kWh of 2 at 0.15 from order 4"#]]
        .assert_eq(&retrades.iter().map(told).collect::<Vec<_>>().join("\n"));
        assert!(retrades.iter().all(Retrade::is_proved));
        let sum: f64 = retrades.iter().map(|retrade| retrade.gain.as_amount()).sum();
        assert!((trader.profit().as_amount() - sum).abs() < 1e-12);
    }

    #[test]
    fn orders_end_and_gates_close() {
        use BookSide::{Buy, Sell};
        let battery = TradingBattery::new(kwh(10.0), kw(5.0));
        let mut trader = RollingIntrinsic::new(request(4, battery)).unwrap();
        let ends = Order {
            valid_until: Some(start() - TimeDelta::minutes(30)),
            ..order(0, 0, Sell, 0.10, 3.0)
        };
        let late = |minute: i64, order: Order| Order {
            time: start() + TimeDelta::minutes(minute),
            ..order
        };
        trader.receive_order(&ends).unwrap();
        trader.receive_order(&order(1, 1, Sell, 0.10, 2.0)).unwrap();
        trader.receive_order(&late(-30, order(2, 1, Buy, 0.05, 1.0))).unwrap();
        // The first order is over, so only one is left to sell from.
        trader.receive_order(&late(-20, order(3, 2, Buy, 0.30, 5.0))).unwrap();
        expect!["0.400000: 2 kWh of 1 at 0.1 from order 1, -2 kWh of 2 at 0.3 from order 3"]
            .assert_eq(&told(&trader.trade_now().unwrap()));
        let refused = trader.receive_order(&late(-5, order(4, 0, Buy, 0.30, 5.0))).unwrap_err();
        expect!["time is 2026-01-05 17:55:00 UTC; the gate of the product from 2026-01-05 18:00:00 UTC closed at 2026-01-05 17:55:00 UTC"].assert_eq(&refused.to_string());
        // The gate of the product that was bought closes: the energy stays, and is sold later.
        trader.receive_order(&late(56, order(5, 2, Sell, 0.10, 5.0))).unwrap();
        assert_eq!(trader.trade_now(), None);
        trader.receive_order(&late(57, order(6, 3, Buy, 0.50, 1.0))).unwrap();
        expect!["0.400000: 1 kWh of 2 at 0.1 from order 5, -1 kWh of 3 at 0.5 from order 6"]
            .assert_eq(&told(&trader.trade_now().unwrap()));
        let stored: Vec<_> = trader.stored().collect();
        assert_eq!(stored, [kwh(0.0), kwh(2.0), kwh(1.0), kwh(0.0)]);
    }

    fn battery() -> BoxedStrategy<TradingBattery> {
        let efficiency = prop::sample::select(vec![1.0, 0.95, 0.8]);
        (1u8..6, 1u8..4, efficiency.clone(), efficiency, 0u8..3, 0u8..3)
            .prop_map(|(capacity, power, efficiency, efficiency_discharge, wear, fee)| {
                TradingBattery {
                    stored: kwh(1.0),
                    efficiency,
                    efficiency_discharge,
                    wear_price: per_kwh(f64::from(wear)),
                    trading_fee: per_kwh(0.5 * f64::from(fee)),
                    ..TradingBattery::new(kwh(f64::from(capacity)), kw(f64::from(power)))
                }
            })
            .boxed()
    }

    fn orders(products: usize, prices: std::ops::Range<i8>) -> BoxedStrategy<Vec<Order>> {
        let side = prop::sample::select(vec![BookSide::Buy, BookSide::Sell]);
        let lasts = prop::option::of(1i64..30);
        prop::collection::vec((0..products, side, prices, 1u8..4, lasts), 1..40)
            .prop_map(|drawn| {
                let numbered = (0i64..).zip(drawn);
                numbered
                    .map(|(second, (product, side, price, energy, lasts))| {
                        let order =
                            order(second, product, side, f64::from(price), f64::from(energy));
                        let end = |lasts| order.time + TimeDelta::seconds(lasts);
                        Order { valid_until: lasts.map(end), ..order }
                    })
                    .collect()
            })
            .boxed()
    }

    /// Most gain of whole kWh without losses, by all positions one by one.
    fn gain_by_enumeration(trader: &RollingIntrinsic) -> f64 {
        let battery = trader.battery;
        let mut values = vec![(battery.stored.as_kwh(), 0.0)];
        for product in 0..trader.products.len() {
            let mut next: Vec<(f64, f64)> = Vec::new();
            for position in -3..=3 {
                let position = f64::from(position);
                if position.abs() > battery.charge_max.as_kw() {
                    continue;
                }
                let Some(cost) = cost_of(trader, product, position) else { continue };
                for &(stored, gain) in &values {
                    let stored = stored + position;
                    if stored >= 0.0 && stored <= battery.capacity.as_kwh() {
                        next.push((stored, gain - cost));
                    }
                }
            }
            values = next;
        }
        values.iter().map(|&(_, gain)| gain).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Cost of a position, if the book has the orders for it.
    fn cost_of(trader: &RollingIntrinsic, product: usize, position: f64) -> Option<f64> {
        let battery = trader.battery;
        let before = trader.positions[product];
        let wanted = position - before;
        let side = if wanted > 0.0 { BookSide::Sell } else { BookSide::Buy };
        let (mut left, mut cost) = (wanted.abs(), wanted.abs() * battery.trading_fee.as_per_kwh());
        for order in trader.book.orders(product, side) {
            let taken = left.min(order.energy);
            cost += wanted.signum() * taken * order.price;
            left -= taken;
        }
        let worn = (-position).max(0.0) - (-before).max(0.0);
        (left <= 0.0).then_some(cost + battery.wear_price.as_per_kwh() * worn)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn no_whole_positions_gain_more(battery in battery(), orders in orders(3, -3..9)) {
            let lossless =
                TradingBattery { efficiency: 1.0, efficiency_discharge: 1.0, ..battery };
            let mut trader = RollingIntrinsic::new(request(3, lossless)).unwrap();
            for order in &orders {
                trader.receive_order(order).unwrap();
                let most = gain_by_enumeration(&trader);
                let retrade = trader.trade_now();
                let gain = retrade.as_ref().map_or(0.0, |retrade| retrade.gain.as_amount());
                prop_assert!((gain - most).abs() < 1e-9, "{gain} and {most}");
                prop_assert!(retrade.is_none_or(|retrade| retrade.is_proved()));
            }
        }

        /// An update that is known to gain nothing is the one in which a search finds nothing.
        #[test]
        fn updates_without_a_search_gain_nothing(
            battery in battery(),
            orders in orders(4, -6..9),
        ) {
            let mut trader = RollingIntrinsic::new(request(4, battery)).unwrap();
            for order in &orders {
                trader.receive_order(order).unwrap();
                let mut searching = RollingIntrinsic { may_gain: true, ..trader.clone() };
                let gain = |retrade: Option<Retrade>| {
                    retrade.map_or(0.0, |retrade| retrade.gain.as_amount())
                };
                let (gain, searched) = (gain(trader.trade_now()), gain(searching.trade_now()));
                prop_assert!((gain - searched).abs() < 1e-9, "{gain} and {searched}");
                prop_assert!(trader.gap_max().as_amount() < 1e-9);
                let capacity = battery.capacity.as_kwh();
                let mut stored = battery.stored.as_kwh();
                for position in trader.positions() {
                    prop_assert!(position.as_kwh().abs() <= battery.charge_max.as_kw() + 1e-9);
                    stored += battery.stored_change(position.as_kwh());
                    prop_assert!((-1e-9..=capacity + 1e-9).contains(&stored));
                }
            }
        }
    }

    #[test]
    fn wrong_requests_are_told() {
        let battery = TradingBattery::new(kwh(10.0), kw(5.0));
        let refused = |request| RollingIntrinsic::new(request).unwrap_err().to_string();
        let of = |battery| refused(request(2, battery));
        let held = |positions: &[f64]| {
            let positions = positions.iter().map(|&position| kwh(position)).collect();
            refused(RollingIntrinsicRequest { positions, ..request(2, battery) })
        };
        let texts = [
            of(TradingBattery { capacity: kwh(0.0), ..battery }),
            of(TradingBattery { efficiency_discharge: 92.0, ..battery }),
            of(TradingBattery { discharge_max: kw(-1.0), ..battery }),
            of(TradingBattery { wear_price: per_kwh(-1.0), ..battery }),
            of(TradingBattery { trading_fee: per_kwh(-1.0), ..battery }),
            products_between(start(), start() + TimeDelta::hours(1), TimeDelta::minutes(45))
                .unwrap_err()
                .to_string(),
            of(TradingBattery { stored: kwh(11.0), ..battery }),
            of(TradingBattery { stored_end_min: kwh(1.0), ..battery }),
            refused(request(0, battery)),
            refused(RollingIntrinsicRequest {
                gate_closure: TimeDelta::minutes(-5),
                ..request(2, battery)
            }),
            held(&[1.0]),
            held(&[0.0, 6.0]),
            held(&[-1.0, 1.0]),
        ];
        expect![[r#"
            capacity_kwh is 0 kWh; a battery holds at least 0.000001 kWh
            discharge_efficiency is 92; it lies between 0.01 and 1; 92 % is 0.92
            discharge_max_kw is -1 kW; it is 0 kW or more
            wear_price_per_kwh is -1 per kWh; it is 0 or more
            trading_fee_per_kwh is -1 per kWh; it is 0 or more
            2026-01-05 18:00:00 UTC to 2026-01-05 19:00:00 UTC is no whole number of products of 45 min; until comes after start, and the products fill the time between
            stored_kwh is 11 kWh; it lies between 0 and the capacity of 10 kWh
            stored_end_min_kwh is 1 kWh; it lies between 0 and the stored_kwh of 0 kWh
            there is no delivery product; give at least one
            gate_closure is -300 s before the delivery; it is 0 s or more
            positions_kwh has 1 entries for 2 products
            the position of the product from 2026-01-05 19:00:00 UTC is 6 kWh; the power allows -5 to 5 kWh
            the positions leave -1 kWh stored after the product from 2026-01-05 18:00:00 UTC; it lies between 0 and 10 kWh"#]].assert_eq(&texts.join("\n"));
    }

    #[test]
    fn wrong_orders_are_told() {
        use BookSide::Buy;
        let trader = RollingIntrinsic::new(request(2, TradingBattery::new(kwh(1.0), kw(1.0))));
        let mut trader = trader.unwrap();
        let good = order(60, 0, Buy, 0.1, 1.0);
        let wrong = [
            Order { energy: kwh(-1.0), ..good },
            Order { valid_until: Some(good.time), ..good },
            Order { product: 2, ..good },
            order(59, 0, Buy, 0.1, 1.0),
            Order { time: start(), ..good },
        ];
        let texts: Vec<String> = wrong
            .iter()
            .map(|&order| trader.replay_orders(&[good, order], None).unwrap_err().to_string())
            .collect();
        expect![[r#"
            orders[1]: energy_kwh is -1 kWh; the volume of an order is above 0 kWh
            orders[1]: valid_until is 2026-01-05 17:01:00 UTC, not after time at 2026-01-05 17:01:00 UTC
            orders[1]: product is 2; there are 2 products
            orders[1]: time is 2026-01-05 17:00:59 UTC, before 2026-01-05 17:01:00 UTC; orders come in time order
            orders[1]: time is 2026-01-05 18:00:00 UTC; the gate of the product from 2026-01-05 18:00:00 UTC closed at 2026-01-05 17:55:00 UTC"#]].assert_eq(&texts.join("\n"));
    }
}

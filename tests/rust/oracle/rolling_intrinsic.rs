//! Rolling intrinsic trades against HiGHS: each update of a random book as a mixed-integer
//! programme in single orders.
//!
//! The unknowns are the energy taken of each resting order, the energy that a product charges and
//! discharges, and whether it charges. Nothing is shared with the planner: the book is kept here
//! as a list of orders.
use chrono::{DateTime, TimeDelta, Utc};
use good_lp::solvers::highs::highs;
use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, variable};
use proptest::prelude::*;

use slackwater_engine::plan::rolling_intrinsic::{
    BookSide, Order, Retrade, RollingIntrinsic, RollingIntrinsicRequest, TradingBattery,
    products_between,
};
use slackwater_engine::units::{kw, kwh, per_kwh};

use crate::runner::{for_all, near};

const PRODUCTS: usize = 6;

/// Orders of a book and a battery.
#[derive(Debug, Clone)]
struct TradingCase {
    /// Product, side, price, energy and minutes of validity of an order each minute.
    orders: Vec<(usize, bool, f64, f64, Option<u8>)>,
    capacity_kwh: f64,
    power_kw: f64,
    efficiency: f64,
    efficiency_discharge: f64,
    wear: f64,
    fee: f64,
    stored: f64,
}

impl TradingCase {
    fn trader(&self) -> RollingIntrinsic {
        let start = start();
        let products =
            products_between(start, start + TimeDelta::minutes(90), TimeDelta::minutes(15));
        let battery = TradingBattery {
            stored: kwh(self.stored * self.capacity_kwh),
            stored_end_min: kwh(0.5 * self.stored * self.capacity_kwh),
            efficiency: self.efficiency,
            efficiency_discharge: self.efficiency_discharge,
            wear_price: per_kwh(self.wear),
            trading_fee: per_kwh(self.fee),
            ..TradingBattery::new(kwh(self.capacity_kwh), kw(self.power_kw))
        };
        RollingIntrinsic::new(RollingIntrinsicRequest {
            products: products.expect("six products"),
            battery,
            gate_closure: TimeDelta::zero(),
            positions: Vec::new(),
        })
        .expect("a battery")
    }

    fn orders(&self) -> Vec<Order> {
        let numbered = (0i64..).zip(&self.orders);
        numbered
            .map(|(id, &(product, buys, price, energy, minutes))| {
                let time = start() - TimeDelta::hours(2) + TimeDelta::minutes(id);
                Order {
                    id,
                    time,
                    valid_until: minutes.map(|end| time + TimeDelta::minutes(end.into())),
                    product,
                    side: if buys { BookSide::Buy } else { BookSide::Sell },
                    price: per_kwh(price),
                    energy: kwh(energy),
                }
            })
            .collect()
    }

    /// Most gain at a book of resting orders by HiGHS.
    fn most_gain(&self, book: &[Order], positions: &[f64]) -> f64 {
        let energy_max = self.power_kw / 4.0;
        let mut model = ProblemVariables::new();
        let mut gain = Expression::default();
        let mut rows = Vec::new();
        let mut stored = Expression::from(self.stored * self.capacity_kwh);
        for (product, &position) in positions.iter().enumerate() {
            let mut traded = Expression::from(position);
            for order in book.iter().filter(|order| order.product == product) {
                let taken = model.add(variable().min(0.0).max(order.energy.as_kwh()));
                let price = order.price.as_per_kwh();
                match order.side {
                    BookSide::Sell => {
                        traded += taken;
                        gain -= (price + self.fee) * taken;
                    }
                    BookSide::Buy => {
                        traded -= taken;
                        gain += (price - self.fee) * taken;
                    }
                }
            }
            let charged = model.add(variable().min(0.0).max(energy_max));
            let discharged = model.add(variable().min(0.0).max(energy_max));
            let is_charging = model.add(variable().binary());
            rows.push(constraint!(charged <= energy_max * is_charging));
            rows.push(constraint!(discharged + energy_max * is_charging <= energy_max));
            rows.push(constraint!(traded == charged - discharged));
            stored += self.efficiency * charged - discharged * (1.0 / self.efficiency_discharge);
            rows.push(constraint!(stored.clone() >= 0.0));
            rows.push(constraint!(stored.clone() <= self.capacity_kwh));
            let worn = (-position).max(0.0);
            gain -= self.wear / self.efficiency_discharge * (discharged - worn);
        }
        rows.push(constraint!(stored >= 0.5 * self.stored * self.capacity_kwh));
        let objective = gain.clone();
        let mut problem = model.maximise(gain).using(highs);
        for row in rows {
            problem.add_constraint(row);
        }
        problem.solve().expect("trading nothing is feasible").eval(&objective)
    }
}

fn start() -> DateTime<Utc> {
    "2026-03-28T22:00:00Z".parse().expect("an instant")
}

/// Puts an order into a book as an exchange does: a crossing order is matched at once.
fn receive(book: &mut Vec<Order>, mut order: Order) {
    book.retain(|resting| resting.valid_until.is_none_or(|end| end > order.time));
    while order.energy > kwh(0.0) {
        let crossing = book.iter().enumerate().filter(|(_, other)| {
            other.product == order.product
                && match (order.side, other.side) {
                    (BookSide::Buy, BookSide::Sell) => other.price <= order.price,
                    (BookSide::Sell, BookSide::Buy) => other.price >= order.price,
                    _ => false,
                }
        });
        // The best price, and of equal ones the first in the list.
        let sign = if order.side == BookSide::Buy { 1.0 } else { -1.0 };
        let rank = |other: &Order| sign * other.price.as_per_kwh();
        let best = crossing.min_by(|a, b| rank(a.1).total_cmp(&rank(b.1))).map(|best| best.0);
        let Some(best) = best else {
            book.push(order);
            return;
        };
        let matched = order.energy.min(book[best].energy);
        order.energy = order.energy - matched;
        reduce(book, best, matched.as_kwh());
    }
}

/// Takes energy from an order, and removes it if none is left but rounding.
fn reduce(book: &mut Vec<Order>, index: usize, energy: f64) {
    book[index].energy = book[index].energy - kwh(energy);
    if book[index].energy <= kwh(1e-12) {
        book.remove(index);
    }
}

/// Takes trades from a book, with a check of price and volume, and adds them to positions.
fn take(book: &mut Vec<Order>, retrade: &Retrade, positions: &mut [f64]) -> Result<(), String> {
    for trade in &retrade.trades {
        let order = book.iter().position(|order| order.id == trade.order);
        let Some(index) = order else { return Err(format!("{trade:?} is with no order")) };
        let order = &book[index];
        let is_bought = trade.energy > kwh(0.0);
        let energy = trade.energy.as_kwh().abs();
        if is_bought != (order.side == BookSide::Sell)
            || order.price != trade.price
            || order.product != trade.product
            || energy > order.energy.as_kwh() + 1e-9
        {
            return Err(format!("{trade:?} is not within {order:?}"));
        }
        positions[trade.product] += trade.energy.as_kwh();
        reduce(book, index, energy);
    }
    Ok(())
}

fn trading_cases(prices: std::ops::Range<f64>) -> BoxedStrategy<TradingCase> {
    let order =
        (0..PRODUCTS, any::<bool>(), prices, 0.1..4.0f64, prop::option::weighted(0.3, 1u8..30));
    (
        prop::collection::vec(order, 1..40),
        1.0..10.0f64,
        2.0..20.0f64,
        0.7..1.0f64,
        0.7..1.0f64,
        prop::sample::select(vec![0.0, 0.01, 0.05]),
        prop::sample::select(vec![0.0, 0.002]),
        prop::sample::select(vec![0.0, 0.4]),
    )
        .prop_map(|(orders, capacity_kwh, power_kw, efficiency, discharge, wear, fee, stored)| {
            let efficiency_discharge = discharge;
            TradingCase {
                orders,
                capacity_kwh,
                power_kw,
                efficiency,
                efficiency_discharge,
                wear,
                fee,
                stored,
            }
        })
        .boxed()
}

/// Compares each update of a case with HiGHS.
fn check_updates(case: &TradingCase) -> Result<(), TestCaseError> {
    let mut trader = case.trader();
    let (mut book, mut positions) = (Vec::new(), vec![0.0; PRODUCTS]);
    for order in case.orders() {
        trader.receive_order(&order).expect("the order makes sense");
        receive(&mut book, order);
        let most = case.most_gain(&book, &positions);
        let retrade = trader.trade_now();
        let gain = retrade.as_ref().map_or(0.0, |retrade| retrade.gain.as_amount());
        prop_assert!(near(gain, most, 1e-7), "order {}: {gain}, HiGHS {most}", order.id);
        if let Some(retrade) = retrade {
            prop_assert!(retrade.is_proved(), "{retrade:?}");
            take(&mut book, &retrade, &mut positions).map_err(TestCaseError::fail)?;
        }
    }
    prop_assert!(trader.gap_max().as_amount() <= 1e-9);
    for (ours, counted) in trader.positions().zip(&positions) {
        prop_assert!(near(ours.as_kwh(), *counted, 1e-9));
    }
    Ok(())
}

#[test]
fn each_update_gains_what_highs_gains() {
    for_all(40, &trading_cases(0.0..0.5), |case| check_updates(&case));
}

#[test]
fn negative_prices_gain_what_highs_gains() {
    for_all(40, &trading_cases(-0.3..0.3), |case| check_updates(&case));
}

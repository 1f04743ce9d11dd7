//! Rolling intrinsic trading of 96 quarter hours: an update of the order book that needs a search
//! for trades, and the mean of a stream of orders of which most need none.
use std::hint::black_box;

use chrono::TimeDelta;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use slackwater_benches::noon;
use slackwater_engine::plan::rolling_intrinsic::{
    BookSide, Order, RollingIntrinsic, RollingIntrinsicRequest, TradingBattery, products_between,
};
use slackwater_engine::units::{kw, kwh, per_kwh};

const PRODUCTS: usize = 96;
const ORDERS: usize = 10_000;

/// Battery of 10,000 kWh and 5,000 kW at a day of quarter hours that begins twelve hours later.
fn trader() -> RollingIntrinsic {
    let start = noon() + TimeDelta::hours(12);
    let battery = TradingBattery {
        efficiency: 0.95,
        efficiency_discharge: 0.95,
        wear_price: per_kwh(0.004),
        trading_fee: per_kwh(0.000_09),
        ..TradingBattery::new(kwh(10_000.0), kw(5_000.0))
    };
    let products = products_between(start, start + TimeDelta::days(1), TimeDelta::minutes(15));
    let request = RollingIntrinsicRequest {
        products: products.expect("96 quarter hours"),
        battery,
        gate_closure: TimeDelta::minutes(5),
        positions: Vec::new(),
    };
    RollingIntrinsic::new(request).expect("a battery")
}

/// Orders of 100 to 5,000 kWh around a price with two waves a day, three seconds apart; each stays for
/// twenty minutes to two hours.
fn orders() -> Vec<Order> {
    let mut seed = 7_u64;
    let mut draw = |below: u64| {
        // Linear congruential generator of Knuth (MMIX).
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let order = |id: usize| {
        let product = draw(PRODUCTS as u64) as usize;
        let wave = (product as f64 / PRODUCTS as f64 * 2.0 * std::f64::consts::TAU).sin();
        let is_bid = draw(2) == 0;
        let away = 1e-4 * draw(300) as f64;
        let price = 0.08 + 0.03 * wave + if is_bid { -0.001 - away } else { 0.001 + away };
        let time = noon() + TimeDelta::seconds(3 * id as i64);
        Order {
            id: id as i64,
            time,
            valid_until: Some(time + TimeDelta::minutes(20 + draw(100) as i64)),
            product,
            side: if is_bid { BookSide::Buy } else { BookSide::Sell },
            price: per_kwh(price),
            energy: kwh(100.0 * (1 + draw(50)) as f64),
        }
    };
    (0..ORDERS).map(order).collect()
}

fn updates(criterion: &mut Criterion) {
    let orders = orders();
    let mut group = criterion.benchmark_group("rolling_intrinsic");
    group.throughput(Throughput::Elements(ORDERS as u64));
    group.bench_function("stream-96-orders-10000", |bencher| {
        let replay = |mut trader: RollingIntrinsic| trader.replay_orders(&orders, None);
        bencher.iter_batched(trader, replay, BatchSize::LargeInput);
    });
    group.throughput(Throughput::Elements(1));
    let mut filled = trader();
    filled.replay_orders(&orders, None).expect("orders in time order");
    // A bid above all others that is larger than the offers which it meets: something can be sold to it,
    // so trades are searched and made.
    let last = orders[ORDERS - 1];
    let bid = Order {
        id: ORDERS as i64,
        product: PRODUCTS * 3 / 8,
        side: BookSide::Buy,
        price: per_kwh(0.3),
        energy: kwh(1_000_000.0),
        ..last
    };
    let update = |mut trader: RollingIntrinsic| {
        trader.receive_order(&bid).map(|()| (trader.trade_now(), trader))
    };
    let (retrade, _) = update(filled.clone()).expect("an order in time order");
    assert!(retrade.is_some_and(|retrade| retrade.is_proved()), "the bid is worth a trade");
    group.bench_function("search-96", |bencher| {
        bencher.iter_batched(|| black_box(&filled).clone(), update, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, updates);
criterion_main!(benches);

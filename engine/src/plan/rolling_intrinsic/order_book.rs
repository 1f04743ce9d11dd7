//! Order book of several delivery products: resting orders by price, then by time.
//!
//! An order that crosses the book is matched with the orders on the other side, as an exchange
//! does, and only its rest stays. So no bid is ever as high as an ask: a book has no arbitrage
//! without a battery.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::units::{Energy, Price};
use crate::words::words;

words! {
    /// Side of an order book.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum BookSide {
        /// Bid: an order that buys.
        Buy = "buy",
        /// Ask: an order that sells.
        Sell = "sell",
    }
}

impl BookSide {
    /// The other side.
    fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }
}

/// Order of another trader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    /// Identifier set by the caller; trades name it.
    pub id: i64,
    /// Instant from which on it is in the book.
    pub time: DateTime<Utc>,
    /// First instant at which it is no longer in the book, if it leaves before it is traded.
    pub valid_until: Option<DateTime<Utc>>,
    /// Position of the delivery product.
    pub product: usize,
    /// Side of the book.
    pub side: BookSide,
    /// Limit price.
    pub price: Price,
    /// Volume, more than 0.
    pub energy: Energy,
}

/// Invalid order.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// Volume that is not above zero.
    #[error("energy_kwh is {} kWh; the volume of an order is above 0 kWh", energy.as_kwh())]
    Energy {
        /// The volume as given.
        energy: Energy,
    },
    /// Order that is over before it begins.
    #[error("valid_until is {valid_until}, not after time at {time}")]
    Validity {
        /// End of the order.
        valid_until: DateTime<Utc>,
        /// Start of the order.
        time: DateTime<Utc>,
    },
    /// Order that comes before one that is in the book already.
    #[error("time is {time}, before {latest}; orders come in time order")]
    TimeOrder {
        /// Time of the order.
        time: DateTime<Utc>,
        /// Latest time so far.
        latest: DateTime<Utc>,
    },
    /// Product that does not exist.
    #[error("product is {product}; there are {products} products")]
    Product {
        /// The position as given.
        product: usize,
        /// Number of products.
        products: usize,
    },
    /// Start of a delivery that no product has.
    #[error("delivery_start is {start}; no product starts then")]
    NoProduct {
        /// The start as given.
        start: DateTime<Utc>,
    },
    /// Delivery of another length than the product.
    #[error(
        "delivery_end is {end}; the product from {start} ends at {product_end}, and products of \
         other lengths are traded apart"
    )]
    DeliveryEnd {
        /// Start of the delivery.
        start: DateTime<Utc>,
        /// The end as given.
        end: DateTime<Utc>,
        /// End of the product.
        product_end: DateTime<Utc>,
    },
    /// Order after the gate of its product.
    #[error("time is {time}; the gate of the product from {start} closed at {gate}")]
    GateClosed {
        /// Time of the order.
        time: DateTime<Utc>,
        /// Start of the delivery.
        start: DateTime<Utc>,
        /// Instant from which on the product is not traded.
        gate: DateTime<Utc>,
    },
}

/// Order in the book.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestingOrder {
    pub(crate) id: i64,
    pub(crate) price: f64,
    pub(crate) energy: f64,
    /// Number of the order in the book, by its arrival.
    sequence: u64,
}

/// Orders of one product. The best order is the last, because most changes are near it.
#[derive(Debug, Clone, Default)]
struct ProductOrders {
    bids: Vec<RestingOrder>,
    asks: Vec<RestingOrder>,
}

impl ProductOrders {
    fn side(&self, side: BookSide) -> &Vec<RestingOrder> {
        match side {
            BookSide::Buy => &self.bids,
            BookSide::Sell => &self.asks,
        }
    }

    fn side_mut(&mut self, side: BookSide) -> &mut Vec<RestingOrder> {
        match side {
            BookSide::Buy => &mut self.bids,
            BookSide::Sell => &mut self.asks,
        }
    }
}

/// End of an order: instant in microseconds, sequence, product, side.
type Expiry = Reverse<(i64, u64, usize, BookSide)>;

/// Resting orders of all products.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderBook {
    products: Vec<ProductOrders>,
    expiries: BinaryHeap<Expiry>,
    orders: u64,
}

impl OrderBook {
    /// Empty book of so many products.
    pub(crate) fn new(products: usize) -> Self {
        Self { products: vec![ProductOrders::default(); products], ..Self::default() }
    }

    /// Orders of one side, the best first; of equal prices the earlier one.
    pub(crate) fn orders(
        &self,
        product: usize,
        side: BookSide,
    ) -> impl Iterator<Item = &RestingOrder> {
        self.products[product].side(side).iter().rev()
    }

    /// Matches an order with the other side and keeps its rest. Returns true if a rest stays.
    pub(crate) fn add(&mut self, order: &Order) -> bool {
        let (side, price) = (order.side, order.price.as_per_kwh());
        let mut energy = order.energy.as_kwh();
        let other = self.products[order.product].side_mut(side.opposite());
        while let Some(best) = other.last_mut()
            && match side {
                BookSide::Buy => best.price <= price,
                BookSide::Sell => best.price >= price,
            }
        {
            if best.energy > energy {
                best.energy -= energy;
                return false;
            }
            energy -= best.energy;
            other.pop();
            if energy <= 0.0 {
                return false;
            }
        }
        self.orders += 1;
        let sequence = self.orders;
        let own = self.products[order.product].side_mut(side);
        let at = own.partition_point(|resting| match side {
            BookSide::Buy => resting.price < price,
            BookSide::Sell => resting.price > price,
        });
        own.insert(at, RestingOrder { id: order.id, price, energy, sequence });
        if let Some(end) = order.valid_until {
            self.expiries.push(Reverse((end.timestamp_micros(), sequence, order.product, side)));
        }
        true
    }

    /// Removes orders whose validity ends by the instant in microseconds.
    pub(crate) fn expire(&mut self, now: i64) {
        while let Some(&Reverse((end, sequence, product, side))) = self.expiries.peek()
            && end <= now
        {
            self.expiries.pop();
            let orders = self.products[product].side_mut(side);
            // An order that was traded is gone already.
            if let Some(at) = orders.iter().rposition(|order| order.sequence == sequence) {
                orders.remove(at);
            }
        }
    }

    /// Takes energy from the best orders of a side, and calls `trade` with each and the energy
    /// taken of it. A rest of an order below `rounding` goes with it. Returns what is missing.
    pub(crate) fn take(
        &mut self,
        (product, side): (usize, BookSide),
        energy: f64,
        rounding: f64,
        mut trade: impl FnMut(&RestingOrder, f64),
    ) -> f64 {
        let orders = self.products[product].side_mut(side);
        let mut missing = energy;
        while missing > rounding
            && let Some(best) = orders.last_mut()
        {
            if best.energy > missing + rounding {
                trade(best, missing);
                best.energy -= missing;
                return 0.0;
            }
            trade(best, best.energy);
            missing -= best.energy;
            orders.pop();
        }
        missing
    }
}

//! Cost of trading a product, as pieces over the change of the stored energy.
//!
//! From the position `q_t` bids lead down and asks lead up, until the book or the power ends. Each
//! order is a piece of constant cost per stored kWh; one that passes `x = 0` is two, because
//! efficiency and wear differ there.
use crate::plan::rolling_intrinsic::battery::TradingBattery;
use crate::plan::rolling_intrinsic::order_book::{BookSide, OrderBook};
use crate::tolerance::SUM_ROUNDING;

/// Stored energy at one cost per kWh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TradePiece {
    /// Cost per stored kWh.
    pub(crate) slope: f64,
    /// Stored kWh.
    pub(crate) length: f64,
    /// True if the piece lies below the present position, so that it is kept by trading nothing.
    pub(crate) is_kept: bool,
    /// True for `x ≥ 0`, false for `x ≤ 0`.
    charges: bool,
}

/// Sign of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Bought, sold or neither.
    Any,
    /// Bought, or neither.
    Charge,
    /// Sold, or neither.
    Discharge,
}

/// Pieces of a product in a list. Changes are those of the stored energy, in kWh.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CostRange {
    first: usize,
    last: usize,
    /// Least change.
    pub(crate) low: f64,
    /// Cost of the least change. That of the present position is zero.
    cost_low: f64,
    /// Change of the present position.
    pub(crate) present: f64,
}

/// Costs of products: a list of pieces, and the range of each product in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TradeCosts {
    pieces: Vec<TradePiece>,
    pub(crate) products: Vec<CostRange>,
}

impl TradeCosts {
    /// Removes all products.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.products.clear();
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Pieces of a product by rising energy.
    #[inline]
    pub(crate) fn pieces(&self, product: &CostRange) -> &[TradePiece] {
        &self.pieces[product.first..product.last]
    }

    /// Adds a product with the position that it has and the hours of its delivery.
    pub(crate) fn add_product(
        &mut self,
        battery: &TradingBattery,
        (book, product): (&OrderBook, usize),
        position: f64,
        hours: f64,
    ) {
        let fee = battery.trading_fee.as_per_kwh();
        let first = self.pieces.len();
        // Bids from the best down to what can be discharged, then turned to rising energy.
        let (mut at, mut left) = (position, position + battery.discharge_max.as_kw() * hours);
        for bid in book.orders(product, BookSide::Buy) {
            if left <= 0.0 {
                break;
            }
            let energy = bid.energy.min(left);
            // Above zero it is bought energy that is sold again, below it the battery discharges.
            let above = energy.min(at.max(0.0));
            self.add_piece(first, battery, (bid.price - fee, above), (true, true));
            self.add_piece(first, battery, (bid.price - fee, energy - above), (false, true));
            (at, left) = (at - energy, left - energy);
        }
        self.pieces[first..].reverse();
        let kept = self.pieces.len();
        let (mut at, mut left) = (position, battery.charge_max.as_kw() * hours - position);
        for ask in book.orders(product, BookSide::Sell) {
            if left <= 0.0 {
                break;
            }
            let energy = ask.energy.min(left);
            let below = energy.min((-at).max(0.0));
            self.add_piece(kept, battery, (ask.price + fee, below), (false, false));
            self.add_piece(kept, battery, (ask.price + fee, energy - below), (true, false));
            (at, left) = (at + energy, left - energy);
        }
        let present = battery.stored_change(position);
        let (mut low, mut cost_low) = (present, 0.0);
        for piece in &self.pieces[first..kept] {
            low -= piece.length;
            cost_low -= piece.slope * piece.length;
        }
        let last = self.pieces.len();
        self.products.push(CostRange { first, last, low, cost_low, present });
    }

    /// Adds energy at a price at the grid, if there is any. Orders of one price are one piece.
    #[inline]
    fn add_piece(
        &mut self,
        first: usize,
        battery: &TradingBattery,
        (price, energy): (f64, f64),
        (charges, is_kept): (bool, bool),
    ) {
        if energy <= 0.0 {
            return;
        }
        let slope = battery.slope(price, charges);
        let length = battery.stored_change(if charges { energy } else { -energy }).abs();
        match self.pieces[first..].last_mut() {
            Some(last) if last.slope.to_bits() == slope.to_bits() && last.charges == charges => {
                last.length += length;
            }
            _ => self.pieces.push(TradePiece { slope, length, is_kept, charges }),
        }
    }

    /// Cost of a change of the stored energy by a product, in excess of the present one.
    pub(crate) fn cost_at(&self, product: &CostRange, change: f64) -> f64 {
        let (mut left, mut cost) = (change - product.low, product.cost_low);
        for piece in self.pieces(product) {
            if left <= 0.0 {
                break;
            }
            cost += piece.slope * left.min(piece.length);
            left -= piece.length;
        }
        cost
    }

    /// Least `cost − value·change` of a product over all changes.
    pub(crate) fn least_cost_at_value(&self, product: &CostRange, value: f64) -> f64 {
        let mut cost = product.cost_low - value * product.low;
        let mut least = cost;
        for piece in self.pieces(product) {
            cost += (piece.slope - value) * piece.length;
            least = least.min(cost);
        }
        least
    }

    /// Writes the convex hull of a product's cost, for positions of a sign, behind the others of
    /// `hulls`. Returns false if no position has this sign.
    ///
    /// Slopes that fall are pooled with those before them until none does, which is the greatest
    /// convex function below the cost.
    pub(crate) fn write_hull(&self, product: &CostRange, sign: Sign, hulls: &mut Self) -> bool {
        let first = hulls.pieces.len();
        let (mut low, mut cost_low) = (product.low, product.cost_low);
        let mut high = low;
        for piece in self.pieces(product) {
            high += piece.length;
            match sign {
                Sign::Charge if !piece.charges => {
                    cost_low += piece.slope * piece.length;
                    low = high;
                    continue;
                }
                Sign::Discharge if piece.charges => continue,
                _ => {}
            }
            let mut pooled = *piece;
            while hulls.pieces.len() > first
                && let Some(before) = hulls.pieces.last()
                && before.slope > pooled.slope
            {
                let length = before.length + pooled.length;
                let cost = before.slope * before.length + pooled.slope * pooled.length;
                pooled = TradePiece { slope: cost / length, length, is_kept: false, ..pooled };
                hulls.pieces.pop();
            }
            hulls.pieces.push(pooled);
        }
        let last = hulls.pieces.len();
        hulls.products.push(CostRange { first, last, low, cost_low, present: product.present });
        // Bids or asks may end before a position changes its sign.
        match sign {
            Sign::Any => true,
            Sign::Charge => low >= SUM_ROUNDING * product.low || last > first,
            Sign::Discharge => product.low <= 0.0,
        }
    }
}

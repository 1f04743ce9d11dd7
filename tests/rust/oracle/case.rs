//! A charging problem in plain numbers: minutes, kW, kWh, and prices per kWh.

/// A period `[start, end)` of constant price, in minutes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slot {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) price: f64,
}

/// A period `[start, end)` with a power limit of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit {
    pub(crate) start: i32,
    pub(crate) end: i32,
    pub(crate) kw: f64,
}

/// Energy wanted, counted from the start, by a minute or by the last price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Target {
    pub(crate) by: Option<i32>,
    pub(crate) kwh: f64,
}

/// Prices and wishes of one vehicle. Minutes count from an arbitrary instant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) slots: Vec<Slot>,
    pub(crate) now: i32,
    pub(crate) until: Option<i32>,
    pub(crate) kw: f64,
    pub(crate) limits: Vec<Limit>,
    pub(crate) targets: Vec<Target>,
    pub(crate) reserve_kwh: f64,
    pub(crate) energy_max_kwh: Option<f64>,
    /// Charging for a missed target stops at its deadline, or else goes on.
    pub(crate) stops: bool,
}

impl Case {
    /// A vehicle that plugs in with the first slot and wants one thing.
    pub(crate) fn simple(slots: Vec<Slot>, kw: f64, target: Target) -> Self {
        Self {
            now: slots.first().map_or(0, |slot| slot.start),
            slots,
            until: None,
            kw,
            limits: Vec::new(),
            targets: vec![target],
            reserve_kwh: 0.0,
            energy_max_kwh: None,
            stops: false,
        }
    }

    /// The most that targets and reserve ask for.
    pub(crate) fn wanted(&self) -> f64 {
        self.targets.iter().fold(self.reserve_kwh, |most, target| most.max(target.kwh))
    }

    /// The same case with other prices.
    pub(crate) fn repriced(&self, price: impl Fn(f64) -> f64) -> Self {
        let reprice = |slot: &Slot| Slot { price: price(slot.price), ..*slot };
        Self { slots: self.slots.iter().map(reprice).collect(), ..self.clone() }
    }
}

/// Seamless slots of one length, from minute 0 on.
pub(crate) fn even_slots(minutes: i32, prices: &[f64]) -> Vec<Slot> {
    let mut end = 0;
    let slot = |&price: &f64| {
        let start = end;
        end += minutes;
        Slot { start, end, price }
    };
    prices.iter().map(slot).collect()
}

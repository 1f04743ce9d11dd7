//! Homes with a battery behind their meter: batteries, settled prices each way, net loads, and the
//! stays of vehicles.
use chrono::{DateTime, Utc};

#[cfg(feature = "lp")]
use crate::plan::site::error::SiteError;
use crate::plan::storage::behind_meter::{BehindMeterBattery, BehindMeterSlot};
use crate::plan::storage::request::EFFICIENCY_MIN;
use crate::plausibility::suggest_share;
use crate::prices::curve::PriceCurve;
use crate::simulate::exact::{ExactPrice, MONEY_MAX, Milliwatts};
use crate::simulate::facts::{FactsError, Stay, check_shortfall_price};
use crate::simulate::net_load::{NetForecast, NetLoad};
use crate::time::horizon::Horizon;
use crate::time::instant::{instant_at, micros_of};
use crate::units::{Energy, Percent, Power, Price};

/// Least capacity of a battery, in kWh: smaller ones are mistakes.
const CAPACITY_MIN_KWH: f64 = 1e-3;

/// Stationary battery of a home.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HomeBattery {
    /// Number of the home.
    pub home: u32,
    /// Usable capacity.
    pub capacity: Energy,
    /// State of charge at the start.
    pub soc: Percent,
    /// State of charge below which it is not discharged.
    pub soc_min: Percent,
    /// State of charge at which charging ends.
    pub charge_limit: Percent,
    /// State of charge wanted at the end of each plan, and of the simulation.
    pub target: Percent,
    /// Highest charging power, at the plug.
    pub charge_max: Power,
    /// Highest discharging power, at the plug, as a positive number.
    pub discharge_max: Power,
    /// Stored energy per energy at the plug when charging.
    pub efficiency: f64,
    /// Energy at the plug per stored energy when discharging.
    pub efficiency_discharge: f64,
    /// Wear per stored kWh that is discharged.
    pub wear_price: Price,
}

impl HomeBattery {
    /// The battery as the planner has it, full of energy as at the start.
    pub(crate) fn metered(&self) -> BehindMeterBattery {
        let stored = |soc: Percent| soc.of(self.capacity).as_kwh();
        BehindMeterBattery {
            stored_kwh: stored(self.soc),
            least_kwh: stored(self.soc_min),
            most_kwh: stored(self.charge_limit),
            target_kwh: stored(self.target),
            charge_max_kw: self.charge_max.as_kw(),
            discharge_max_kw: self.discharge_max.as_kw(),
            efficiency_charge: self.efficiency,
            efficiency_discharge: self.efficiency_discharge,
            wear_per_kwh: self.wear_price.as_per_kwh(),
        }
    }
}

/// A home with its battery.
#[derive(Debug, Clone, PartialEq)]
pub struct Home {
    /// Its battery.
    pub battery: HomeBattery,
    /// Its load less its solar power; `None` is zero throughout.
    pub net: Option<NetLoad>,
    /// Forecast of the net load before it is measured.
    pub forecast: NetForecast,
    /// First instant, and first instant after the simulation of this home.
    pub span: (DateTime<Utc>, DateTime<Utc>),
}

/// Homes that no simulation can use.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// A number of a battery is out of range.
    #[error("battery {row}: {column} is {value}; it lies between {least} and {most}{}", suggest(column, *value))]
    Range {
        /// Position of the battery.
        row: usize,
        /// Name of the column.
        column: &'static str,
        /// The number as given.
        value: f64,
        /// Least number.
        least: f64,
        /// Highest number.
        most: f64,
    },
    /// The simulation of a home has no length.
    #[error("battery {row}: its simulation starts at {start} and ends at {end}")]
    NoLength {
        /// Position of the battery.
        row: usize,
        /// Start.
        start: DateTime<Utc>,
        /// End.
        end: DateTime<Utc>,
    },
    /// A time of the simulation has no price, or no load.
    #[error("battery {row}: {what} missing at {at}; facts cover the whole simulation")]
    Missing {
        /// Position of the battery.
        row: usize,
        /// The missing fact.
        what: &'static str,
        /// First instant without it.
        at: DateTime<Utc>,
    },
    /// A kWh that is sold earns more than one that is bought costs.
    #[error(
        "export_prices are {export} per kWh at {at}, above prices, which are {import}; a kWh that \
         is fed in earns at most what one from the grid costs at the time"
    )]
    DearExport {
        /// Start of the slot.
        at: DateTime<Utc>,
        /// Price to sell.
        export: f64,
        /// Price to buy.
        import: f64,
    },
    /// A price is too high or too low to be counted.
    #[error("{name} is {value} per kWh; a simulation counts from -{MONEY_MAX:e} to {MONEY_MAX:e}")]
    Price {
        /// Name of the price.
        name: &'static str,
        /// The price.
        value: f64,
    },
    /// A stay of a vehicle makes no sense.
    #[error(transparent)]
    Stay(#[from] FactsError),
    /// A number of a stay is too large for a vehicle beside a battery.
    #[error("stay {row}: {column} is {value}; beside a battery it is at most {most}")]
    StayRange {
        /// Position of the stay.
        row: usize,
        /// Name of the column.
        column: &'static str,
        /// The number as given.
        value: f64,
        /// Highest number.
        most: f64,
    },
    /// Starts of a vehicle beside a battery have a cost.
    #[error(
        "stay {row}: start_cost is {start_cost}; the planner of a home with a battery counts no \
         starts: leave the column out, or simulate the stay without a battery"
    )]
    StayStarts {
        /// Position of the stay.
        row: usize,
        /// The cost of a start.
        start_cost: f64,
    },
    /// The home of a stay has no battery.
    #[error("stay {row}: its home has no battery; a stay without a battery is simulated alone")]
    NoBattery {
        /// Position of the stay.
        row: usize,
    },
    /// A stay is longer than the simulation of its home.
    #[error(
        "stay {row} lasts from {arrival} to {departure}; the simulation of its home lasts from \
         {start} to {end}"
    )]
    StayOutside {
        /// Position of the stay.
        row: usize,
        /// Arrival.
        arrival: DateTime<Utc>,
        /// Departure.
        departure: DateTime<Utc>,
        /// Start of the simulation.
        start: DateTime<Utc>,
        /// End of the simulation.
        end: DateTime<Utc>,
    },
    /// Battery and vehicles of a home cannot be planned together.
    #[cfg(feature = "lp")]
    #[error("battery {row} beside its vehicles: {source}")]
    Site {
        /// Position of the battery.
        row: usize,
        /// Error of the planner.
        source: SiteError,
    },
}

/// Shares that look like percents are told as shares.
fn suggest(column: &str, value: f64) -> String {
    if column.ends_with("efficiency") { suggest_share(value) } else { String::new() }
}

/// Settled prices and homes, checked.
#[derive(Debug, Clone)]
pub struct HomeFacts {
    import: PriceCurve,
    export: Option<PriceCurve>,
    homes: Vec<Home>,
    pub(crate) stays: Vec<Stay>,
    /// Positions of the stays of each home, in their order.
    pub(crate) stays_by_home: Vec<Vec<usize>>,
    missing_price: ExactPrice,
    /// Carbon intensity of the grid in kg per kWh, where emissions are counted.
    intensity: Option<PriceCurve>,
}

/// Part of time with one price each way and one net load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) import: f64,
    pub(crate) export: f64,
    pub(crate) net: Milliwatts,
}

impl Part {
    /// The part as the planner has it.
    pub(crate) fn as_slot(&self) -> BehindMeterSlot {
        let Self { start, end, import, export, net } = *self;
        BehindMeterSlot { start, end, net_kw: net.as_kw(), import, export }
    }
}

impl HomeFacts {
    /// Facts from prices and homes.
    ///
    /// Without a price to sell, a kWh that is fed in earns nothing; where the price to buy is
    /// negative, it costs as much as a kWh from the grid is paid for. `missing_price` is the price
    /// of a kWh at the plug that a battery lacks at its end; without it, the highest settled price.
    ///
    /// # Errors
    /// A number is out of range, a home has no length, facts do not cover its simulation, or a
    /// price to sell is above the price to buy.
    pub fn new(
        import: PriceCurve,
        export: Option<PriceCurve>,
        homes: Vec<Home>,
        missing_price: Option<Price>,
    ) -> Result<Self, HomeError> {
        let highest = || import.prices().iter().copied().fold(0.0, f64::max);
        let missing = missing_price.map_or_else(highest, Price::as_per_kwh);
        check_shortfall_price(missing)?;
        let exported = export.iter().flat_map(PriceCurve::prices);
        for &price in import.prices().iter().chain(exported) {
            check_price("a settled price", price)?;
        }
        for (row, home) in homes.iter().enumerate() {
            check_battery(row, &home.battery)?;
            check_cover(row, home, &import, export.as_ref())?;
        }
        check_export(&import, export.as_ref(), &homes)?;
        let missing_price =
            ExactPrice::from_price(Price::from_per_kwh(missing).unwrap_or(Price::ZERO));
        let stays_by_home = vec![Vec::new(); homes.len()];
        Ok(Self {
            import,
            export,
            homes,
            stays: Vec::new(),
            stays_by_home,
            missing_price,
            intensity: None,
        })
    }

    /// Facts with the carbon intensity of the grid in kg per kWh, by which emissions are counted. Time
    /// without an intensity counts for nothing.
    #[must_use]
    pub fn with_intensity(self, intensity: PriceCurve) -> Self {
        Self { intensity: Some(intensity), ..self }
    }

    /// The stays of vehicles.
    #[must_use]
    pub fn stays(&self) -> &[Stay] {
        &self.stays
    }

    /// Stays of a home, with their positions.
    pub(crate) fn stays_of(&self, home: usize) -> impl Iterator<Item = (usize, &Stay)> {
        self.stays_by_home[home].iter().map(|&row| (row, &self.stays[row]))
    }

    /// Settled prices to buy.
    #[must_use]
    pub fn import(&self) -> &PriceCurve {
        &self.import
    }

    /// Settled prices to sell.
    #[must_use]
    pub fn export(&self) -> Option<&PriceCurve> {
        self.export.as_ref()
    }

    /// The homes.
    #[must_use]
    pub fn homes(&self) -> &[Home] {
        &self.homes
    }

    /// Carbon intensity of the grid in kg per kWh, where emissions are counted.
    #[must_use]
    pub fn intensity(&self) -> Option<&PriceCurve> {
        self.intensity.as_ref()
    }

    /// Price of a kWh at the plug that a battery lacks at its end.
    pub(crate) fn missing_price(&self) -> ExactPrice {
        self.missing_price
    }
}

/// Calls `visit` for each part of `[from, to)`, in time order, until the first time without a price
/// to buy. `net` has the slots of the net load, and `expected` its power in each.
///
/// The price to sell is 0 where it is unknown, and at most the price to buy.
#[inline]
pub(crate) fn for_each_part(
    (import, export): (&PriceCurve, Option<&PriceCurve>),
    net: Option<&Horizon>,
    (from, to): (i64, i64),
    expected: impl Fn(usize) -> Milliwatts,
    mut visit: impl FnMut(Part),
) {
    let first = |horizon: &Horizon| horizon.overlapping(from, to).start;
    let buying = import.horizon();
    let (mut bought, mut sold) = (first(buying), export.map_or(0, |curve| first(curve.horizon())));
    let mut loaded = net.map_or(0, first);
    let mut start = from;
    while start < to {
        let Some(price) = price_in(import, &mut bought, start) else { break };
        let mut end = buying.ends()[bought].min(to);
        let selling = export.map_or(0.0, |curve| {
            let price = price_in(curve, &mut sold, start);
            end = end.min(border(curve.horizon(), sold, start));
            price.unwrap_or(0.0)
        });
        let net = net.map_or(Milliwatts(0), |horizon| {
            advance(horizon, &mut loaded, start);
            end = end.min(border(horizon, loaded, start));
            if holds(horizon, loaded, start) { expected(loaded) } else { Milliwatts(0) }
        });
        visit(Part { start, end, import: price, export: selling.min(price), net });
        start = end;
    }
}

/// Moves `slot` to the first one that ends after `at`.
#[inline]
fn advance(horizon: &Horizon, slot: &mut usize, at: i64) {
    while horizon.ends().get(*slot).is_some_and(|&end| end <= at) {
        *slot += 1;
    }
}

/// True if the slot holds an instant before its end.
#[inline]
fn holds(horizon: &Horizon, slot: usize, at: i64) -> bool {
    horizon.starts().get(slot).is_some_and(|&start| start <= at)
}

/// First instant after `at` at which the slot ends or begins.
#[inline]
fn border(horizon: &Horizon, slot: usize, at: i64) -> i64 {
    let Some(&start) = horizon.starts().get(slot) else { return i64::MAX };
    if start > at { start } else { horizon.ends()[slot] }
}

/// Price at an instant, for which `slot` moves on.
#[inline]
fn price_in(curve: &PriceCurve, slot: &mut usize, at: i64) -> Option<f64> {
    advance(curve.horizon(), slot, at);
    holds(curve.horizon(), *slot, at).then(|| curve.prices()[*slot])
}

fn check_price(name: &'static str, value: f64) -> Result<(), HomeError> {
    if value.abs() <= MONEY_MAX { Ok(()) } else { Err(HomeError::Price { name, value }) }
}

/// Checks the numbers of a battery.
fn check_battery(row: usize, battery: &HomeBattery) -> Result<(), HomeError> {
    let (soc, soc_min) = (battery.soc.as_percent(), battery.soc_min.as_percent());
    let limit = battery.charge_limit.as_percent();
    let numbers = [
        ("capacity_kwh", battery.capacity.as_kwh(), CAPACITY_MIN_KWH, MONEY_MAX),
        ("power_max_kw", battery.charge_max.as_kw(), 0.0, MONEY_MAX),
        ("discharge_max_kw", battery.discharge_max.as_kw(), 0.0, MONEY_MAX),
        ("efficiency", battery.efficiency, EFFICIENCY_MIN, 1.0),
        ("discharge_efficiency", battery.efficiency_discharge, EFFICIENCY_MIN, 1.0),
        ("wear_price_per_kwh", battery.wear_price.as_per_kwh(), 0.0, MONEY_MAX),
        ("charge_limit_percent", limit, soc_min, 100.0),
        ("soc_percent", soc, soc_min, limit),
        ("target_percent", battery.target.as_percent(), soc_min, limit),
    ];
    for (column, value, least, most) in numbers {
        if !(least..=most).contains(&value) {
            return Err(HomeError::Range { row, column, value, least, most });
        }
    }
    Ok(())
}

/// Checks that prices and net load cover the simulation of a home.
fn check_cover(
    row: usize,
    home: &Home,
    import: &PriceCurve,
    export: Option<&PriceCurve>,
) -> Result<(), HomeError> {
    let (start, end) = home.span;
    if end <= start {
        return Err(HomeError::NoLength { row, start, end });
    }
    let facts = [
        ("prices are", Some(import.horizon())),
        ("export_prices are", export.map(PriceCurve::horizon)),
        ("load and solar power are", home.net.as_ref().map(NetLoad::horizon)),
    ];
    for (what, horizon) in facts {
        let Some(horizon) = horizon else { continue };
        if let Some(at) = horizon.first_gap(micros_of(start), micros_of(end)) {
            return Err(HomeError::Missing { row, what, at: instant_at(at) });
        }
    }
    Ok(())
}

/// Checks that selling never earns more than buying costs, while a home is simulated.
fn check_export(
    import: &PriceCurve,
    export: Option<&PriceCurve>,
    homes: &[Home],
) -> Result<(), HomeError> {
    let Some(export) = export else { return Ok(()) };
    let spans = homes.iter().map(|home| (micros_of(home.span.0), micros_of(home.span.1)));
    let (from, to) =
        spans.fold((i64::MAX, i64::MIN), |all, span| (all.0.min(span.0), all.1.max(span.1)));
    for slot in export.horizon().overlapping(from, to) {
        let price = export.prices()[slot];
        let (start, end) = (export.horizon().starts()[slot], export.horizon().ends()[slot]);
        for other in import.horizon().overlapping(start.max(from), end.min(to)) {
            let buying = import.prices()[other];
            if price > buying {
                let at = instant_at(import.horizon().starts()[other].max(start));
                return Err(HomeError::DearExport { at, export: price, import: buying });
            }
        }
    }
    Ok(())
}

//! Plans of rooms and tanks, and their thermal models from measurements.
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, TimestampMicrosecondArray};
use chrono::{DateTime, TimeDelta, Utc};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use slackwater_engine::plan::Stated;
use slackwater_engine::plan::heat as engine;
use slackwater_engine::plan::heat::{
    ComfortBand, CopPoint, HeatError, HeatGain, HeatMode, HeatRequest, OnOff, OutdoorPeriod,
    SetBack, ThermalStore,
};
use slackwater_engine::plan::questions;
use slackwater_engine::plan::record::SavedRun;
use slackwater_engine::plan::switching::DeviceState;
use slackwater_engine::time::hour_minute::HourMinute;
use slackwater_engine::units::{
    Energy, HeatCapacity, HeatLoss, Power, Price, Temperature, UnitError,
};

use crate::arrow::{Table, utc};
use crate::error::{Named, Refused};
use crate::plan::{Interval, Intervals, LimitTuple, limits};
use crate::prices::Prices;
use crate::provenance::SourceShare;
use crate::record;
use crate::saved::Terms;
use crate::switching::state;
use crate::time::{Instant, time_zone};
use crate::verification::Verification;

record! {
    /// A period of constant price, outdoor temperature and limits, used or not.
    pub(crate) struct HeatSlot {
        /// First instant, in UTC.
        start: DateTime<Utc>,
        /// First instant after the slot, in UTC.
        end: DateTime<Utc>,
        /// Price of a kWh of electricity; `None` if it is not known, then the unit is off.
        price_per_kwh: Option<f64>,
        /// Outdoor temperature, or that around a tank, in °C.
        outdoor_celsius: f64,
        /// Heat from elsewhere over the slot, in kW; negative is drawn.
        gain_kw: f64,
        /// Heat moved per electrical energy (coefficient of performance).
        cop: f64,
        /// Highest electrical power over the slot, in kW; 0 without a price.
        power_max_kw: f64,
        /// Electrical energy used over the slot, in kWh, at constant power.
        used_kwh: f64,
        /// Temperature at the end of the slot, in °C.
        temperature_celsius: f64,
        /// Lowest temperature of the band at the end of the slot, in °C: the higher one of those
        /// before and after that instant.
        temperature_min_celsius: f64,
        /// Highest temperature of the band at the end of the slot, in °C: the lower one of those
        /// before and after that instant, but not below `temperature_min_celsius`.
        temperature_max_celsius: f64,
        /// Value of one more kWh of heat at the end of the slot, in units of the currency; of cold,
        /// for a unit that cools.
        marginal_value_per_kwh: f64,
        /// Degree-hours outside the band, in °C·h, that one more kWh of heat (or cold) at the end of
        /// the slot saves; negative causes more.
        marginal_degree_hours_per_kwh: f64,
    }

    /// Why a unit runs in a period.
    pub(crate) struct HeatReason in HeatReasons {
        /// First instant of the period, in UTC.
        start: DateTime<Utc>,
        /// First instant after the period, in UTC.
        end: DateTime<Utc>,
        /// Electrical energy used over the period, in kWh.
        used_kwh: f64,
        /// Heat moved over the period, in kWh.
        heat_kwh: f64,
        /// Cost of the electrical energy, in units of the currency.
        cost: f64,
        /// Highest price in the period, per kWh.
        price_max_per_kwh: f64,
        /// The reason: `hold`, `ahead`, `recover`, `negative_price`, `end_value` or `on_min`.
        code: String,
        /// Value of one more kWh of heat (or cold) at the end of the period.
        marginal_value_per_kwh: f64,
        /// Temperature at the end of the period, in °C.
        temperature_celsius: f64,
        /// Instant at which the temperature is at the edge of the band for which the unit runs, or at
        /// which its least time on has passed, in UTC; `None` if there is none.
        deadline: Option<DateTime<Utc>>,
        /// The reason as a sentence, with times on the wall clock that `explain` was asked for.
        sentence: String,
    }

    /// A thermostat in place of the plan: it holds the edge of the band, knows no price and looks at
    /// one slot.
    pub(crate) struct HeatBaseline {
        /// Cost of its electricity less the value of the heat stored at the end, in units of the
        /// currency.
        cost: f64,
        /// Electrical energy used, in kWh.
        used_kwh: f64,
        /// Degree-hours below the band, in °C·h.
        below_celsius_hours: f64,
        /// Degree-hours above the band, in °C·h.
        above_celsius_hours: f64,
    }

    /// Rules of a unit that is on or off, with the precision of the bound on its schedules.
    pub(crate) struct HeatOnOff {
        /// Least time on, in minutes.
        on_min_minutes: f64,
        /// Least time off, in minutes.
        off_min_minutes: f64,
        /// Instant since which the unit is on at the start of the plan, in UTC, if it is.
        running_since: Option<DateTime<Utc>>,
        /// Instant since which it is off, in UTC; `None` as well for longer than any least time.
        stopped_since: Option<DateTime<Utc>>,
        /// Cells of stored heat at each boundary of slots, at most 1,000; more make the bound
        /// larger.
        cells: usize,
    }

    /// Degree-hours and cost of a plan, and bounds that no plan can undercut.
    pub(crate) struct HeatCertificate {
        /// Degree-hours outside the band, in °C·h.
        degree_hours: f64,
        /// Lower bound on the degree-hours of every plan.
        degree_hours_bound: f64,
        /// Cost of the plan, in units of the currency.
        cost: f64,
        /// Lower bound on the cost of every plan with at most these degree-hours.
        bound: f64,
        /// Cost minus bound: the most that another plan can save; 0 up to rounding if proved.
        gap: f64,
        /// True if both gaps are rounding: at most 1e-9 of the cost with all degree-hours at their
        /// price, or of 1 if that is less.
        is_proved: bool,
        /// Price of a degree-hour, in units of the currency per °C·h, from which on the plan has the
        /// least sum of cost and degree-hours; for a unit that is on or off, the one with the
        /// largest bound.
        degree_hour_price: f64,
        /// Heat capacity of the room or tank, in kWh per K.
        capacity_kwh_per_k: f64,
        /// Heat loss of the room or tank, in kW per K.
        loss_kw_per_k: f64,
        /// Direction of the unit: `heat` or `cool`.
        mode: String,
        /// Temperature at the start of the plan, in °C.
        temperature_start_celsius: f64,
        /// Value of a kWh of heat (or cold) stored at the end, in units of the currency.
        end_value_per_kwh: f64,
        /// Rules of a unit that is on or off; `None` if it modulates.
        on_off: Option<HeatOnOff>,
        /// All slots with energies, temperatures, bands and marginal values, in time order.
        slots: Vec<HeatSlot>,
    }
    impl {
        /// Compute each statement anew from the numbers of the certificate alone.
        ///
        /// Temperatures are followed from slot to slot, degree-hours and cost are summed up, and the
        /// bounds are Lagrangians at the marginal values, without the planner. The runs and pauses
        /// of a unit that is on or off are compared with its least times. The bound on its schedules
        /// alone is that of the planner: its search is made once more.
        ///
        /// Returns:
        ///     Each statement with the computed number and the difference. Nothing is raised for a
        ///     statement that does not hold: look at ``failed``.
        ///
        /// Raises:
        ///     InputError: A number of the certificate is NaN, infinite or beyond all measure.
        fn verify(&self) -> Result<Verification, Refused> {
            let slots = self.slots.iter().map(HeatSlot::stated);
            let slots = slots.collect::<Result<Vec<_>, Refused>>()?;
            let evidence = engine::HeatEvidence {
                store: store(self.capacity_kwh_per_k, self.loss_kw_per_k)?,
                mode: mode(&self.mode)?,
                temperature_start: celsius(
                    self.temperature_start_celsius, "temperature_start_celsius",
                )?,
                end_value: Price::from_per_kwh(self.end_value_per_kwh)
                    .named("end_value_per_kwh")?,
                degree_hour_price: self.degree_hour_price,
                on_off: self.on_off.as_ref().map(HeatOnOff::stated).transpose()?,
            };
            let Self { cost, bound, gap, is_proved, .. } = *self;
            let degree_hours = engine::StatedDegreeHours {
                degree_hours: self.degree_hours,
                bound: self.degree_hours_bound,
            };
            let stated = Stated { cost, bound, gap, is_proved };
            Ok(Verification::new(engine::verify(&slots, &evidence, degree_hours, stated)))
        }
    }

    /// A fitted parameter with the interval that holds the true value in 95 of 100 cases.
    pub(crate) struct Estimate {
        /// Value with the least squares.
        value: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
    }

    /// Thermal model of a room or tank, fitted to measurements.
    pub(crate) struct HeatFit {
        /// Heat loss for each degree above the outside, in kW per K.
        loss_kw_per_k: Estimate,
        /// Heat that warms the room or tank by one degree, in kWh per K.
        capacity_kwh_per_k: Estimate,
        /// Constant heat from elsewhere, in kW.
        gain_kw: Estimate,
        /// Solar aperture in m², the area of an ideal window; `None` without irradiance.
        aperture_m2: Option<Estimate>,
        /// Time in which the difference to the outside falls by 63 %, in hours.
        time_constant_hours: Estimate,
        /// Root of the mean squared difference of simulated and measured temperature, in °C.
        rmse_celsius: f64,
        /// Number of readings that the model was fitted to.
        readings: usize,
    }
}

fn celsius(value: f64, name: &str) -> Result<Temperature, Refused> {
    Temperature::from_celsius(value).named(name)
}

fn store(capacity_kwh_per_k: f64, loss_kw_per_k: f64) -> Result<ThermalStore, Refused> {
    Ok(ThermalStore {
        capacity: HeatCapacity::from_kwh_per_k(capacity_kwh_per_k).named("capacity_kwh_per_k")?,
        loss: HeatLoss::from_kw_per_k(loss_kw_per_k).named("loss_kw_per_k")?,
    })
}

fn mode(word: &str) -> Result<HeatMode, Refused> {
    match word {
        "heat" => Ok(HeatMode::Heat),
        "cool" => Ok(HeatMode::Cool),
        other => Err(Refused::Input(format!("mode is {other:?}; it is \"heat\" or \"cool\""))),
    }
}

pub(crate) const fn word_of(mode: HeatMode) -> &'static str {
    match mode {
        HeatMode::Heat => "heat",
        HeatMode::Cool => "cool",
    }
}

impl HeatOnOff {
    fn new(evidence: &engine::OnOffEvidence) -> Self {
        let minutes = |length: TimeDelta| length.as_seconds_f64() / 60.0;
        let (running_since, stopped_since) = match evidence.unit.state {
            DeviceState::Off => (None, None),
            DeviceState::RunningSince(since) => (Some(since), None),
            DeviceState::StoppedSince(since) => (None, Some(since)),
        };
        Self {
            on_min_minutes: minutes(evidence.unit.on_min),
            off_min_minutes: minutes(evidence.unit.off_min),
            running_since,
            stopped_since,
            cells: evidence.cells,
        }
    }

    /// The rules as the engine has them.
    fn stated(&self) -> Result<engine::OnOffEvidence, Refused> {
        let length = |minutes: f64, name: &str| {
            if minutes.is_finite() {
                // A number beyond all measure becomes the longest length that a number can have.
                Ok(TimeDelta::microseconds((minutes * 60e6).round() as i64))
            } else {
                Err(UnitError::NotFinite { value: minutes, unit: "minutes" }).named(name)
            }
        };
        let unit = OnOff {
            on_min: length(self.on_min_minutes, "on_min_minutes")?,
            off_min: length(self.off_min_minutes, "off_min_minutes")?,
            state: state(self.running_since, self.stopped_since)?,
        };
        Ok(engine::OnOffEvidence { unit, cells: self.cells })
    }
}

impl HeatSlot {
    fn new(slot: &engine::HeatSlot) -> Self {
        Self {
            start: slot.start,
            end: slot.end,
            price_per_kwh: slot.price.map(Price::as_per_kwh),
            outdoor_celsius: slot.outdoor.as_celsius(),
            gain_kw: slot.gain.as_kw(),
            cop: slot.cop,
            power_max_kw: slot.power_max.as_kw(),
            used_kwh: slot.used.as_kwh(),
            temperature_celsius: slot.temperature.as_celsius(),
            temperature_min_celsius: slot.temperature_min.as_celsius(),
            temperature_max_celsius: slot.temperature_max.as_celsius(),
            marginal_value_per_kwh: slot.marginal_value.as_per_kwh(),
            marginal_degree_hours_per_kwh: slot.marginal_degree_hours,
        }
    }

    /// The slot as the engine has it.
    fn stated(&self) -> Result<engine::HeatSlot, Refused> {
        let price = self.price_per_kwh.map(Price::from_per_kwh).transpose();
        Ok(engine::HeatSlot {
            start: self.start,
            end: self.end,
            price: price.named("price_per_kwh")?,
            outdoor: celsius(self.outdoor_celsius, "outdoor_celsius")?,
            gain: Power::from_kw(self.gain_kw).named("gain_kw")?,
            cop: self.cop,
            power_max: Power::from_kw(self.power_max_kw).named("power_max_kw")?,
            used: Energy::from_kwh(self.used_kwh).named("used_kwh")?,
            temperature: celsius(self.temperature_celsius, "temperature_celsius")?,
            temperature_min: celsius(self.temperature_min_celsius, "temperature_min_celsius")?,
            temperature_max: celsius(self.temperature_max_celsius, "temperature_max_celsius")?,
            marginal_value: Price::from_per_kwh(self.marginal_value_per_kwh)
                .named("marginal_value_per_kwh")?,
            marginal_degree_hours: self.marginal_degree_hours_per_kwh,
        })
    }
}

/// Plan of a room or tank with its request, prices and currency; see `slackwater.HeatPlan`.
#[pyclass(frozen, subclass, module = "slackwater._engine")]
#[derive(Debug, Clone)]
pub(crate) struct HeatPlan {
    run: Arc<SavedRun<HeatRequest>>,
    terms: Terms,
}

impl HeatPlan {
    /// A plan on the terms of its prices.
    pub(crate) fn new(run: SavedRun<HeatRequest>, terms: Terms) -> Self {
        Self { run: Arc::new(run), terms }
    }

    /// The plan, to be evaluated under other facts.
    pub(crate) fn intended(&self) -> &engine::HeatPlan {
        self.run.plan()
    }

    /// The text of the saved plan.
    pub(crate) fn to_json(&self) -> String {
        self.terms.to_json(SavedRun::clone(&self.run))
    }
}

#[pymethods]
impl HeatPlan {
    /// Makes the class of Python, which takes prices beside the plan.
    #[new]
    #[pyo3(signature = (native, *_rest: "object"))]
    fn from_native(native: &Self, _rest: &Bound<'_, PyTuple>) -> Self {
        native.clone()
    }

    /// First instant that the plan could use, in UTC.
    #[getter]
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.run.request().now
    }

    #[getter(_import_prices)]
    fn prices(&self) -> Prices {
        self.terms.import(self.run.prices().clone())
    }

    /// Direction of the unit: ``heat`` or ``cool``.
    #[getter]
    fn mode(&self) -> &'static str {
        word_of(self.intended().mode)
    }

    /// Cost of the electricity less :attr:`stored_value`, in units of the currency.
    #[getter]
    fn cost(&self) -> f64 {
        self.intended().cost.as_amount()
    }

    /// Value of the heat stored at the end beyond the start, at ``end_value_per_kwh``.
    #[getter]
    fn stored_value(&self) -> f64 {
        self.intended().stored_value.as_amount()
    }

    /// Electrical energy used, in kWh.
    #[getter]
    fn used_kwh(&self) -> f64 {
        self.intended().used.as_kwh()
    }

    /// Heat moved, in kWh.
    #[getter]
    fn heat_kwh(&self) -> f64 {
        self.intended().heat.as_kwh()
    }

    /// Degree-hours below the band, in °C·h; 0 if it is held.
    ///
    /// Degrees at the end of each slot, times the hours of the slot.
    #[getter]
    fn below_celsius_hours(&self) -> f64 {
        self.intended().discomfort.below
    }

    /// Degree-hours above the band, in °C·h, as :attr:`below_celsius_hours`.
    #[getter]
    fn above_celsius_hours(&self) -> f64 {
        self.intended().discomfort.above
    }

    /// A thermostat that holds the edge of the band, whatever the price.
    #[getter]
    fn baseline(&self) -> HeatBaseline {
        let baseline = &self.intended().baseline;
        HeatBaseline {
            cost: baseline.cost.as_amount(),
            used_kwh: baseline.used.as_kwh(),
            below_celsius_hours: baseline.discomfort.below,
            above_celsius_hours: baseline.discomfort.above,
        }
    }

    /// Cost of :attr:`baseline`.
    #[getter]
    fn baseline_cost(&self) -> f64 {
        self.intended().baseline.cost.as_amount()
    }

    /// Baseline cost minus cost, signed.
    ///
    /// Negative where the plan pays for being outside the band for less time than a thermostat.
    #[getter]
    fn savings(&self) -> f64 {
        self.intended().savings().as_amount()
    }

    /// Time from ``now`` to the end of the plan without a price, in hours; the unit is off then.
    #[getter]
    fn unpriced_hours(&self) -> f64 {
        self.intended().unpriced_hours
    }

    /// Energy bought at the prices of each source, in the order of the layers.
    ///
    /// Prices without layers are one known source, ``"prices"``.
    #[getter]
    fn sources(&self) -> Result<Vec<SourceShare>, Refused> {
        let slots = self.intended().slots.iter();
        let bought = slots.map(|slot| (slot.start, slot.used, slot.price.unwrap_or(Price::ZERO)));
        Ok(SourceShare::all(questions::shares(&self.prices().layered()?, bought)))
    }

    /// Periods in which the unit runs, with their electrical power, in UTC.
    #[getter]
    fn intervals(&self) -> Intervals {
        self.intended().intervals.iter().map(Interval::new).collect()
    }

    /// All slots, with energies, temperatures, bands and marginal values.
    #[getter]
    fn slots(&self) -> Vec<HeatSlot> {
        self.intended().slots.iter().map(HeatSlot::new).collect()
    }

    /// The proof: degree-hours and cost with their bounds. Rests on the marginal values.
    #[getter]
    fn certificate(&self) -> HeatCertificate {
        let certificate = &self.intended().certificate;
        let evidence = &certificate.evidence;
        HeatCertificate {
            degree_hours: certificate.degree_hours,
            degree_hours_bound: certificate.degree_hours_bound,
            cost: certificate.cost.as_amount(),
            bound: certificate.bound.as_amount(),
            gap: certificate.gap().as_amount(),
            is_proved: certificate.is_proved(),
            degree_hour_price: evidence.degree_hour_price,
            capacity_kwh_per_k: evidence.store.capacity.as_kwh_per_k(),
            loss_kw_per_k: evidence.store.loss.as_kw_per_k(),
            mode: word_of(evidence.mode).to_owned(),
            temperature_start_celsius: evidence.temperature_start.as_celsius(),
            end_value_per_kwh: evidence.end_value.as_per_kwh(),
            on_off: evidence.on_off.as_ref().map(HeatOnOff::new),
            slots: self.slots(),
        }
    }

    #[pyo3(signature = (*, time_zone))]
    fn explain(&self, time_zone: &str) -> Result<HeatReasons, Refused> {
        let zone = self::time_zone(time_zone)?;
        let reason = |reason: engine::HeatReason| HeatReason {
            start: reason.start,
            end: reason.end,
            used_kwh: reason.used.as_kwh(),
            heat_kwh: reason.heat.as_kwh(),
            cost: reason.cost.as_amount(),
            price_max_per_kwh: reason.price_max.as_per_kwh(),
            code: reason.code.as_str().to_owned(),
            marginal_value_per_kwh: reason.marginal_value.as_per_kwh(),
            temperature_celsius: reason.temperature.as_celsius(),
            deadline: reason.due,
            sentence: self.terms.tell_bought(
                reason.sentence(zone, self.terms.currency()),
                (reason.start, reason.end),
            ),
        };
        Ok(engine::explain(self.intended()).into_iter().map(reason).collect())
    }

    fn temperature_celsius_at(&self, at: Instant) -> f64 {
        self.intended().temperature_at(at.0).as_celsius()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.intended() == other.intended() && self.now() == other.now()
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        record::hash(slf.as_any(), &["cost", "used_kwh"])
    }

    /// Hand the slots of the plan to an Arrow library.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        let slots = &self.intended().slots;
        let times = |of: fn(&engine::HeatSlot) -> DateTime<Utc>| -> ArrayRef {
            let micros: Vec<i64> = slots.iter().map(|slot| of(slot).timestamp_micros()).collect();
            Arc::new(utc(TimestampMicrosecondArray::from(micros)))
        };
        let always = |of: fn(&engine::HeatSlot) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(slots.iter().map(of)))
        };
        let prices = slots.iter().map(|slot| slot.price.map(Price::as_per_kwh));
        let prices: ArrayRef = Arc::new(prices.collect::<Float64Array>());
        let table = Table::of_columns([
            ("start", times(|slot| slot.start), false),
            ("end", times(|slot| slot.end), false),
            ("price_per_kwh", prices, true),
            ("outdoor_celsius", always(|slot| slot.outdoor.as_celsius()), false),
            ("cop", always(|slot| slot.cop), false),
            ("used_kwh", always(|slot| slot.used.as_kwh()), false),
            ("temperature_celsius", always(|slot| slot.temperature.as_celsius()), false),
            ("temperature_min_celsius", always(|slot| slot.temperature_min.as_celsius()), false),
            ("temperature_max_celsius", always(|slot| slot.temperature_max.as_celsius()), false),
            ("marginal_value_per_kwh", always(|slot| slot.marginal_value.as_per_kwh()), false),
        ])?;
        table.stream(py, requested_schema)
    }
}

/// Room or tank with its unit, as a device of a site has it.
#[derive(FromPyObject)]
pub(crate) struct RoomArgument {
    capacity_kwh_per_k: f64,
    loss_kw_per_k: f64,
    temperature_celsius: f64,
    comfort_celsius: (f64, f64),
    #[pyo3(attribute("_set_backs"))]
    set_backs: Vec<SetBackTuple>,
    time_zone: String,
    power_max_kw: f64,
    #[pyo3(attribute("_power_limits"))]
    power_limits: Vec<LimitTuple>,
    #[pyo3(attribute("_cop"))]
    cop: Vec<(f64, f64)>,
    #[pyo3(attribute("_outdoor"))]
    outdoor: Vec<NumberTuple>,
    #[pyo3(attribute("_gains"))]
    gains: Vec<NumberTuple>,
    mode: String,
    end_value_per_kwh: f64,
}

impl RoomArgument {
    /// The request from `now` to the end of the plan of the site.
    pub(crate) fn request(&self, now: DateTime<Utc>) -> Result<HeatRequest, Refused> {
        Ok(HeatRequest {
            now,
            until: None,
            store: store(self.capacity_kwh_per_k, self.loss_kw_per_k)?,
            temperature: celsius(self.temperature_celsius, "temperature_celsius")?,
            power_max: Power::from_kw(self.power_max_kw).named("power_max_kw")?,
            power_limits: limits(&self.power_limits)?,
            comfort: band(self.comfort_celsius, "comfort_celsius")?,
            ..shared_request(
                (&self.mode, &self.cop),
                (&self.outdoor, &self.gains),
                (&self.set_backs, &self.time_zone),
                self.end_value_per_kwh,
            )?
        })
    }
}

/// Number in a period.
pub(crate) type NumberTuple = (Instant, Instant, f64);

/// Time of day from and to, lowest and highest temperature.
pub(crate) type SetBackTuple = (String, String, f64, f64);

fn band((min, max): (f64, f64), field: &str) -> Result<ComfortBand, Refused> {
    let band = ComfortBand {
        min: celsius(min, &format!("{field}.min_celsius"))?,
        max: celsius(max, &format!("{field}.max_celsius"))?,
    };
    // By the name of the argument, which is not that of the engine.
    let field = field.to_owned();
    if band.min > band.max { Err(HeatError::Band { field, band }.into()) } else { Ok(band) }
}

fn set_back((index, given): (usize, &SetBackTuple)) -> Result<SetBack, Refused> {
    let field = format!("set_backs[{index}]");
    Ok(SetBack {
        from: HourMinute::parse(&given.0).named(&format!("{field}.start"))?,
        to: HourMinute::parse(&given.1).named(&format!("{field}.end"))?,
        band: band((given.2, given.3), &field)?,
    })
}

fn outdoor((index, given): (usize, &NumberTuple)) -> Result<OutdoorPeriod, Refused> {
    let temperature = celsius(given.2, &format!("outdoor_celsius[{index}]"))?;
    Ok(OutdoorPeriod { start: given.0.0, end: given.1.0, temperature })
}

fn gain((index, given): (usize, &NumberTuple)) -> Result<HeatGain, Refused> {
    let power = Power::from_kw(given.2).named(&format!("gains_kw[{index}]"))?;
    Ok(HeatGain { start: given.0.0, end: given.1.0, power })
}

fn cop_point((index, given): (usize, &(f64, f64))) -> Result<CopPoint, Refused> {
    Ok(CopPoint { outdoor: celsius(given.0, &format!("cop[{index}]"))?, cop: given.1 })
}

/// Request with what many rooms and tanks of a place have in common. The plan has no length yet, and
/// the store is none in particular.
pub(crate) fn shared_request(
    (mode, cop): (&str, &[(f64, f64)]),
    (outdoor, gains): (&[NumberTuple], &[NumberTuple]),
    (set_backs, time_zone): (&[SetBackTuple], &str),
    end_value_per_kwh: f64,
) -> Result<HeatRequest, Refused> {
    let now = outdoor.first().map_or(DateTime::UNIX_EPOCH, |first| first.0.0);
    let comfort = ComfortBand { min: Temperature::default(), max: Temperature::default() };
    Ok(HeatRequest {
        now,
        until: Some(now),
        store: store(1.0, 0.0)?,
        temperature: Temperature::default(),
        mode: self::mode(mode)?,
        power_max: Power::ZERO,
        power_limits: Vec::new(),
        cop: cop.iter().enumerate().map(cop_point).collect::<Result<_, _>>()?,
        outdoor: outdoor.iter().enumerate().map(self::outdoor).collect::<Result<_, _>>()?,
        gains: gains.iter().enumerate().map(gain).collect::<Result<_, _>>()?,
        comfort,
        set_backs: set_backs.iter().enumerate().map(set_back).collect::<Result<_, _>>()?,
        time_zone: self::time_zone(time_zone)?,
        end_value: Price::from_per_kwh(end_value_per_kwh).named("end_value_per_kwh")?,
        on_off: None,
    })
}

#[pyfunction]
#[pyo3(signature = (
    prices, *, now, until, capacity_kwh_per_k, loss_kw_per_k, temperature_celsius, mode,
    power_max_kw, power_limits, cop, outdoor, gains, comfort, set_backs, time_zone,
    end_value_per_kwh, on_off, on_min, off_min, running_since, stopped_since
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub(crate) fn plan_heat(
    py: Python<'_>,
    prices: &Prices,
    now: Instant,
    until: Option<Instant>,
    capacity_kwh_per_k: f64,
    loss_kw_per_k: f64,
    temperature_celsius: f64,
    mode: &str,
    power_max_kw: f64,
    power_limits: Vec<LimitTuple>,
    cop: Vec<(f64, f64)>,
    outdoor: Vec<NumberTuple>,
    gains: Vec<NumberTuple>,
    comfort: (f64, f64),
    set_backs: Vec<SetBackTuple>,
    time_zone: &str,
    end_value_per_kwh: f64,
    on_off: bool,
    on_min: Option<TimeDelta>,
    off_min: Option<TimeDelta>,
    running_since: Option<Instant>,
    stopped_since: Option<Instant>,
) -> Result<HeatPlan, Refused> {
    let since = |at: Option<Instant>| at.map(|at| at.0);
    let unit = OnOff {
        on_min: on_min.unwrap_or_default(),
        off_min: off_min.unwrap_or_default(),
        state: state(since(running_since), since(stopped_since))?,
    };
    let request = HeatRequest {
        now: now.0,
        until: until.map(|until| until.0),
        store: store(capacity_kwh_per_k, loss_kw_per_k)?,
        temperature: celsius(temperature_celsius, "temperature_celsius")?,
        power_max: Power::from_kw(power_max_kw).named("power_max_kw")?,
        power_limits: limits(&power_limits)?,
        comfort: band(comfort, "comfort_celsius")?,
        on_off: on_off.then_some(unit),
        ..shared_request(
            (mode, &cop),
            (&outdoor, &gains),
            (&set_backs, time_zone),
            end_value_per_kwh,
        )?
    };
    let curve = prices.curve.clone();
    let run = py.detach(|| SavedRun::new(curve, request))?;
    Ok(HeatPlan::new(run, Terms::new(prices, None)))
}

/// See `slackwater.identify_heat`.
#[pyfunction]
#[pyo3(signature = (at, *, temperature_celsius, outdoor_celsius, heat_kw, irradiance_kw_per_m2))]
pub(crate) fn identify_heat(
    py: Python<'_>,
    at: Vec<Instant>,
    temperature_celsius: Vec<f64>,
    outdoor_celsius: Vec<f64>,
    heat_kw: Vec<f64>,
    irradiance_kw_per_m2: Option<Vec<f64>>,
) -> Result<HeatFit, Refused> {
    let at: Vec<DateTime<Utc>> = at.into_iter().map(|at| at.0).collect();
    let fit = py.detach(|| {
        engine::identify_heat(&engine::HeatReadings {
            at: &at,
            temperature_celsius: &temperature_celsius,
            outdoor_celsius: &outdoor_celsius,
            heat_kw: &heat_kw,
            irradiance_kw_per_m2: irradiance_kw_per_m2.as_deref(),
        })
    })?;
    let estimate =
        |found: engine::Estimate| Estimate { value: found.value, low: found.low, high: found.high };
    Ok(HeatFit {
        loss_kw_per_k: estimate(fit.loss_kw_per_k),
        capacity_kwh_per_k: estimate(fit.capacity_kwh_per_k),
        gain_kw: estimate(fit.gain_kw),
        aperture_m2: fit.aperture_m2.map(estimate),
        time_constant_hours: estimate(fit.time_constant_hours),
        rmse_celsius: fit.rmse_celsius,
        readings: fit.readings,
    })
}

//! Bills of metered loads, and the tariffs that they follow.
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use slackwater_engine::bill::energy_prices as engine_prices;
use slackwater_engine::bill::file::{ComponentRequest, Direction, TariffRequest};
use slackwater_engine::bill::invoice::{
    self as engine, Billed, Contract, bill_months, check_complete,
};
use slackwater_engine::bill::library::{FILES, find_file};
use slackwater_engine::bill::load::{EarlierPeak, EnergyPeriod, MeteredLoad};
use slackwater_engine::bill::month::Month;
use slackwater_engine::bill::tariff as checked;
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::units::{Energy, Power};

use crate::error::{Named, Refused};
use crate::prices::Prices;
use crate::record;
use crate::series::Series;
use crate::time::Instant;

/// Names that a message offers in place of an unknown one.
const OFFERED_MAX: usize = 5;

/// Fields of a tariff that enter amounts, and are texts in a file.
const EXACT_FIELDS: [&str; 9] = [
    "amount",
    "factor",
    "floor_kw",
    "from",
    "kwh",
    "month_floor_kw",
    "percent",
    "price",
    "price_per_kwh",
];

/// Similarity by Jaro and Winkler from which on two names are near.
const NEAR: f64 = 0.8;

record! {
    /// A document that states numbers of a tariff.
    pub(crate) struct TariffSource {
        /// Title of the document, or of the page.
        document: String,
        /// Address of the document.
        url: String,
        /// Collection in which the document was read; `None` if it was the document itself.
        read_in: Option<String>,
        /// Day on which the collection or the page states the numbers; `None` if it does not say.
        stated_on: Option<NaiveDate>,
    }

    /// One component of a tariff: a source of lines of a bill.
    pub(crate) struct TariffComponent {
        /// Name of the component.
        id: String,
        /// The kind: `energy`, `capacity`, `contracted`, `fixed` or `percentage`.
        kind: String,
        /// Recipient of the amount: `energy` (the supplier), `network`, `tax` or `fee`.
        category: String,
    }

    /// A tariff that comes with the package.
    pub(crate) struct TariffEntry in TariffEntries {
        /// Name for `load_tariff`.
        id: String,
        /// Name of the tariff.
        name: String,
        /// Company that has the tariff.
        operator: String,
        /// Country by its ISO 3166 code.
        country: String,
        /// Currency by its ISO 4217 code.
        currency: String,
        /// First day.
        valid_from: NaiveDate,
        /// Day after the last for which the sources hold; `None` if they name none.
        valid_to: Option<NaiveDate>,
        /// Categories of the components, such as `network, tax`: what is not among them is not in
        /// the bill.
        categories: String,
        /// Address of the first source.
        url: String,
        /// Last day on which a source states the numbers; `None` if none says so.
        stated_on: Option<NaiveDate>,
    }

    /// One line of a bill: quantity times rate times share, rounded.
    ///
    /// Numbers are computed as decimals; each field is the float nearest to its decimal.
    pub(crate) struct BillLine in BillLines {
        /// Month as `2026-07`.
        month: String,
        /// Component of the tariff.
        component: String,
        /// Recipient of the amount: `energy` (the supplier), `network`, `tax` or `fee`.
        category: String,
        /// Quantity, in `unit`.
        quantity: f64,
        /// Unit of the quantity: `kWh`, `kW`, `kVA`, `A`, `step`, `fee`, or the currency of a base.
        unit: String,
        /// Price of a unit; percent of a base.
        rate: f64,
        /// Part of the price that falls in the month, such as 1/12; 1/100 for percent.
        share: f64,
        /// Amount, in units of the currency; negative if it is paid to the customer.
        amount: f64,
        /// Origin of the quantity and of the rate, in a sentence.
        explanation: String,
    }

    /// Total of one month of a bill.
    pub(crate) struct MonthBill in MonthBills {
        /// Month as `2026-07`.
        month: String,
        /// First instant of the month on the clocks of the tariff, in UTC.
        start: DateTime<Utc>,
        /// First instant after the month, in UTC.
        end: DateTime<Utc>,
        /// Sum of the lines to the cent, in units of the currency.
        total: f64,
    }
}

fn number(decimal: Decimal) -> f64 {
    // All numbers of bills are within the range of floats.
    decimal.to_f64().unwrap_or(f64::NAN)
}

impl BillLine {
    fn new(month: Month, line: engine::BillLine) -> Self {
        Self {
            month: month.to_string(),
            component: line.component,
            category: line.category.as_str().to_owned(),
            quantity: number(line.quantity),
            unit: line.unit.to_owned(),
            rate: number(line.rate),
            share: f64::from(line.share.part) / f64::from(line.share.whole),
            amount: number(line.amount),
            explanation: line.explanation,
        }
    }
}

/// Name, kind and category of a component.
fn describe(component: &ComponentRequest) -> TariffComponent {
    let (id, kind, category) = match component {
        ComponentRequest::Energy { id, category, .. } => (id, "energy", category),
        ComponentRequest::Capacity { id, category, .. } => (id, "capacity", category),
        ComponentRequest::Contracted { id, category, .. } => (id, "contracted", category),
        ComponentRequest::Fixed { id, category, .. } => (id, "fixed", category),
        ComponentRequest::Percentage { id, category, .. } => (id, "percentage", category),
    };
    let category = category.as_str().to_owned();
    TariffComponent { id: id.clone(), kind: kind.to_owned(), category }
}

/// Tariff as it is billed: components, calendars, and the documents that state them. Cannot be
/// changed; `tariffs.load_tariff` and `tariffs.read_tariff` make one.
#[pyclass(frozen, eq, from_py_object, module = "slackwater")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BillingTariff {
    pub(crate) tariff: Arc<checked::BillingTariff>,
}

/// Refusal of the first number that should be a text, with its path in the file.
fn find_number(value: &serde_json::Value, path: &str) -> Option<Refused> {
    match value {
        serde_json::Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_number(item, &format!("{path}[{index}]"))),
        serde_json::Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match field {
                serde_json::Value::Number(number) if EXACT_FIELDS.contains(&name.as_str()) => {
                    let text = format!(
                        "{path} is the number {number}; write it as a text, \"{number}\", which \
                         is exact"
                    );
                    Some(Refused::Input(text))
                }
                _ => find_number(field, &path),
            }
        }),
        _ => None,
    }
}

impl BillingTariff {
    fn request(&self) -> &TariffRequest {
        self.tariff.request()
    }

    fn parse(text: &str) -> Result<Self, Refused> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let request: TariffRequest =
            serde_path_to_error::deserialize(&mut reader).map_err(|error| {
                let inner = error.inner();
                if inner.is_syntax() || inner.is_eof() {
                    let way = "a tariff is an object in JSON; load_tariff reads a built-in one";
                    return Refused::Input(format!("{inner} of the text: {way}"));
                }
                // Of a component the path ends with its position in the list.
                let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
                match (find_number(&value, ""), error.path().to_string().as_str()) {
                    (Some(refused), _) => refused,
                    (None, "?" | ".") => Refused::Input(error.inner().to_string()),
                    (None, path) => Refused::argument(path, error.inner()),
                }
            })?;
        Ok(Self { tariff: Arc::new(checked::BillingTariff::new(request)?) })
    }
}

#[pymethods]
impl BillingTariff {
    /// Reads the text of a JSON file.
    #[new]
    fn from_json(text: &str) -> Result<Self, Refused> {
        Self::parse(text)
    }

    /// Name of the tariff.
    #[getter]
    fn name(&self) -> &str {
        &self.request().name
    }

    /// Company that has the tariff.
    #[getter]
    fn operator(&self) -> &str {
        &self.request().operator
    }

    /// Country by its ISO 3166 code.
    #[getter]
    fn country(&self) -> &str {
        &self.request().country
    }

    /// Currency of all amounts, by its ISO 4217 code.
    #[getter]
    fn currency(&self) -> &str {
        &self.request().currency
    }

    /// IANA name of the zone on whose clocks months, days and hours are.
    #[getter]
    fn time_zone(&self) -> &str {
        &self.request().time_zone
    }

    /// First day.
    #[getter]
    fn valid_from(&self) -> NaiveDate {
        self.request().valid_from
    }

    /// Day after the last for which the sources hold; ``None`` if they name none.
    #[getter]
    fn valid_to(&self) -> Option<NaiveDate> {
        self.request().valid_to
    }

    /// Value-added tax: ``added`` by a component, ``included`` in the prices, ``excluded``, or
    /// ``not_stated`` by the sources.
    #[getter]
    fn vat(&self) -> &'static str {
        self.request().vat.as_str()
    }

    /// Remarks, such as what the sources leave out; ``None`` without any.
    #[getter]
    fn notes(&self) -> Option<&str> {
        self.request().notes.as_deref()
    }

    /// Documents that state the numbers, with their addresses and dates.
    #[getter]
    fn sources(&self) -> Vec<TariffSource> {
        let source = |source: &slackwater_engine::bill::file::Source| TariffSource {
            document: source.document.clone(),
            url: source.url.clone(),
            read_in: source.read_in.clone(),
            stated_on: source.stated_on,
        };
        self.request().sources.iter().map(source).collect()
    }

    /// Components in the order of the lines of a bill.
    #[getter]
    fn components(&self) -> Vec<TariffComponent> {
        self.request().components.iter().map(describe).collect()
    }

    /// Categories of the components: of ``energy``, ``network``, ``tax`` and ``fee``. What is not
    /// among them is not in a bill.
    #[getter]
    fn categories(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for component in self.components() {
            if !found.contains(&component.category) {
                found.push(component.category);
            }
        }
        found
    }

    /// Devices whose energy has a price of its own, in the order of the components.
    #[getter]
    fn devices(&self) -> Vec<&str> {
        self.tariff.devices()
    }

    /// Write the tariff as the text of a JSON file, which `tariffs.read_tariff` reads.
    fn to_json(&self) -> Result<String, Refused> {
        serde_json::to_string(self.request()).map_err(|error| Refused::Input(error.to_string()))
    }

    /// Return all fields of the file as a dictionary; numbers that enter amounts are texts.
    fn to_dict<'py>(&self, py: Python<'py>) -> Result<record::Fields<'py>, Refused> {
        let dict = py.import("json")?.call_method1("loads", (self.to_json()?,))?;
        Ok(record::Fields(dict.cast_into().map_err(PyErr::from)?))
    }

    fn __hash__(&self) -> Result<u64, Refused> {
        let mut hasher = DefaultHasher::new();
        self.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __getnewargs__(&self) -> Result<(String,), Refused> {
        Ok((self.to_json()?,))
    }

    /// Tell name, dates, what is billed and the first source with its date, in one line.
    fn __repr__(&self) -> String {
        let request = self.request();
        let to = request.valid_to.map_or_else(String::new, |to| format!(" until {to}"));
        let source = request.sources.first();
        let stated = source.and_then(|source| source.stated_on);
        let stated = stated.map_or_else(String::new, |day| format!(", stated on {day}"));
        format!(
            "BillingTariff({:?}, {} from {}{to}, {} components: {}, source {}{stated})",
            request.name,
            request.currency,
            request.valid_from,
            request.components.len(),
            self.categories().join(", "),
            source.map_or("none", |source| &source.url),
        )
    }
}

/// See `slackwater.tariffs.list_tariffs`.
#[pyfunction]
#[pyo3(signature = (*, country = None))]
pub(crate) fn list_tariffs(country: Option<&str>) -> Result<TariffEntries, Refused> {
    let mut entries = Vec::new();
    for (id, text) in FILES {
        let tariff = BillingTariff::parse(text)?;
        let request = tariff.request();
        if country.is_some_and(|country| !country.eq_ignore_ascii_case(&request.country)) {
            continue;
        }
        entries.push(TariffEntry {
            id: (*id).to_owned(),
            name: request.name.clone(),
            operator: request.operator.clone(),
            country: request.country.clone(),
            currency: request.currency.clone(),
            valid_from: request.valid_from,
            valid_to: request.valid_to,
            categories: tariff.categories().join(", "),
            url: request.sources.first().map(|source| source.url.clone()).unwrap_or_default(),
            stated_on: request.sources.iter().filter_map(|source| source.stated_on).max(),
        });
    }
    Ok(entries.into_iter().collect())
}

/// See `slackwater.tariffs.load_tariff`.
#[pyfunction]
pub(crate) fn load_tariff(id: &str) -> Result<BillingTariff, Refused> {
    let text = find_file(id).ok_or_else(|| Refused::Input(unknown(id)))?;
    BillingTariff::parse(text)
}

/// Names that share a word with an unknown one, or else are spelled like it.
fn unknown(id: &str) -> String {
    let given = id.to_lowercase();
    let words: Vec<&str> = given.split([' ', '-', '_']).filter(|word| word.len() > 2).collect();
    let shared = |name: &str| {
        name.split('-').filter(|part| words.contains(part) && part.len() > 2).count() as f64
    };
    let mut near: Vec<(f64, &str)> = FILES
        .iter()
        .map(|&(name, _)| (shared(name) + strsim::jaro_winkler(&given, name), name))
        .filter(|(score, _)| *score >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let names: Vec<String> =
        near.iter().take(OFFERED_MAX).map(|(_, name)| format!("{name:?}")).collect();
    let offered = if names.is_empty() {
        String::new()
    } else {
        format!("; near it are {}", names.join(", "))
    };
    format!("there is no tariff {id:?}{offered}; tariffs.list_tariffs() has all of them")
}

/// Bill of a load, month by month; see `slackwater.Bill`.
#[pyclass(frozen, subclass, eq, get_all, module = "slackwater._engine")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bill {
    /// The tariff, with its sources.
    tariff: BillingTariff,
    /// Total of each month, in time order.
    months: MonthBills,
    /// All lines, month by month, each with its explanation.
    lines: BillLines,
    /// Sum of the months to the cent, in units of the currency: the float nearest to the decimal.
    total: f64,
    /// Periods ``(start, end)`` without readings, in UTC, in the months and in earlier ones whose
    /// powers count. No energy is billed for them, and no power is put in their place.
    missing: Vec<(DateTime<Utc>, DateTime<Utc>)>,
}

impl Bill {
    const FIELDS: &'static [&'static str] = &["tariff", "months", "lines", "total", "missing"];
}

#[pymethods]
impl Bill {
    #[new]
    #[pyo3(signature = (*, tariff, months, lines, total, missing))]
    fn from_fields(
        tariff: BillingTariff,
        months: MonthBills,
        lines: BillLines,
        total: f64,
        missing: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    ) -> Self {
        Self { tariff, months, lines, total, missing }
    }

    /// Currency of all amounts.
    #[getter]
    fn currency(&self) -> &str {
        self.tariff.currency()
    }

    /// Return the fields as a dictionary; records inside of it become dictionaries, too.
    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<record::Fields<'py>> {
        record::to_dict(slf.as_any(), Self::FIELDS)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<((), record::Fields<'py>)> {
        Ok(((), record::fields(slf.as_any(), Self::FIELDS)?))
    }

    /// Hand the lines to an Arrow library as a table.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> Result<Bound<'py, PyCapsule>, Refused> {
        self.lines.table()?.with_currency(self.currency())?.stream(py, requested_schema)
    }
}

/// Prices per kWh of a tariff as it is billed; see `slackwater.tariffs.tariff_prices`.
#[pyfunction]
#[pyo3(signature = (tariff, *, start, end, direction, device))]
pub(crate) fn energy_prices(
    tariff: BillingTariff,
    start: Instant,
    end: Instant,
    direction: &str,
    device: Option<&str>,
) -> Result<Prices, Refused> {
    let direction = match direction {
        "import" => Direction::Import,
        "export" => Direction::Export,
        other => {
            let text = format!("direction is {other:?}; it is \"import\" or \"export\"");
            return Err(Refused::Input(text));
        }
    };
    let curve = engine_prices::energy_prices(&tariff.tariff, direction, device, start.0, end.0)?;
    Ok(Prices::new(curve, tariff.currency().to_owned()))
}

/// Periods of a curve of mean powers, or of energies.
fn periods(curve: &PriceCurve, is_energy: bool) -> Result<Vec<EnergyPeriod>, Refused> {
    let period = |slot: slackwater_engine::Slot| {
        let (start, end, value) = (slot.start, slot.end, slot.price.as_per_kwh());
        let energy = if is_energy {
            Energy::from_kwh(value)?
        } else {
            Power::from_kw(value)?.over(end - start)
        };
        Ok(EnergyPeriod { start, end, energy })
    };
    curve.slots().map(period).collect()
}

/// Months that are asked for, or those of the load.
fn months_of(
    given: Option<Vec<String>>,
    load: &MeteredLoad,
    tariff: &BillingTariff,
) -> Result<Vec<Month>, Refused> {
    let Some(given) = given else { return Ok(load.months(tariff.tariff.time_zone())) };
    let mut months = Vec::with_capacity(given.len());
    for (index, text) in given.iter().enumerate() {
        months.push(Month::parse(text).named(&format!("months[{index}]"))?);
    }
    months.sort_unstable();
    months.dedup();
    Ok(months)
}

/// See `slackwater.bill`.
#[pyfunction]
#[pyo3(signature = (
    load, tariff, *, export, devices, is_energy, months, peaks, contracted_kw, contracted_kva, fuse_amps,
    allow_missing
))]
pub(crate) fn bill_load(
    py: Python<'_>,
    load: &Series,
    tariff: BillingTariff,
    export: Option<&Series>,
    devices: Vec<(String, Bound<'_, Series>)>,
    is_energy: bool,
    months: Option<Vec<String>>,
    peaks: Vec<(Instant, f64)>,
    contracted_kw: Option<f64>,
    contracted_kva: Option<f64>,
    fuse_amps: Option<f64>,
    allow_missing: bool,
) -> Result<Bill, Refused> {
    let net = periods(&load.curve, is_energy)?;
    let export = export.map(|export| periods(&export.curve, is_energy)).transpose()?;
    let mut drawn = Vec::with_capacity(devices.len());
    for (name, series) in devices {
        let energies = periods(&series.get().curve, is_energy)?;
        drawn.push((name, energies));
    }
    let mut earlier = Vec::with_capacity(peaks.len());
    for (index, (at, kw)) in peaks.into_iter().enumerate() {
        let power = Power::from_kw(kw).named(&format!("peaks[{index}]"))?;
        earlier.push(EarlierPeak { at: at.0, power });
    }
    let contract = Contract::from_numbers(contracted_kw, contracted_kva, fuse_amps)?;
    py.detach(|| {
        let mut load = MeteredLoad::from_periods(&net, export.as_deref())?.with_peaks(&earlier)?;
        for (name, energies) in &drawn {
            load = load.with_device(name, energies)?;
        }
        let months = months_of(months, &load, &tariff)?;
        if !allow_missing {
            months.iter().try_for_each(|&month| check_complete(&load, &tariff.tariff, month))?;
        }
        let billed = bill_months(&load, &tariff.tariff, &months, &contract)?;
        Ok(Bill::of_months(tariff, billed))
    })
}

impl Bill {
    fn of_months(tariff: BillingTariff, billed: Billed) -> Self {
        let zone = tariff.tariff.time_zone();
        let Billed { bills, total, missing } = billed;
        let missing = missing.iter().map(|gap| (gap.start, gap.end)).collect();
        let month_bill = |bill: &engine::Bill| {
            let (start, end) = bill.month.period(zone);
            MonthBill { month: bill.month.to_string(), start, end, total: number(bill.total) }
        };
        let months = bills.iter().map(month_bill).collect();
        let lines = bills.into_iter().flat_map(|bill| {
            let month = bill.month;
            bill.lines.into_iter().map(move |line| BillLine::new(month, line))
        });
        Self { tariff, months, lines: lines.collect(), total: number(total), missing }
    }
}

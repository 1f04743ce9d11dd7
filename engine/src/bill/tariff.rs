//! Tariffs as they are billed, checked.
use std::collections::BTreeSet;

use chrono_tz::Tz;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};

use crate::bill::condition::{Condition, check_reached, parse_quarter};
use crate::bill::demand::{DemandRule, parse_decimal, parse_positive};
use crate::bill::error::TariffFileError;
use crate::bill::file::{
    AllowanceRequest, AllowanceUse, AtThreshold, Category, ChargeRequest, ComponentRequest,
    ContractUnit, DailyHoursRequest, Direction, HalfRule, Per, RateReference, RateRequest,
    Rounding, TariffRequest, VatUse,
};
use crate::bill::holidays::Holidays;
use crate::prices::currency::Currency;

/// Largest number of components.
const COMPONENTS_MAX: usize = 64;

/// Rounding where a tariff states none: to the cent, a half away from zero.
const TO_THE_CENT: Rounding = Rounding { decimals: 2, half: HalfRule::AwayFromZero };

/// A tariff with components for energy, power, fixed fees and taxes.
///
/// Made from a [`TariffRequest`], also when it is deserialised. The built tariff has no gaps: in
/// each component one rate holds for each kWh, and for each power one step.
///
/// # Example: a fault is named with its field
///
/// ```
/// use slackwater_engine::bill::tariff::BillingTariff;
/// let file = r#"{
///     "name": "Night", "operator": "Example", "country": "NO", "currency": "NOK",
///     "time_zone": "Europe/Oslo", "valid_from": "2026-01-01", "vat": "excluded",
///     "sources": [{"document": "Price list", "url": "https://example.org"}],
///     "components": [{
///         "id": "network", "kind": "energy", "category": "network", "direction": "import",
///         "rates": [{"name": "all", "price_per_kwh": "0,10"}]
///     }]
/// }"#;
/// let error = serde_json::from_str::<BillingTariff>(file).unwrap_err().to_string();
/// let expected = "components[0].rates[0].price_per_kwh: \"0,10\" is not a decimal number";
/// assert!(error.starts_with(expected), "{error}");
/// let tariff: BillingTariff = serde_json::from_str(&file.replace("0,10", "0.10")).unwrap();
/// assert_eq!(tariff.request().name, "Night");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TariffRequest", into = "TariffRequest")]
pub struct BillingTariff {
    request: TariffRequest,
    currency: Currency,
    time_zone: Tz,
    holidays: Holidays,
    rounding: Rounding,
    components: Vec<Component>,
}

/// One component, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Component {
    pub(crate) id: String,
    pub(crate) category: Category,
    pub(crate) kind: ComponentKind,
}

/// Kinds of components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    Energy(EnergyComponent),
    Capacity { demand: DemandRule, charge: Charge },
    Contracted { unit: ContractUnit, charge: Charge },
    Fixed { amount: Decimal, per: Per },
    Percentage { percent: Decimal, of: Vec<usize> },
}

impl Component {
    /// Returns true if a calendar of the component depends on holidays.
    fn reads_holidays(&self) -> bool {
        match &self.kind {
            ComponentKind::Energy(energy) => {
                energy.rates.iter().any(|rate| rate.when.reads_holidays())
            }
            ComponentKind::Capacity { demand, .. } => demand.reads_holidays(),
            _ => false,
        }
    }
}

/// Prices per kWh of some energy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnergyComponent {
    pub(crate) direction: Direction,
    pub(crate) counted: CountedEnergy,
    pub(crate) rates: Vec<EnergyRate>,
    pub(crate) allowance: Option<Allowance>,
}

/// Energy that a component counts, of all that the meter measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CountedEnergy {
    All,
    Device(String),
    Without(Vec<String>),
}

impl CountedEnergy {
    /// Names of the devices of which the component has to know the energy.
    pub(crate) fn devices(&self) -> &[String] {
        match self {
            Self::All => &[],
            Self::Device(name) => std::slice::from_ref(name),
            Self::Without(names) => names,
        }
    }

    /// Returns true if energy of a device, or with `None` of no device, is counted.
    pub(crate) fn counts(&self, device: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Device(name) => device == Some(name),
            Self::Without(names) => {
                device.is_none_or(|device| names.iter().all(|name| name != device))
            }
        }
    }
}

/// A price per kWh, and when it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnergyRate {
    pub(crate) name: String,
    pub(crate) price: Decimal,
    pub(crate) when: Condition,
    pub(crate) daily_hours: Option<DailyHours>,
    /// Positions of a component above and of its rate.
    pub(crate) along_with: Option<(usize, usize)>,
}

impl EnergyRate {
    /// Returns true if the rate holds whatever the clocks and other energies are.
    fn is_always(&self) -> bool {
        self.when.is_always() && self.has_calendar_only()
    }

    /// Returns true if clocks alone decide whether the rate holds.
    pub(crate) fn has_calendar_only(&self) -> bool {
        self.daily_hours.is_none() && self.along_with.is_none()
    }
}

/// Hours of use of each day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DailyHours {
    pub(crate) hours: u32,
    /// Minute of the clocks at which a day begins.
    pub(crate) from: u16,
}

/// A limit of energy by month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) applies: AllowanceUse,
    pub(crate) per: Per,
    /// Energy in kWh, for January to December.
    pub(crate) by_month: [Decimal; 12],
}

/// A price of a power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) per: Per,
    pub(crate) pricing: Pricing,
}

/// A price per unit, or of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pricing {
    PerUnit(Decimal),
    /// Thresholds and prices in ascending order.
    Steps(Vec<(Decimal, Decimal)>, AtThreshold),
}

impl Pricing {
    /// Threshold and price of the step in which a quantity lies.
    pub(crate) fn step_of(
        steps: &[(Decimal, Decimal)],
        at: AtThreshold,
        quantity: Decimal,
    ) -> Option<(Decimal, Decimal)> {
        let reached = |&(from, _): &(Decimal, Decimal)| match at {
            AtThreshold::Upper => from <= quantity,
            AtThreshold::Lower => from < quantity,
        };
        // A quantity of zero is in the first step with either rule.
        steps.iter().copied().rfind(reached).or(steps.first().copied())
    }
}

impl BillingTariff {
    /// Checks a tariff.
    ///
    /// # Errors
    /// A field outside of its values, a number that is no decimal, a tariff without sources,
    /// components without prices, two components of one name: each names its field.
    pub fn new(request: TariffRequest) -> Result<Self, TariffFileError> {
        check_heading(&request)?;
        let rounding = request.rounding.unwrap_or(TO_THE_CENT);
        if rounding.decimals > 6 {
            return Err(wrong("rounding.decimals", &rounding.decimals, "0 to 6"));
        }
        let time_zone = request.time_zone.parse().map_err(|_| {
            wrong("time_zone", &format!("{:?}", request.time_zone), "an IANA name: Europe/Oslo")
        })?;
        let components = check_components(&request.components)?;
        let adds =
            |component: &Component| matches!(component.kind, ComponentKind::Percentage { .. });
        let holidays = request.holidays.as_deref().unwrap_or_default();
        if holidays.is_empty() && components.iter().any(Component::reads_holidays) {
            return Err(missing("holidays", "a calendar of the tariff reads them"));
        }
        if request.vat == VatUse::Added && !components.iter().any(adds) {
            return Err(missing("components", "vat is added, but by no component"));
        }
        Ok(Self {
            currency: Currency::parse(&request.currency)?,
            time_zone,
            holidays: Holidays::new(holidays)?,
            rounding,
            components,
            request,
        })
    }

    /// The tariff as its file has it.
    #[must_use]
    pub fn request(&self) -> &TariffRequest {
        &self.request
    }

    /// Currency of the amounts.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// Time zone of the clocks.
    #[must_use]
    pub fn time_zone(&self) -> Tz {
        self.time_zone
    }

    pub(crate) fn holidays(&self) -> &Holidays {
        &self.holidays
    }

    pub(crate) fn rounding(&self) -> Rounding {
        self.rounding
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.components
    }

    /// Energy components of the tariff.
    pub(crate) fn energies(&self) -> impl Iterator<Item = &EnergyComponent> {
        self.components.iter().filter_map(|component| match &component.kind {
            ComponentKind::Energy(energy) => Some(energy),
            _ => None,
        })
    }

    /// Returns true if a rate holds along with one of the component at a position.
    pub(crate) fn has_rates_along_with(&self, place: usize) -> bool {
        let mut rates = self.energies().flat_map(|energy| &energy.rates);
        rates.any(|rate| rate.along_with.is_some_and(|(other, _)| other == place))
    }

    /// Names of the devices whose energy has a price of its own, in the order of the components.
    #[must_use]
    pub fn devices(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for energy in self.energies() {
            for name in energy.counted.devices() {
                if !found.contains(&name.as_str()) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Factor of each component in the total, by the percentages that count it.
    pub(crate) fn tax_factors(&self) -> Vec<f64> {
        let mut factors = vec![1.0; self.components.len()];
        // From below, because a percentage counts those above it, among them other percentages.
        for (place, component) in self.components.iter().enumerate().rev() {
            if let ComponentKind::Percentage { percent, of } = &component.kind {
                let share = number(*percent) / 100.0 * factors[place];
                for &counted in of {
                    factors[counted] += share;
                }
            }
        }
        factors
    }
}

/// The float nearest to a decimal.
pub(crate) fn number(decimal: Decimal) -> f64 {
    decimal.to_f64().unwrap_or(f64::NAN)
}

impl TryFrom<TariffRequest> for BillingTariff {
    type Error = TariffFileError;
    fn try_from(request: TariffRequest) -> Result<Self, TariffFileError> {
        Self::new(request)
    }
}

impl From<BillingTariff> for TariffRequest {
    fn from(tariff: BillingTariff) -> Self {
        tariff.request
    }
}

fn wrong(
    field: impl Into<String>,
    value: &impl ToString,
    expected: &'static str,
) -> TariffFileError {
    TariffFileError::Value { field: field.into(), value: value.to_string(), expected }
}

fn missing(field: impl Into<String>, reason: &'static str) -> TariffFileError {
    TariffFileError::Missing { field: field.into(), reason }
}

fn check_heading(request: &TariffRequest) -> Result<(), TariffFileError> {
    for (field, text) in [("name", &request.name), ("operator", &request.operator)] {
        if text.trim().is_empty() {
            return Err(missing(field, "the bill states it"));
        }
    }
    let code = &request.country;
    if code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(wrong("country", &format!("{code:?}"), "two capitals such as NO"));
    }
    if request.sources.is_empty() {
        return Err(missing("sources", "a tariff states where its numbers are from"));
    }
    for (index, source) in request.sources.iter().enumerate() {
        let has_address = ["https://", "http://"].iter().any(|start| source.url.starts_with(start));
        if source.document.trim().is_empty() || !has_address {
            let value = format!("{:?} at {:?}", source.document, source.url);
            let expected = "a document with an address that starts with https:// or http://";
            return Err(wrong(format!("sources[{index}]"), &value, expected));
        }
    }
    match request.valid_to {
        Some(end) if end <= request.valid_from => {
            Err(wrong("valid_to", &end, "a day after valid_from"))
        }
        _ => Ok(()),
    }
}

fn check_components(requests: &[ComponentRequest]) -> Result<Vec<Component>, TariffFileError> {
    if requests.is_empty() || requests.len() > COMPONENTS_MAX {
        let count = format!("a list of {}", requests.len());
        return Err(wrong("components", &count, "a list of 1 to 64"));
    }
    let mut components: Vec<Component> = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let field = format!("components[{index}]");
        let component = check_component(request, &field, &components)?;
        let is_new = components.iter().all(|other| other.id != component.id);
        if !is_new || component.id.trim().is_empty() {
            let value = format!("{:?}", component.id);
            return Err(wrong(format!("{field}.id"), &value, "a name that no other component has"));
        }
        components.push(component);
    }
    Ok(components)
}

fn check_component(
    request: &ComponentRequest,
    field: &str,
    above: &[Component],
) -> Result<Component, TariffFileError> {
    let (id, category, kind) = match request {
        ComponentRequest::Energy {
            id,
            category,
            direction,
            device,
            without_devices,
            rates,
            allowance,
        } => {
            let counted =
                check_devices(*direction, device.as_deref(), without_devices.as_deref(), field)?;
            let (rates, allowance) = check_energy(rates, allowance.as_ref(), field, above)?;
            let energy = EnergyComponent { direction: *direction, counted, rates, allowance };
            (id, category, ComponentKind::Energy(energy))
        }
        ComponentRequest::Capacity { id, category, demand, charge } => {
            let demand = DemandRule::new(demand, &format!("{field}.demand"))?;
            let charge = check_charge(charge, &format!("{field}.charge"))?;
            (id, category, ComponentKind::Capacity { demand, charge })
        }
        ComponentRequest::Contracted { id, category, unit, charge } => {
            let charge = check_charge(charge, &format!("{field}.charge"))?;
            (id, category, ComponentKind::Contracted { unit: *unit, charge })
        }
        ComponentRequest::Fixed { id, category, amount, per } => {
            let amount = parse_decimal(amount, &format!("{field}.amount"))?;
            (id, category, ComponentKind::Fixed { amount, per: *per })
        }
        ComponentRequest::Percentage { id, category, percent, of } => {
            let name = format!("{field}.percent");
            let percent = parse_positive(percent, &name)?;
            if percent > Decimal::ONE_HUNDRED {
                return Err(wrong(name, &percent, "0 to 100"));
            }
            let of = check_base(of.as_deref(), field, above)?;
            (id, category, ComponentKind::Percentage { percent, of })
        }
    };
    Ok(Component { id: id.clone(), category: *category, kind })
}

/// Positions of the components that a percentage counts.
fn check_base(
    of: Option<&[String]>,
    field: &str,
    above: &[Component],
) -> Result<Vec<usize>, TariffFileError> {
    let Some(names) = of else { return Ok((0..above.len()).collect()) };
    let place = |(index, name): (usize, &String)| {
        let refused = || {
            let field = format!("{field}.of[{index}]");
            wrong(field, &format!("{name:?}"), "the id of a component above")
        };
        above.iter().position(|component| component.id == *name).ok_or_else(refused)
    };
    let places = names.iter().enumerate().map(place).collect::<Result<BTreeSet<_>, _>>()?;
    Ok(places.into_iter().collect())
}

fn check_devices(
    direction: Direction,
    device: Option<&str>,
    without: Option<&[String]>,
    field: &str,
) -> Result<CountedEnergy, TariffFileError> {
    let counted = match (device, without) {
        (None, None) => return Ok(CountedEnergy::All),
        (Some(name), None) => CountedEnergy::Device(name.to_owned()),
        (None, Some([])) => {
            let expected = "a list of at least one, or absent";
            return Err(wrong(format!("{field}.without_devices"), &"an empty list", expected));
        }
        (None, Some(names)) => CountedEnergy::Without(names.to_vec()),
        (Some(name), Some(_)) => {
            let expected = "absent beside without_devices";
            return Err(wrong(format!("{field}.device"), &format!("{name:?}"), expected));
        }
    };
    if counted.devices().iter().any(|name| name.trim().is_empty()) {
        let field =
            format!("{field}.{}", if device.is_some() { "device" } else { "without_devices" });
        return Err(missing(field, "a device has a name"));
    }
    if direction == Direction::Export {
        let expected = "import, because devices are measured by what they draw";
        return Err(wrong(format!("{field}.direction"), &"export", expected));
    }
    Ok(counted)
}

/// Position of a rate of a component above.
fn find_rate(
    reference: &RateReference,
    field: &str,
    above: &[Component],
) -> Result<(usize, usize), TariffFileError> {
    let place = above.iter().position(|component| component.id == reference.component);
    let place = place.ok_or_else(|| {
        let value = format!("{:?}", reference.component);
        wrong(format!("{field}.component"), &value, "the id of a component above")
    })?;
    let rates: &[EnergyRate] = match &above[place].kind {
        ComponentKind::Energy(energy) => &energy.rates,
        _ => &[],
    };
    let rate = rates.iter().position(|rate| rate.name == reference.rate).ok_or_else(|| {
        wrong(format!("{field}.rate"), &format!("{:?}", reference.rate), "a rate of that component")
    })?;
    Ok((place, rate))
}

fn check_daily_hours(
    request: &DailyHoursRequest,
    field: &str,
) -> Result<DailyHours, TariffFileError> {
    if !(1..24).contains(&request.hours) {
        return Err(wrong(format!("{field}.hours"), &request.hours, "1 to 23"));
    }
    let from = parse_quarter(&request.from).ok_or_else(|| {
        let expected = "a time in whole quarter-hours, such as 12:00";
        wrong(format!("{field}.from"), &format!("{:?}", request.from), expected)
    })?;
    Ok(DailyHours { hours: request.hours, from })
}

fn check_energy(
    requests: &[RateRequest],
    allowance: Option<&AllowanceRequest>,
    field: &str,
    above: &[Component],
) -> Result<(Vec<EnergyRate>, Option<Allowance>), TariffFileError> {
    let mut rates: Vec<EnergyRate> = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let field = format!("{field}.rates[{index}]");
        let price = parse_decimal(&request.price_per_kwh, &format!("{field}.price_per_kwh"))?;
        let when = request.when.clone().unwrap_or_default();
        let when = Condition::new(&when, &format!("{field}.when"))?;
        if rates.iter().any(|rate| rate.name == request.name) {
            let value = format!("{:?}", request.name);
            return Err(wrong(format!("{field}.name"), &value, "a name that no other rate has"));
        }
        let hours = request.daily_hours.as_ref();
        let hours = hours.map(|hours| check_daily_hours(hours, &format!("{field}.daily_hours")));
        let other = request.along_with.as_ref();
        let other = other.map(|other| find_rate(other, &format!("{field}.along_with"), above));
        rates.push(EnergyRate {
            name: request.name.clone(),
            price,
            when,
            daily_hours: hours.transpose()?,
            along_with: other.transpose()?,
        });
    }
    check_reached(rates.iter().map(EnergyRate::is_always), &format!("{field}.rates"))?;
    if !rates.last().is_some_and(EnergyRate::is_always) {
        return Err(missing(format!("{field}.rates"), "the last rate is for all other times"));
    }
    let allowance = allowance.map(|allowance| {
        let field = format!("{field}.allowance");
        if rates.len() == 1 {
            check_allowance(allowance, &field)
        } else {
            Err(wrong(field, &"stated", "for a component with one rate"))
        }
    });
    Ok((rates, allowance.transpose()?))
}

fn check_allowance(request: &AllowanceRequest, field: &str) -> Result<Allowance, TariffFileError> {
    let mut by_month: [Option<Decimal>; 12] = [None; 12];
    for (index, amount) in request.amounts.iter().enumerate() {
        let field = format!("{field}.amounts[{index}]");
        let energy = parse_positive(&amount.kwh, &format!("{field}.kwh"))?;
        let all: Vec<u32> = (1..=12).collect();
        for &month in amount.months.as_ref().unwrap_or(&all) {
            let place = month.checked_sub(1).and_then(|place| by_month.get_mut(place as usize));
            let refused = || wrong(format!("{field}.months"), &month, "a month from 1 to 12");
            place.ok_or_else(refused)?.get_or_insert(energy);
        }
    }
    let known: Vec<Decimal> = by_month.into_iter().flatten().collect();
    let refused = |_| missing(format!("{field}.amounts"), "each month has an amount");
    let by_month = known.try_into().map_err(refused)?;
    Ok(Allowance { applies: request.applies, per: request.per, by_month })
}

fn check_charge(request: &ChargeRequest, field: &str) -> Result<Charge, TariffFileError> {
    let pricing = match (&request.price, &request.steps, request.at_threshold) {
        (Some(price), None, None) => {
            Pricing::PerUnit(parse_decimal(price, &format!("{field}.price"))?)
        }
        (None, Some(steps), Some(at)) => {
            let mut checked: Vec<(Decimal, Decimal)> = Vec::with_capacity(steps.len());
            for (index, step) in steps.iter().enumerate() {
                let field = format!("{field}.steps[{index}]");
                let from = parse_positive(&step.from, &format!("{field}.from"))?;
                let price = parse_decimal(&step.price, &format!("{field}.price"))?;
                let is_next = checked.last().map_or(from.is_zero(), |last| last.0 < from);
                if !is_next {
                    return Err(wrong(format!("{field}.from"), &from, "ascending, from 0"));
                }
                checked.push((from, price));
            }
            if checked.is_empty() {
                return Err(missing(format!("{field}.steps"), "a charge has a price"));
            }
            Pricing::Steps(checked, at)
        }
        _ => {
            let reason = "a charge has a price, or steps with at_threshold";
            return Err(missing(field, reason));
        }
    };
    Ok(Charge { per: request.per, pricing })
}

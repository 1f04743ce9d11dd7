//! The bill of a month, line by line.
use std::fmt::Write as _;

use chrono_tz::Tz;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::bill::demand::{Calendar, MeasuredPower};
use crate::bill::energy_use::{EnergyByRate, EnergyUse, first_counted};
use crate::bill::error::{BillError, MissingReadings, list_devices};
use crate::bill::file::{AllowanceUse, Category, ContractUnit, HalfRule, Per};
use crate::bill::load::{MINUTE, MeteredLoad};
use crate::bill::month::Month;
use crate::bill::tariff::{
    Allowance, BillingTariff, Charge, Component, ComponentKind, CountedEnergy, DailyHours,
    EnergyComponent, EnergyRate, Pricing,
};
use crate::prices::currency::Currency;
use crate::time::civil::local_of;
use crate::time::instant::instant_at;

/// Decimals of the total: cents.
const TOTAL_DECIMALS: u32 = 2;

/// Decimals of an energy in kWh: milliwatt-hours.
const ENERGY_DECIMALS: u32 = 6;

/// Largest number of windows that an explanation lists.
const LISTED_MAX: usize = 5;

/// Largest power or current of a contract: more than any connection has.
const CONTRACT_MAX: f64 = 1e9;

/// Facts of a connection that no meter records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contract {
    /// Contracted active power in kW.
    pub power_kw: Option<Decimal>,
    /// Contracted apparent power in kVA.
    pub apparent_power_kva: Option<Decimal>,
    /// Rated current of the main fuse in A.
    pub fuse_amps: Option<Decimal>,
}

impl Contract {
    /// Contract of numbers, each the shortest decimal that reads as it.
    ///
    /// # Errors
    /// A number that is no power or current: negative, NaN, infinite or above 1e9.
    pub fn from_numbers(
        power_kw: Option<f64>,
        apparent_power_kva: Option<f64>,
        fuse_amps: Option<f64>,
    ) -> Result<Self, BillError> {
        let read = |value: Option<f64>, unit: ContractUnit| {
            let decimal = |value: f64| {
                let is_within = (0.0..=CONTRACT_MAX).contains(&value);
                let decimal = Decimal::try_from(value).ok().filter(|_| is_within);
                decimal.ok_or(BillError::ContractNumber {
                    field: unit.field(),
                    unit: unit.symbol(),
                    value,
                })
            };
            value.map(decimal).transpose()
        };
        Ok(Self {
            power_kw: read(power_kw, ContractUnit::Kilowatt)?,
            apparent_power_kva: read(apparent_power_kva, ContractUnit::Kilovoltampere)?,
            fuse_amps: read(fuse_amps, ContractUnit::Ampere)?,
        })
    }
}

/// Part of a price that falls in the month: `part / whole`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Numerator.
    pub part: u32,
    /// Denominator.
    pub whole: u32,
}

/// One line of a bill. The amount is `quantity · rate · share`, rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLine {
    /// Component of the tariff.
    pub component: String,
    /// Recipient of the amount.
    pub category: Category,
    /// Quantity, in `unit`.
    pub quantity: Decimal,
    /// Unit of the quantity: `kWh`, `kW`, `kVA`, `A`, `step`, `fee`, or the currency of a base.
    pub unit: &'static str,
    /// Price of a unit; percent of a base.
    pub rate: Decimal,
    /// Part of the price that falls in the month; a hundredth for percent.
    pub share: Share,
    /// Amount; negative if it is paid to the customer.
    pub amount: Decimal,
    /// Origin of the quantity and of the rate, in a sentence.
    pub explanation: String,
}

/// Bill of one month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// Name of the tariff.
    pub tariff: String,
    /// The month.
    pub month: Month,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Lines in the order of the components.
    pub lines: Vec<BillLine>,
    /// Sum of the lines, to the cent.
    pub total: Decimal,
    /// Stretches without readings, in the month and in the earlier months whose powers count. No
    /// energy is billed for them.
    pub missing: Vec<MissingReadings>,
}

/// Quantity, rate and reason of a line, before it is priced.
struct Draft {
    quantity: Decimal,
    unit: &'static str,
    rate: Decimal,
    share: Share,
    explanation: String,
}

/// All that a line depends on besides its component.
#[derive(Clone, Copy)]
struct Billing<'a> {
    load: &'a MeteredLoad,
    tariff: &'a BillingTariff,
    month: Month,
    contract: &'a Contract,
}

/// Bills a month of a load.
///
/// Energy components have a line for each rate that held in the month; every other component has
/// one. `contract` is needed for components that are priced by a contracted power or fuse, and for
/// no others. A load without readings is billed as well: its fixed fees and floors are due, and
/// [`Bill::missing`] names the whole month.
///
/// # Errors
/// A month outside of the tariff's validity, readings that are too coarse for the month, a rate or
/// a capacity rule, a contract without a number that is needed, and amounts beyond 28 digits.
///
/// # Example
///
/// One kWh in each hour of January at 0.10 by day and 0.05 by night, and 20 a month.
///
/// ```
/// use chrono::TimeDelta;
/// use slackwater_engine::bill::invoice::{Contract, bill_month};
/// use slackwater_engine::bill::load::{MeteredLoad, Reading};
/// use slackwater_engine::bill::month::Month;
/// use slackwater_engine::bill::tariff::BillingTariff;
/// use slackwater_engine::units::kwh;
/// let tariff: BillingTariff = serde_json::from_str(r#"{
///     "name": "Day and night", "operator": "Example", "country": "NO", "currency": "NOK",
///     "time_zone": "Europe/Oslo", "valid_from": "2026-01-01", "vat": "excluded",
///     "sources": [{"document": "Price list", "url": "https://example.org"}],
///     "components": [{
///         "id": "network", "kind": "energy", "category": "network", "direction": "import",
///         "rates": [
///             {"name": "day", "price_per_kwh": "0.10", "when": {"times": ["06:00-22:00"]}},
///             {"name": "night", "price_per_kwh": "0.05"}
///         ]
///     }, {"id": "meter", "kind": "fixed", "category": "fee", "amount": "20", "per": "month"}]
/// }"#).unwrap();
/// let start: chrono::DateTime<chrono::Utc> = "2025-12-31T23:00:00Z".parse().unwrap();
/// let reading = |hour| Reading {
///     start: start + TimeDelta::hours(hour),
///     import: kwh(1.0),
///     export: kwh(0.0),
/// };
/// let load = MeteredLoad::new(60, &(0..744).map(reading).collect::<Vec<_>>())?;
/// let bill = bill_month(&load, &tariff, Month::parse("2026-01")?, &Contract::default())?;
/// // 31 days of 16 and of 8 hours: 49.60 + 12.40 + 20.
/// assert_eq!(bill.total.to_string(), "82.00");
/// assert_eq!(bill.lines[0].explanation, "496 kWh at the rate \"day\".");
/// assert!(bill.missing.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bill_month(
    load: &MeteredLoad,
    tariff: &BillingTariff,
    month: Month,
    contract: &Contract,
) -> Result<Bill, BillError> {
    check_validity(tariff, month)?;
    check_devices(load, tariff)?;
    let billing = Billing { load, tariff, month, contract };
    billing.check_periods()?;
    let mut lines = Vec::new();
    // Sum of the lines of each component, for percentages further down, and its energy, for rates
    // that hold along with others.
    let mut sums: Vec<Decimal> = Vec::new();
    let mut energies: Vec<EnergyByRate> = Vec::new();
    for component in tariff.components() {
        let energy = billing.sum_energy(component, &energies)?;
        let drafts = billing.draft(component, &sums, &energy)?;
        energies.push(energy);
        let mut sum = Decimal::ZERO;
        for draft in drafts {
            let line = billing.price(component, draft)?;
            sum = added(component, sum, line.amount)?;
            lines.push(line);
        }
        sums.push(sum);
    }
    let mut total = Decimal::ZERO;
    for (component, sum) in tariff.components().iter().zip(&sums) {
        total = added(component, total, *sum)?;
    }
    let mut total = rounded(total, TOTAL_DECIMALS, tariff.rounding().half);
    total.rescale(TOTAL_DECIMALS);
    Ok(Bill {
        tariff: tariff.request().name.clone(),
        month,
        currency: tariff.currency(),
        lines,
        total,
        missing: billing.missing(),
    })
}

/// Refuses devices that only the load or only the tariff has.
fn check_devices(load: &MeteredLoad, tariff: &BillingTariff) -> Result<(), BillError> {
    let known = tariff.devices();
    let measured: Vec<&str> = load.devices().collect();
    if let Some(&device) = known.iter().find(|name| !measured.contains(name)) {
        return Err(BillError::NoDevice { device: device.to_owned() });
    }
    if let Some(&device) = measured.iter().find(|name| !known.contains(name)) {
        let known = known.iter().map(|&name| name.to_owned()).collect();
        return Err(BillError::UnknownDevice { device: device.to_owned(), known });
    }
    Ok(())
}

/// Refuses a month of which readings are missing, or that lies outside of the tariff's validity.
///
/// # Errors
/// The readings that are missing, or the dates of the tariff.
pub fn check_complete(
    load: &MeteredLoad,
    tariff: &BillingTariff,
    month: Month,
) -> Result<(), BillError> {
    check_validity(tariff, month)?;
    let (from, to) = month.span(tariff.time_zone());
    let missing = load.missing(from, to);
    if missing.is_empty() { Ok(()) } else { Err(BillError::Incomplete { month, missing }) }
}

/// Bills of several months of one load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billed {
    /// Bills in the order of the months.
    pub bills: Vec<Bill>,
    /// Sum of their totals.
    pub total: Decimal,
    /// Stretches without readings, in the months and in earlier ones whose powers count.
    pub missing: Vec<MissingReadings>,
}

/// Bills several months of a load, each as [`bill_month`] does.
///
/// # Errors
/// As [`bill_month`], and a sum beyond 28 digits.
pub fn bill_months(
    load: &MeteredLoad,
    tariff: &BillingTariff,
    months: &[Month],
    contract: &Contract,
) -> Result<Billed, BillError> {
    let mut bills = Vec::with_capacity(months.len());
    let mut total = Decimal::ZERO;
    for &month in months {
        let bill = bill_month(load, tariff, month, contract)?;
        let sum = total.checked_add(bill.total);
        total = sum.ok_or_else(|| BillError::TooLarge { component: "total".into() })?;
        bills.push(bill);
    }
    let mut gaps: Vec<MissingReadings> =
        bills.iter().flat_map(|bill| bill.missing.iter().copied()).collect();
    gaps.sort_unstable_by_key(|gap| (gap.start, gap.end));
    let mut missing: Vec<MissingReadings> = Vec::new();
    for gap in gaps {
        match missing.last_mut() {
            // Bills share the earlier months whose powers count.
            Some(last) if gap.start <= last.end => last.end = last.end.max(gap.end),
            _ => missing.push(gap),
        }
    }
    Ok(Billed { bills, total, missing })
}

fn check_validity(tariff: &BillingTariff, month: Month) -> Result<(), BillError> {
    let (from, to) = (tariff.request().valid_from, tariff.request().valid_to);
    let is_within = from <= month.first_day() && to.is_none_or(|to| month.next().first_day() <= to);
    if is_within {
        return Ok(());
    }
    let validity = match to {
        Some(to) => format!("which begins on {from} and ends before {to}"),
        None => format!("which begins on {from}"),
    };
    Err(BillError::NotValid { month, validity })
}

fn rounded(amount: Decimal, decimals: u32, half: HalfRule) -> Decimal {
    let strategy = match half {
        HalfRule::AwayFromZero => RoundingStrategy::MidpointAwayFromZero,
        HalfRule::ToEven => RoundingStrategy::MidpointNearestEven,
    };
    amount.round_dp_with_strategy(decimals, strategy)
}

fn added(component: &Component, a: Decimal, b: Decimal) -> Result<Decimal, BillError> {
    a.checked_add(b).ok_or_else(|| BillError::TooLarge { component: component.id.clone() })
}

/// Part of a price that falls in a month.
pub(crate) fn share_of(per: Per, month: Month) -> Share {
    match per {
        Per::Day => Share { part: month.days(), whole: 1 },
        Per::Month => Share { part: 1, whole: 1 },
        Per::YearByMonths => Share { part: 1, whole: 12 },
        Per::YearByDays => Share { part: month.days(), whole: month.days_of_year() },
    }
}

impl Share {
    /// A number times the share; nothing if it has more than 28 digits.
    fn of(self, number: Decimal) -> Option<Decimal> {
        number.checked_mul(Decimal::from(self.part))?.checked_div(Decimal::from(self.whole))
    }

    /// The share in words.
    fn describe(self) -> String {
        match (self.part, self.whole) {
            (1, 1) => String::new(),
            (part, 1) => format!(", for {part} days"),
            (part, whole) => format!(", {part}/{whole} of the price of a year"),
        }
    }
}

impl ContractUnit {
    /// Symbol of the unit.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Kilowatt => "kW",
            Self::Kilovoltampere => "kVA",
            Self::Ampere => "A",
        }
    }

    /// Name of the number of a contract in this unit.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Kilowatt => "contracted_kw",
            Self::Kilovoltampere => "contracted_kva",
            Self::Ampere => "fuse_amps",
        }
    }
}

impl Billing<'_> {
    fn calendar(&self) -> Calendar<'_> {
        Calendar { time_zone: self.tariff.time_zone(), holidays: self.tariff.holidays() }
    }

    /// Earlier months whose powers count.
    fn months_before(&self) -> u32 {
        let before = |component: &Component| match &component.kind {
            ComponentKind::Capacity { demand, .. } => demand.months_before(),
            _ => 0,
        };
        self.tariff.components().iter().map(before).max().unwrap_or(0)
    }

    /// Refuses a load of which a period lies in two months. Clocks that are ahead of UTC by half
    /// an hour begin a month within an hour.
    fn check_periods(&self) -> Result<(), BillError> {
        let period_minutes = self.load.period_minutes();
        let length = i64::from(period_minutes) * MINUTE;
        for back in 0..=self.months_before() {
            let month = self.month.back(back);
            let (from, to) = month.span(self.tariff.time_zone());
            if from.rem_euclid(length) != 0 || to.rem_euclid(length) != 0 {
                return Err(BillError::MonthWithin { month, period_minutes });
            }
        }
        Ok(())
    }

    /// Rounds quantity times rate times share to a line.
    fn price(&self, component: &Component, draft: Draft) -> Result<BillLine, BillError> {
        let rounding = self.tariff.rounding();
        let product = draft.quantity.checked_mul(draft.rate);
        let amount = product
            .and_then(|product| draft.share.of(product))
            .ok_or_else(|| BillError::TooLarge { component: component.id.clone() })?;
        let mut amount = rounded(amount, rounding.decimals, rounding.half);
        amount.rescale(rounding.decimals);
        Ok(BillLine {
            component: component.id.clone(),
            category: component.category,
            quantity: draft.quantity.normalize(),
            unit: draft.unit,
            rate: draft.rate,
            share: draft.share,
            amount,
            explanation: draft.explanation,
        })
    }

    /// Energy of a component by its rates; of one that has no price per kWh there is none.
    fn sum_energy(
        &self,
        component: &Component,
        above: &[EnergyByRate],
    ) -> Result<EnergyByRate, BillError> {
        let ComponentKind::Energy(energy) = &component.kind else {
            return Ok(EnergyByRate::default());
        };
        let span = self.month.span(self.tariff.time_zone());
        let counted_from = first_counted(self.tariff, span.0);
        let keeps_rates = self.tariff.has_rates_along_with(above.len());
        EnergyUse { load: self.load, calendar: self.calendar(), counted_from, span, keeps_rates }
            .sum_by_rate(&component.id, energy, above)
    }

    fn draft(
        &self,
        component: &Component,
        sums: &[Decimal],
        energy: &EnergyByRate,
    ) -> Result<Vec<Draft>, BillError> {
        match &component.kind {
            ComponentKind::Energy(prices) => self.draft_energy(component, prices, &energy.sums),
            ComponentKind::Capacity { demand, charge } => {
                let window_minutes = demand.window.minutes();
                let period_minutes = self.load.period_minutes();
                if window_minutes % period_minutes != 0 {
                    let component = component.id.clone();
                    return Err(BillError::TooCoarse { component, window_minutes, period_minutes });
                }
                let measured = demand.measure(self.load, self.calendar(), self.month);
                let described = demand.describe(measured.months);
                let mut origin = format!("{} kW: {described}", measured.power.normalize());
                describe_windows(&mut origin, &measured, self.tariff.time_zone());
                Ok(vec![self.draft_charge(charge, measured.power, "kW", &origin)])
            }
            ComponentKind::Contracted { unit, charge } => {
                let quantity = self.contracted(component, *unit)?;
                let origin = format!("{quantity} {} by contract", unit.symbol());
                Ok(vec![self.draft_charge(charge, quantity, unit.symbol(), &origin)])
            }
            ComponentKind::Fixed { amount, per } => {
                let share = share_of(*per, self.month);
                let explanation = format!("Fixed{}.", share.describe());
                let quantity = Decimal::ONE;
                Ok(vec![Draft { quantity, unit: "fee", rate: *amount, share, explanation }])
            }
            ComponentKind::Percentage { percent, of } => {
                let mut base = Decimal::ZERO;
                for &place in of {
                    base = added(component, base, sums[place])?;
                }
                let names: Vec<&str> =
                    of.iter().map(|&place| &*self.tariff.components()[place].id).collect();
                let explanation = format!("{percent} % of {}.", names.join(", "));
                let unit = self.tariff.currency().code();
                let share = Share { part: 1, whole: 100 };
                Ok(vec![Draft { quantity: base, unit, rate: *percent, share, explanation }])
            }
        }
    }

    fn contracted(&self, component: &Component, unit: ContractUnit) -> Result<Decimal, BillError> {
        let stated = match unit {
            ContractUnit::Kilowatt => self.contract.power_kw,
            ContractUnit::Kilovoltampere => self.contract.apparent_power_kva,
            ContractUnit::Ampere => self.contract.fuse_amps,
        };
        let (field, unit) = (unit.field(), unit.symbol());
        let missing = || BillError::NoContract { component: component.id.clone(), field, unit };
        let value = stated.ok_or_else(missing)?;
        if value < Decimal::ZERO {
            Err(BillError::Contract { field, unit, value })
        } else {
            Ok(value)
        }
    }

    fn draft_charge(
        &self,
        charge: &Charge,
        quantity: Decimal,
        unit: &'static str,
        origin: &str,
    ) -> Draft {
        let share = share_of(charge.per, self.month);
        let during = share.describe();
        match &charge.pricing {
            Pricing::PerUnit(rate) => {
                let explanation = format!("{origin}{during}.");
                Draft { quantity, unit, rate: *rate, share, explanation }
            }
            Pricing::Steps(steps, at) => {
                let (from, rate) = Pricing::step_of(steps, *at, quantity).unwrap_or_default();
                let explanation = format!("{origin}; the step from {from} {unit}{during}.");
                Draft { quantity: Decimal::ONE, unit: "step", rate, share, explanation }
            }
        }
    }

    /// Drafts of an energy component, one for each rate that held.
    fn draft_energy(
        &self,
        component: &Component,
        prices: &EnergyComponent,
        sums: &[Option<i128>],
    ) -> Result<Vec<Draft>, BillError> {
        let whole = Share { part: 1, whole: 1 };
        let mut drafts = Vec::new();
        for (rate, sum) in prices.rates.iter().zip(sums) {
            let Some(milliwatt_hours) = *sum else { continue };
            let energy = Decimal::from_i128_with_scale(milliwatt_hours, ENERGY_DECIMALS);
            let (quantity, explanation) = match &prices.allowance {
                None => (energy, self.explain_energy(energy, prices, rate)),
                Some(allowance) => self.within_allowance(component, allowance, energy)?,
            };
            drafts.push(Draft {
                quantity,
                unit: "kWh",
                rate: rate.price,
                share: whole,
                explanation,
            });
        }
        Ok(drafts)
    }

    /// Energy, devices and rate of a line in a sentence.
    fn explain_energy(
        &self,
        energy: Decimal,
        prices: &EnergyComponent,
        rate: &EnergyRate,
    ) -> String {
        let counted = match &prices.counted {
            CountedEnergy::All => String::new(),
            CountedEnergy::Device(name) => format!(" of {name:?}"),
            CountedEnergy::Without(names) => format!(" without {}", list_devices(names)),
        };
        let mut text = format!("{} kWh{counted} at the rate {:?}", energy.normalize(), rate.name);
        // Writing to a string cannot fail.
        if let Some(DailyHours { hours, from }) = rate.daily_hours {
            let (hour, minute) = (from / 60, from % 60);
            let _ =
                write!(text, ", for up to {hours} hours of use a day from {hour:02}:{minute:02}");
        }
        if let Some((place, other)) = rate.along_with {
            let component = &self.tariff.components()[place];
            if let ComponentKind::Energy(energy) = &component.kind {
                let _ = write!(
                    text,
                    ", along with {:?} of {:?}",
                    energy.rates[other].name, component.id
                );
            }
        }
        text.push('.');
        text
    }

    /// Part of an energy on the side of an allowance that counts.
    fn within_allowance(
        &self,
        component: &Component,
        allowance: &Allowance,
        energy: Decimal,
    ) -> Result<(Decimal, String), BillError> {
        let amount = allowance.by_month[self.month.number() as usize - 1];
        let share = share_of(allowance.per, self.month);
        let limit = share
            .of(amount)
            .ok_or_else(|| BillError::TooLarge { component: component.id.clone() })?
            .round_dp(ENERGY_DECIMALS);
        let (counted, side) = match allowance.applies {
            AllowanceUse::Within => (energy.min(limit), "within"),
            AllowanceUse::Beyond => ((energy - limit).max(Decimal::ZERO), "beyond"),
        };
        let text = format!(
            "{} of {} kWh, {side} the allowance of {} kWh.",
            counted.normalize(),
            energy.normalize(),
            limit.normalize()
        );
        Ok((counted, text))
    }

    /// Gaps in the month, in the earlier months whose powers count, and in the day before whose
    /// hours of use count.
    fn missing(&self) -> Vec<MissingReadings> {
        let time_zone = self.tariff.time_zone();
        let (start, end) = self.month.span(time_zone);
        let powers_from = self.month.back(self.months_before()).span(time_zone).0;
        self.load.missing(powers_from.min(first_counted(self.tariff, start)), end)
    }
}

/// Adds the windows of a measured power to a sentence.
fn describe_windows(text: &mut String, measured: &MeasuredPower, time_zone: Tz) {
    if measured.months == 0 {
        *text += ", without a complete measurement";
    }
    let listed = measured.windows.iter().take(LISTED_MAX).enumerate();
    for (index, window) in listed {
        let start = local_of(instant_at(window.start), time_zone).format("%Y-%m-%d %H:%M");
        let opening = if index == 0 { " (" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{opening}{} kW at {start}", window.power.normalize());
    }
    if measured.windows.len() > LISTED_MAX {
        let _ = write!(text, " and {} more", measured.windows.len() - LISTED_MAX);
    }
    if !measured.windows.is_empty() {
        text.push(')');
    }
}

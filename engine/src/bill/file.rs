//! File format of tariffs, as serde reads it before it is checked.
//!
//! Numbers that enter an amount are decimals in quotation marks, in units of the currency. A
//! price is positive if the customer pays it and negative if it is paid to the customer.
//!
//! | Field | Type | Meaning |
//! |---|---|---|
//! | `name`, `operator`, `country` | text | names of the tariff and of the company, ISO 3166 code |
//! | `currency`, `time_zone` | text | ISO 4217 code, IANA name |
//! | `valid_from`, `valid_to` | date | first day, and the day after the last for which the sources hold (absent: open) |
//! | `vat` | word | `added` by a component, `included`, `excluded`, `not_stated` |
//! | `sources` | list | documents that state the numbers, at least one |
//! | `holidays` | list | see [`Holidays`](crate::bill::holidays::Holidays) |
//! | `rounding` | object | decimals of a line and the rule for a half (absent: 2, away from zero) |
//! | `components` | list | [`ComponentRequest`], in the order of the lines |
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::bill::condition::ConditionRequest;
use crate::words::words;

words! {
    /// Value-added tax in the prices of a tariff.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum VatUse {
        /// Prices are without, and a component adds it.
        Added = "added",
        /// Prices contain it.
        Included = "included",
        /// Prices are without, and no component adds it.
        Excluded = "excluded",
        /// The source does not say.
        NotStated = "not_stated",
    }
}

words! {
    /// Recipient of a component.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Category {
        /// The supplier, for energy.
        Energy = "energy",
        /// The operator of the network.
        Network = "network",
        /// The state, for taxes and levies.
        Tax = "tax",
        /// Anybody, for a service such as a subscription.
        Fee = "fee",
    }
}

words! {
    /// Direction of the energy that a component counts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Direction {
        /// Energy from the grid.
        Import = "import",
        /// Energy into the grid.
        Export = "export",
    }
}

words! {
    /// Time that a price covers, and how a month takes its part of it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Per {
        /// A day; a month has 28 to 31 of them.
        Day = "day",
        /// A month.
        Month = "month",
        /// A year, of which a month is a twelfth.
        YearByMonths = "year_by_months",
        /// A year, of which a month is its days over the days of the year.
        YearByDays = "year_by_days",
    }
}

words! {
    /// Windows over which power is averaged.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum DemandWindow {
        /// 15 minutes.
        QuarterHour = "quarter_hour",
        /// 30 minutes.
        HalfHour = "half_hour",
        /// 60 minutes.
        Hour = "hour",
    }
}

words! {
    /// Calendar period of which at most one window is taken.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum OnePer {
        /// A day.
        Day = "day",
        /// A week from Monday on, as ISO 8601 counts them.
        Week = "week",
    }
}

words! {
    /// Function of the months that makes one power of several.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum OfMonths {
        /// Mean of the powers of the months.
        Mean = "mean",
        /// Highest power of a month.
        Highest = "highest",
        /// Windows of all months ranked as one list.
        Together = "together",
    }
}

words! {
    /// Step of a quantity that lies exactly on a threshold.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum AtThreshold {
        /// The step that begins there: 5 kW is in `5 to 10 kW`.
        Upper = "upper",
        /// The step that ends there: 5 kW is in `2 to 5 kW`.
        Lower = "lower",
    }
}

words! {
    /// Unit of what a contract states about a connection.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ContractUnit {
        /// Active power.
        Kilowatt = "kw",
        /// Apparent power.
        Kilovoltampere = "kva",
        /// Rated current of the main fuse.
        Ampere = "ampere",
    }
}

words! {
    /// Energy that an allowance leaves to a component.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum AllowanceUse {
        /// Energy up to the allowance.
        Within = "within",
        /// Energy beyond the allowance.
        Beyond = "beyond",
    }
}

words! {
    /// Rule for an amount half way between two that can be paid.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum HalfRule {
        /// 0.125 becomes 0.13, and -0.125 becomes -0.13.
        AwayFromZero = "away_from_zero",
        /// 0.125 becomes 0.12, and 0.135 becomes 0.14.
        ToEven = "to_even",
    }
}

/// Document that states the numbers of a tariff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title of the document, or the page.
    pub document: String,
    /// Address of the document.
    pub url: String,
    /// Collection in which the document was read, if it was not the document itself.
    pub read_in: Option<String>,
    /// Day on which the collection or the page states the numbers.
    pub stated_on: Option<NaiveDate>,
}

/// Rounding of the lines of a bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounding {
    /// Decimals of a line, from 0 to 6.
    pub decimals: u32,
    /// Rule for a half.
    pub half: HalfRule,
}

/// Hours of use that a rate has on each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DailyHoursRequest {
    /// Number of hours, from 1 to 23.
    pub hours: u32,
    /// Time at which a day begins, such as `12:00`, in whole quarter-hours.
    pub from: String,
}

/// A rate of a component above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateReference {
    /// Name of the component.
    pub component: String,
    /// Name of its rate.
    pub rate: String,
}

/// A price per kWh, and when it holds. The first rate that holds counts, the last always does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRequest {
    /// Name on the bill.
    pub name: String,
    /// Price of a kWh, a decimal.
    pub price_per_kwh: String,
    /// Calendar of the rate; absent: always.
    pub when: Option<ConditionRequest>,
    /// Hours of each day for which the rate holds, counted by the periods in which the component
    /// has energy at this rate; absent: all.
    pub daily_hours: Option<DailyHoursRequest>,
    /// Rate of a component above without whose energy, in the same period, this one does not hold.
    pub along_with: Option<RateReference>,
}

/// An amount of energy, in some months.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowanceAmount {
    /// Energy, a decimal in kWh.
    pub kwh: String,
    /// Months from 1 to 12; absent: all. The first amount that holds counts.
    pub months: Option<Vec<u32>>,
}

/// Energy up to which, or from which, a component counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowanceRequest {
    /// Side of the allowance that the component counts.
    pub applies: AllowanceUse,
    /// Time that the amounts cover.
    pub per: Per,
    /// Amounts; the last is for all months.
    pub amounts: Vec<AllowanceAmount>,
}

/// A threshold and the price from it on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// Lowest quantity of the step, a decimal in kW, kVA or A.
    pub from: String,
    /// Price of the whole step, a decimal.
    pub price: String,
}

/// Price of a power: per unit, or of the step in which it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    /// Time that the price covers.
    pub per: Per,
    /// Price of a unit, a decimal.
    pub price: Option<String>,
    /// Steps in ascending order, the first from 0.
    pub steps: Option<Vec<StepRequest>>,
    /// Step of a quantity on a threshold; for steps.
    pub at_threshold: Option<AtThreshold>,
}

/// A weight of windows, and its calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightRequest {
    /// Factor of the mean power, a decimal; 0 leaves the windows out.
    pub factor: String,
    /// Calendar of the weight; absent: always. The first weight that holds counts.
    pub when: Option<ConditionRequest>,
}

/// Rule by which a power is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandRequest {
    /// Windows of the power.
    pub window: DemandWindow,
    /// Number of windows whose mean is taken.
    pub highest: u32,
    /// Number of windows above them that are left out; absent: 0.
    pub skip: Option<u32>,
    /// Calendar period of which at most one window is taken.
    pub one_per: Option<OnePer>,
    /// Weights of windows; absent: 1.
    pub weights: Option<Vec<WeightRequest>>,
    /// Number of months; absent: the billed one.
    pub months: Option<u32>,
    /// Function of the months; for more than one.
    pub of_months: Option<OfMonths>,
    /// Months by which the last of them lies before the billed one; absent: 0.
    pub lag_months: Option<u32>,
    /// Least power of each month, a decimal in kW.
    pub month_floor_kw: Option<String>,
    /// Least power of the result, a decimal in kW.
    pub floor_kw: Option<String>,
}

/// One component of a tariff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
pub enum ComponentRequest {
    /// A price per kWh with a calendar.
    #[serde(rename = "energy")]
    Energy {
        /// Name, once in the tariff.
        id: String,
        /// Recipient of the amount.
        category: Category,
        /// Energy that is counted.
        direction: Direction,
        /// Device whose energy alone is counted; absent: all that the meter measures.
        device: Option<String>,
        /// Devices whose energy is not counted.
        without_devices: Option<Vec<String>>,
        /// Rates in the order in which they are asked.
        rates: Vec<RateRequest>,
        /// Limit of the energy; for a component with one rate.
        allowance: Option<AllowanceRequest>,
    },
    /// A price of the measured power.
    #[serde(rename = "capacity")]
    Capacity {
        /// Name, once in the tariff.
        id: String,
        /// Recipient of the amount.
        category: Category,
        /// Rule by which the power is measured.
        demand: DemandRequest,
        /// Price of the power in kW.
        charge: ChargeRequest,
    },
    /// A price of the power, or the fuse, that the contract states.
    #[serde(rename = "contracted")]
    Contracted {
        /// Name, once in the tariff.
        id: String,
        /// Recipient of the amount.
        category: Category,
        /// Unit of the contract.
        unit: ContractUnit,
        /// Price of the contracted quantity.
        charge: ChargeRequest,
    },
    /// A price that depends on nothing.
    #[serde(rename = "fixed")]
    Fixed {
        /// Name, once in the tariff.
        id: String,
        /// Recipient of the amount.
        category: Category,
        /// Price, a decimal.
        amount: String,
        /// Time that the price covers.
        per: Per,
    },
    /// Percent of lines above, such as value-added tax.
    #[serde(rename = "percentage")]
    Percentage {
        /// Name, once in the tariff.
        id: String,
        /// Recipient of the amount.
        category: Category,
        /// Percent, a decimal from 0 to 100.
        percent: String,
        /// Components above that count; absent: all above.
        of: Option<Vec<String>>,
    },
}

/// A tariff as a file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TariffRequest {
    /// Name of the tariff.
    pub name: String,
    /// Company that has the tariff.
    pub operator: String,
    /// Country by its ISO 3166 code, such as `NO`.
    pub country: String,
    /// Currency by its ISO 4217 code.
    pub currency: String,
    /// Time zone by its IANA name.
    pub time_zone: String,
    /// First day.
    pub valid_from: NaiveDate,
    /// Day after the last for which the sources hold; absent: open.
    pub valid_to: Option<NaiveDate>,
    /// Value-added tax in the prices.
    pub vat: VatUse,
    /// Documents that state the numbers.
    pub sources: Vec<Source>,
    /// Remarks for the reader of the file.
    pub notes: Option<String>,
    /// Public holidays.
    pub holidays: Option<Vec<String>>,
    /// Rounding of the lines.
    pub rounding: Option<Rounding>,
    /// Components, in the order of the lines.
    pub components: Vec<ComponentRequest>,
}

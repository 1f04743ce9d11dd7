//! Powers as capacity rules measure them; [`bill`](crate::bill) has the formulas.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;
use rust_decimal::Decimal;

use crate::bill::condition::{Clock, Condition, check_reached};
use crate::bill::error::TariffFileError;
use crate::bill::file::{DemandRequest, DemandWindow, OfMonths, OnePer};
use crate::bill::holidays::Holidays;
use crate::bill::load::{MINUTE, MeteredLoad};
use crate::bill::month::Month;
use crate::prices::cost::Cost;
use crate::time::civil::{local_of, offset_micros};
use crate::time::instant::instant_at;

/// Largest number of months of a rule.
const MONTHS_MAX: u32 = 60;

/// Decimals of a power: milliwatts.
const POWER_DECIMALS: u32 = 6;

impl DemandWindow {
    /// Length in minutes.
    #[must_use]
    pub const fn minutes(self) -> u32 {
        match self {
            Self::QuarterHour => 15,
            Self::HalfHour => 30,
            Self::Hour => 60,
        }
    }
}

/// Rule by which a power is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DemandRule {
    pub(crate) window: DemandWindow,
    highest: usize,
    skip: usize,
    one_per: Option<OnePer>,
    weights: Vec<(Decimal, Condition)>,
    months: u32,
    of_months: OfMonths,
    lag_months: u32,
    month_floor: Decimal,
    floor: Decimal,
}

/// Clocks and holidays by which a load is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calendar<'a> {
    pub(crate) time_zone: Tz,
    pub(crate) holidays: &'a Holidays,
}

impl Calendar<'_> {
    /// Clocks at an instant.
    pub(crate) fn clock(&self, at: i64) -> Clock {
        Clock::at(local_of(instant_at(at), self.time_zone), self.holidays)
    }
}

/// Mean power of one window, weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowPower {
    /// Start in microseconds since 1970.
    pub(crate) start: i64,
    /// Date on the clocks.
    date: NaiveDate,
    /// Power in kW.
    pub(crate) power: Decimal,
}

/// Power that a rule measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredPower {
    /// Power in kW that is billed.
    pub(crate) power: Decimal,
    /// Windows that were taken, of the last month or of all together.
    pub(crate) windows: Vec<WindowPower>,
    /// Months that have a complete window.
    pub(crate) months: usize,
}

/// A decimal that a power, a factor or an energy can be.
pub(crate) fn parse_positive(text: &str, field: &str) -> Result<Decimal, TariffFileError> {
    let decimal = parse_decimal(text, field)?;
    if decimal.is_sign_negative() && !decimal.is_zero() {
        let (field, value) = (field.into(), decimal.to_string());
        return Err(TariffFileError::Value { field, value, expected: "zero or more" });
    }
    Ok(decimal)
}

/// A decimal of at most 1e9.
pub(crate) fn parse_decimal(text: &str, field: &str) -> Result<Decimal, TariffFileError> {
    let cost = Cost::parse(text);
    let cost = cost.map_err(|reason| TariffFileError::Decimal { field: field.into(), reason })?;
    let decimal = cost.exact();
    if decimal.abs() > Decimal::from(1_000_000_000) {
        let (field, value) = (field.into(), decimal.to_string());
        return Err(TariffFileError::Value { field, value, expected: "at most 1000000000" });
    }
    Ok(decimal)
}

impl DemandRule {
    /// Reads a rule. `field` is its path in the file.
    pub(crate) fn new(request: &DemandRequest, field: &str) -> Result<Self, TariffFileError> {
        let within = |name: &str, value: u32, from: u32, to: u32, expected| {
            let field = format!("{field}.{name}");
            let refused = TariffFileError::Value { field, value: value.to_string(), expected };
            if (from..=to).contains(&value) { Ok(value) } else { Err(refused) }
        };
        let floor = |name: &str, text: &Option<String>| {
            let parse = |text: &String| parse_positive(text, &format!("{field}.{name}"));
            text.as_ref().map(parse).transpose().map(Option::unwrap_or_default)
        };
        let mut weights = Vec::new();
        for (index, weight) in request.weights.iter().flatten().enumerate() {
            let field = format!("{field}.weights[{index}]");
            let factor = parse_positive(&weight.factor, &format!("{field}.factor"))?;
            let when = weight.when.clone().unwrap_or_default();
            weights.push((factor, Condition::new(&when, &format!("{field}.when"))?));
        }
        check_reached(
            weights.iter().map(|(_, when)| when.is_always()),
            &format!("{field}.weights"),
        )?;
        let months = within("months", request.months.unwrap_or(1), 1, MONTHS_MAX, "1 to 60")?;
        if (months > 1) != request.of_months.is_some() {
            return Err(TariffFileError::Missing {
                field: format!("{field}.of_months"),
                reason: "it is stated if, and only if, months is more than 1",
            });
        }
        let lag = request.lag_months.unwrap_or(0);
        Ok(Self {
            window: request.window,
            highest: within("highest", request.highest, 1, 3000, "1 to 3000")? as usize,
            skip: within("skip", request.skip.unwrap_or(0), 0, 3000, "0 to 3000")? as usize,
            one_per: request.one_per,
            weights,
            months,
            of_months: request.of_months.unwrap_or(OfMonths::Highest),
            lag_months: within("lag_months", lag, 0, MONTHS_MAX, "0 to 60")?,
            month_floor: floor("month_floor_kw", &request.month_floor_kw)?,
            floor: floor("floor_kw", &request.floor_kw)?,
        })
    }

    /// Returns true if a weight depends on holidays.
    pub(crate) fn reads_holidays(&self) -> bool {
        self.weights.iter().any(|(_, when)| when.reads_holidays())
    }

    /// Months before the billed one whose readings the rule needs.
    pub(crate) fn months_before(&self) -> u32 {
        self.months - 1 + self.lag_months
    }

    /// Start of the window that an instant lies in: windows begin at whole multiples of their
    /// length on the clocks.
    pub(crate) fn window_start(&self, calendar: Calendar<'_>, at: i64) -> i64 {
        let length = i64::from(self.window.minutes()) * MINUTE;
        at - (at + offset_micros(at, calendar.time_zone)).rem_euclid(length)
    }

    /// The rule in words, for the explanation of a line. `measured` is the number of months that have
    /// a complete window.
    pub(crate) fn describe(&self, measured: usize) -> String {
        let minutes = self.window.minutes();
        let taken = match self.highest {
            1 => format!("the highest mean power over {minutes} min"),
            count => format!("the mean of the {count} highest powers over {minutes} min"),
        };
        let spread = match self.one_per {
            Some(OnePer::Day) => " on different days",
            Some(OnePer::Week) => " in different weeks",
            None => "",
        };
        let skipped = match self.skip {
            0 => String::new(),
            skip => format!(" after the {skip} highest"),
        };
        let (of_months, within) = match self.of_months {
            _ if self.months == 1 => (String::new(), String::new()),
            OfMonths::Mean => (format!("the mean over {} months of ", self.months), String::new()),
            OfMonths::Highest => {
                (format!("the highest of {} months of ", self.months), String::new())
            }
            OfMonths::Together => (String::new(), format!(" in {} months", self.months)),
        };
        let least = |floor: Decimal, when: &str| {
            if floor.is_zero() { String::new() } else { format!(", at least {floor} kW{when}") }
        };
        let (low, floor) = (least(self.month_floor, " in each month"), least(self.floor, ""));
        let unknown = match (self.months as usize).saturating_sub(measured) {
            months if months == 0 || measured == 0 => String::new(),
            1 => ", without 1 month that is not known".to_owned(),
            months => format!(", without {months} months that are not known"),
        };
        format!("{of_months}{taken}{spread}{skipped}{within}{low}{floor}{unknown}")
    }

    /// Power of a month.
    pub(crate) fn measure(
        &self,
        load: &MeteredLoad,
        calendar: Calendar<'_>,
        month: Month,
    ) -> MeasuredPower {
        let last = month.back(self.lag_months);
        let months = (0..self.months).rev().map(|back| last.back(back));
        let by_month: Vec<Vec<WindowPower>> =
            months.map(|month| self.windows(load, calendar, month)).collect();
        let measured = by_month.iter().filter(|windows| !windows.is_empty()).count();
        let (power, windows) = if self.of_months == OfMonths::Together {
            let taken = self.take(by_month.concat());
            (mean(&taken).max(self.month_floor), taken)
        } else {
            self.of_each_month(by_month)
        };
        let power = power.max(self.floor).round_dp(POWER_DECIMALS);
        MeasuredPower { power, windows, months: measured }
    }

    /// Mean, or highest, of the powers of the months, and the windows of the last one.
    fn of_each_month(&self, by_month: Vec<Vec<WindowPower>>) -> (Decimal, Vec<WindowPower>) {
        let taken: Vec<Vec<WindowPower>> =
            by_month.into_iter().map(|windows| self.take(windows)).collect();
        let measured = taken.iter().filter(|windows| !windows.is_empty());
        let powers: Vec<Decimal> =
            measured.map(|windows| mean(windows).max(self.month_floor)).collect();
        let last = taken.into_iter().next_back().unwrap_or_default();
        let power = match self.of_months {
            // The floor of a month holds for a contract of which nothing was measured.
            _ if powers.is_empty() => self.month_floor,
            OfMonths::Mean => powers.iter().sum::<Decimal>() / Decimal::from(powers.len()),
            OfMonths::Highest | OfMonths::Together => powers.into_iter().max().unwrap_or_default(),
        };
        (power, last)
    }

    /// Windows of a month of which all readings are there, with a weight above zero.
    fn windows(
        &self,
        load: &MeteredLoad,
        calendar: Calendar<'_>,
        month: Month,
    ) -> Vec<WindowPower> {
        let (from, to) = month.span(calendar.time_zone);
        let periods_each = self.window.minutes() / load.period_minutes();
        // Sum of milliwatt-hours and number of periods, by the start of the window.
        let mut sums: BTreeMap<i64, (i64, u32)> = BTreeMap::new();
        for (start, metered) in load.within(from, to) {
            let sum = sums.entry(self.window_start(calendar, start)).or_default();
            *sum = (sum.0 + metered.import, sum.1 + 1);
        }
        let complete = sums.into_iter().filter(|(_, (_, periods))| *periods == periods_each);
        let windows_per_hour = i64::from(60 / self.window.minutes());
        let mut milliwatts: BTreeMap<i64, i64> =
            complete.map(|(start, (energy, _))| (start, energy * windows_per_hour)).collect();
        for (at, power) in load.peaks_within(from, to) {
            let known = milliwatts.entry(self.window_start(calendar, at)).or_insert(power);
            *known = power.max(*known);
        }
        milliwatts
            .into_iter()
            .filter_map(|(start, milliwatts)| {
                let clock = calendar.clock(start);
                let factor = self.factor(clock);
                let power = Decimal::new(milliwatts, 6) * factor;
                let date = clock.date;
                (!factor.is_zero()).then_some(WindowPower { start, date, power })
            })
            .collect()
    }

    /// Weight of a window that starts at `clock`.
    pub(crate) fn factor(&self, clock: Clock) -> Decimal {
        let holding = self.weights.iter().find(|(_, condition)| condition.holds(clock));
        holding.map_or(Decimal::ONE, |(factor, _)| *factor)
    }

    /// Windows that count, the highest first. Of two with one power, the earlier is first.
    fn take(&self, mut windows: Vec<WindowPower>) -> Vec<WindowPower> {
        windows.sort_by_key(|window| (Reverse(window.power), window.start));
        let mut seen = BTreeSet::new();
        windows.retain(|window| match self.one_per {
            None => true,
            Some(OnePer::Day) => seen.insert((window.date.year(), window.date.ordinal())),
            Some(OnePer::Week) => {
                let week = window.date.iso_week();
                seen.insert((week.year(), week.week()))
            }
        });
        windows.into_iter().skip(self.skip).take(self.highest).collect()
    }
}

/// Fields of the rule that planning reads.
#[cfg(feature = "lp")]
impl DemandRule {
    /// Number of windows whose mean is taken.
    pub(crate) fn highest(&self) -> usize {
        self.highest
    }

    /// Number of windows above them that are left out.
    pub(crate) fn skip(&self) -> usize {
        self.skip
    }

    /// Calendar period of which at most one window is taken.
    pub(crate) fn one_per(&self) -> Option<OnePer> {
        self.one_per
    }

    /// Number of months.
    pub(crate) fn months(&self) -> u32 {
        self.months
    }

    /// Months between a measured month and the first bill that it counts in.
    pub(crate) fn lag_months(&self) -> u32 {
        self.lag_months
    }

    /// Function of the months.
    pub(crate) fn of_months(&self) -> OfMonths {
        self.of_months
    }

    /// Least power of each month.
    pub(crate) fn month_floor(&self) -> Decimal {
        self.month_floor
    }

    /// Least power of the result.
    pub(crate) fn floor(&self) -> Decimal {
        self.floor
    }
}

/// Mean power of windows; zero of none.
fn mean(windows: &[WindowPower]) -> Decimal {
    let sum: Decimal = windows.iter().map(|window| window.power).sum();
    sum.checked_div(Decimal::from(windows.len())).unwrap_or_default()
}

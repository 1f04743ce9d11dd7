//! View of a policy for a home: everything that is known of it at one instant.
use std::ops::Deref;

use chrono::{DateTime, Utc};

use crate::plan::storage::behind_meter::{BehindMeterBattery, BehindMeterSlot};
use crate::prices::curve::PriceCurve;
use crate::simulate::forecast::KnownPrices;
use crate::simulate::home::{HomeFacts, for_each_part};
use crate::simulate::home_stay::{HomeStay, StayMeter};
use crate::simulate::net_load::NetReader;
use crate::simulate::view::Moment;
use crate::time::instant::instant_at;
use crate::units::{Energy, Percent, Power};

/// Prices each way that are known at one instant.
#[derive(Debug, Clone)]
pub(crate) struct KnownTariff {
    pub(crate) import: KnownPrices,
    pub(crate) export: Option<KnownPrices>,
}

impl KnownTariff {
    /// Both curves.
    pub(crate) fn curves(&self) -> (&PriceCurve, Option<&PriceCurve>) {
        (self.import.all(), self.export.as_ref().map(KnownPrices::all))
    }
}

/// Mean power in a period that is expected.
pub type ExpectedPower = (DateTime<Utc>, DateTime<Utc>, Power);

/// Everything that is known of one home at one instant: its [`Moment`], battery, vehicles, net load and
/// prices to sell.
#[derive(Debug)]
pub struct HomeView<'a> {
    pub(crate) row: usize,
    /// Its horizon ends with the simulation of the home at the latest.
    pub(crate) moment: Moment<'a>,
    pub(crate) battery: BehindMeterBattery,
    /// All stays of the home; only those that are known are handed out.
    pub(crate) stays: &'a [StayMeter],
    /// True if stays are known before their arrival.
    pub(crate) has_foresight: bool,
    pub(crate) known: &'a KnownTariff,
    pub(crate) net: &'a NetReader<'a>,
    /// Only what lies before `now` is ever handed out.
    pub(crate) facts: &'a HomeFacts,
}

impl<'a> Deref for HomeView<'a> {
    type Target = Moment<'a>;

    fn deref(&self) -> &Moment<'a> {
        &self.moment
    }
}

impl HomeView<'_> {
    /// Position of the home.
    #[must_use]
    pub fn row(&self) -> usize {
        self.row
    }

    /// Number of the home.
    #[must_use]
    pub fn home(&self) -> u32 {
        self.facts.homes()[self.row].battery.home
    }

    /// Energy in the battery.
    #[must_use]
    pub fn stored(&self) -> Energy {
        Energy::from_kwh(self.battery.stored_kwh).unwrap_or(Energy::ZERO)
    }

    /// State of charge.
    #[must_use]
    pub fn soc(&self) -> Percent {
        Percent::filled(self.stored(), self.facts.homes()[self.row].battery.capacity)
    }

    /// Highest charging power, at the plug.
    #[must_use]
    pub fn charge_max(&self) -> Power {
        self.facts.homes()[self.row].battery.charge_max
    }

    /// Highest discharging power, at the plug, as a positive number.
    #[must_use]
    pub fn discharge_max(&self) -> Power {
        self.facts.homes()[self.row].battery.discharge_max
    }

    /// Vehicles that are known and need energy.
    #[must_use]
    pub fn stays(&self) -> Vec<HomeStay> {
        self.waiting_stays().map(|(_, stay)| stay.as_seen()).collect()
    }

    /// Position of a stay among those of the home, as [`HomeCommands::stays`](crate::simulate::HomeCommands::stays)
    /// has them; `None` if the vehicle is not known now, or needs nothing.
    #[must_use]
    pub fn stay_position(&self, row: usize) -> Option<usize> {
        self.waiting_stays().find(|(_, stay)| stay.row == row).map(|(position, _)| position)
    }

    /// Stays that are known and need energy, with their positions among those of the home.
    pub(crate) fn waiting_stays(&self) -> impl Iterator<Item = (usize, &StayMeter)> {
        let known_until = if self.has_foresight { self.horizon_end } else { self.now + 1 };
        let all = self.stays.iter().enumerate();
        all.filter(move |(_, stay)| stay.is_waiting(self.now) && stay.start < known_until)
    }

    /// Prices to sell that are known now; `None` if nothing is paid for.
    #[must_use]
    pub fn export_prices(&self) -> Option<PriceCurve> {
        let export = self.known.export.as_ref()?;
        Some(export.all().between(self.now(), self.horizon_end()))
    }

    /// Load less solar power that is expected from now to the end of the horizon.
    #[must_use]
    pub fn net_load(&self) -> Vec<ExpectedPower> {
        let Some(horizon) = self.net.horizon() else { return Vec::new() };
        let expected = |slot: usize| {
            let start = horizon.starts()[slot].max(self.now);
            let end = horizon.ends()[slot].min(self.horizon_end);
            let power = Power::from_kw(self.net.expected(slot).as_kw()).unwrap_or(Power::ZERO);
            (instant_at(start), instant_at(end), power)
        };
        horizon.overlapping(self.now, self.horizon_end).map(expected).collect()
    }

    /// Writes the slots that can be planned to `slots`: from now to the end of the horizon, or to
    /// the first time without a known price to buy. They are cut where a vehicle comes or goes.
    pub(crate) fn write_slots(&self, slots: &mut Vec<BehindMeterSlot>) {
        slots.clear();
        let (curves, span) = (self.known.curves(), (self.now, self.horizon_end));
        let expected = |slot: usize| self.net.expected(slot);
        let mut cuts: Vec<i64> =
            self.waiting_stays().flat_map(|(_, stay)| [stay.start, stay.end]).collect();
        cuts.sort_unstable();
        for_each_part(curves, self.net.horizon(), span, expected, |part| {
            let mut slot = part.as_slot();
            for &cut in cuts.iter().filter(|&&cut| part.start < cut && cut < part.end) {
                if slot.start < cut {
                    slots.push(BehindMeterSlot { end: cut, ..slot });
                    slot.start = cut;
                }
            }
            slots.push(slot);
        });
    }
}

//! Site that was checked: its defaults and the base load keep within the fuse.
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use slackwater_control::load_balancing::balance;
use slackwater_engine::units::{Current, Power, Voltage};
use slackwater_integration::registry::SettingsError;

use crate::site::settings::{MeterSettings, SiteChargerSettings, SiteSettings};
use crate::station::state::Rules;

/// Number of phases.
pub const PHASES: usize = 3;

/// Most connectors of a charge point.
const CONNECTORS_MAX: u32 = 100;

/// Bounds of the settings in seconds.
const SECONDS: std::ops::RangeInclusive<u32> = 1..=86_400;

/// Site with its charge points.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name in the settings.
    pub name: String,
    /// Fuse on each phase, less the margin of the operator.
    pub fuse: [Current; PHASES],
    /// Other load on each phase as it counts without a measured one.
    pub base: [Current; PHASES],
    /// Meter of the other load, if it is at a charge point.
    pub meter: Option<MeterSettings>,
    /// Age beyond which a measured load does not count.
    pub base_age_max: TimeDelta,
    /// Length of a turn.
    pub turn: TimeDelta,
    /// Voltage from phase to neutral at which the power of a grid order becomes a current.
    pub grid_voltage: Voltage,
    /// Charge points, by identity.
    pub chargers: Vec<SiteCharger>,
}

/// Charge point of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteCharger {
    /// Identity.
    pub identity: String,
    /// Phases of the site that it is connected to.
    pub phases: [bool; PHASES],
    /// Number of connectors that take part.
    pub connectors: u32,
    /// Rank: higher ranks are served first.
    pub priority: i32,
}

/// Other load as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseLoad {
    /// Time of the measurement.
    pub at: DateTime<Utc>,
    /// Current of each phase; below zero is a surplus.
    #[serde(rename = "amps")]
    pub currents: [Current; PHASES],
}

/// Bounds of a site that change while the service runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// Other load as it was measured last, if it was.
    pub measured: Option<BaseLoad>,
    /// Highest power drawn from the grid; `None` without a grid order.
    pub grid: Option<Power>,
    /// Power that the charge points keep under a grid order whatever the other load draws.
    pub least: Power,
}

impl Site {
    /// Checks the settings of a site against the rules of its charge points, in the order of their
    /// identities.
    ///
    /// # Errors
    /// A number is out of bounds, phases do not fit a charge point, or the defaults and the base load
    /// are more than the fuse carries.
    pub fn check(
        name: &str,
        settings: &SiteSettings,
        rules: &[Rules],
    ) -> Result<Self, SettingsError> {
        let wrong =
            |field: &str, reason| SettingsError::new(format!("sites.{name}.{field}"), reason);
        for (field, value) in [
            ("base_age_seconds", settings.base_age_seconds),
            ("turn_seconds", settings.turn_seconds),
        ] {
            if !SECONDS.contains(&value) {
                let (from, to) = (SECONDS.start(), SECONDS.end());
                return Err(wrong(field, format!("{value} s is outside {from} s to {to} s")));
            }
        }
        if settings.grid_volts <= Voltage::ZERO {
            let given = settings.grid_volts.as_volts();
            return Err(wrong("grid_volts", format!("{given} V is not above 0 V")));
        }
        if settings.chargers.is_empty() {
            return Err(wrong("chargers", "a site has at least one".to_owned()));
        }
        if settings.base_meter.is_some() && settings.base_file.is_some() {
            return Err(wrong(
                "base_file",
                "there is a base_meter, too: name one of them".to_owned(),
            ));
        }
        let chargers = settings.chargers.iter().zip(rules).map(|((identity, charger), rules)| {
            check_charger(identity, charger, rules)
                .map_err(|reason| wrong(&format!("chargers.{identity}"), reason))
        });
        let seconds = |seconds: u32| TimeDelta::seconds(i64::from(seconds));
        let site = Self {
            name: name.to_owned(),
            fuse: settings.fuse_amps.each(),
            base: settings.base_amps.each(),
            meter: settings.base_meter.clone(),
            base_age_max: seconds(settings.base_age_seconds),
            turn: seconds(settings.turn_seconds),
            grid_voltage: settings.grid_volts,
            chargers: chargers.collect::<Result<_, _>>()?,
        };
        site.check_defaults(rules).map_err(|reason| wrong("fuse_amps", reason))?;
        Ok(site)
    }

    /// Without a controller all defaults may be drawn at once.
    fn check_defaults(&self, rules: &[Rules]) -> Result<(), String> {
        for phase in 0..PHASES {
            let on_phase = self.chargers.iter().zip(rules).filter(|(one, _)| one.phases[phase]);
            let base = self.base[phase].max(Current::ZERO).as_amps();
            let (mut sum, mut parts) = (base, Vec::new());
            for (charger, rules) in on_phase {
                let default = rules.safe_current.as_amps();
                sum += default * f64::from(charger.connectors);
                parts.push(match charger.connectors {
                    1 => format!("{} {default} A", charger.identity),
                    count => format!("{} {count} × {default} A", charger.identity),
                });
            }
            let fuse = self.fuse[phase].as_amps();
            if sum > fuse {
                return Err(format!(
                    "{fuse} A on phase {}, but the base load of {base} A and the defaults ({}) are {sum} \
                     A: lower safe_current_amps of these chargers, which may be 0",
                    phase + 1,
                    parts.join(", "),
                ));
            }
        }
        Ok(())
    }

    /// The site as its current is divided, with its bounds and its base load.
    #[must_use]
    pub fn connection(&self, bounds: Bounds, base: [Current; PHASES]) -> balance::Site {
        let current = |power: Power| power.current(self.grid_voltage, 1);
        let (grid, least) = (bounds.grid.map(current), current(bounds.least));
        balance::Site { fuse: self.fuse, base, grid, least }
    }

    /// Base load on each phase: as measured, unless that is too old or from the future.
    #[must_use]
    pub fn base_at(&self, measured: Option<BaseLoad>, now: DateTime<Utc>) -> [Current; PHASES] {
        let is_fresh =
            |load: &BaseLoad| (TimeDelta::zero()..=self.base_age_max).contains(&(now - load.at));
        measured.filter(is_fresh).map_or(self.base, |load| load.currents)
    }
}

fn check_charger(
    identity: &str,
    settings: &SiteChargerSettings,
    rules: &Rules,
) -> Result<SiteCharger, String> {
    let own = rules.supply.phases();
    let listed = match &settings.phases {
        Some(listed) => listed.clone(),
        None if own == 3 => vec![1, 2, 3],
        None => return Err(format!("a charger of {own} phases needs its phases, such as [1]")),
    };
    let mut phases = [false; PHASES];
    for number in &listed {
        let place = usize::from(*number).checked_sub(1).and_then(|index| phases.get_mut(index));
        match place {
            Some(phase) if !*phase => *phase = true,
            _ => return Err(format!("phases {listed:?} are not numbers from 1 to 3, each once")),
        }
    }
    if listed.len() != usize::from(own) {
        let count = listed.len();
        let are_listed = if count == 1 { "phase is listed" } else { "phases are listed" };
        return Err(format!("{count} {are_listed}, and the charger has {own}"));
    }
    let (connectors, priority) = (settings.connectors, settings.priority);
    if !(1..=CONNECTORS_MAX).contains(&connectors) {
        return Err(format!("{connectors} connectors are outside 1 to {CONNECTORS_MAX}"));
    }
    Ok(SiteCharger { identity: identity.to_owned(), phases, connectors, priority })
}

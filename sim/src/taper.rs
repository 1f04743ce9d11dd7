//! Charging curve of a battery: constant power up to a knee, then a taper.

use crate::flow::Flow;
use slackwater_engine::units::{Energy, Percent, Power, kw, kwh};

/// Tolerance in kWh within which a battery has reached a level: about the energy that a charger
/// moves in a thousandth of a second.
pub(crate) const LEVEL_TOLERANCE_KWH: f64 = 1e-9;

/// Charging parameters of a battery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taper {
    /// Usable capacity.
    pub capacity: Energy,
    /// Highest power at the plug below the knee.
    pub power_max: Power,
    /// Efficiency: energy stored per energy taken, above 0 and up to 100.
    pub efficiency: Percent,
    /// Knee: state of charge from which the power falls.
    pub from: Percent,
    /// Power at full charge, as a share of the highest power. With zero the battery is never
    /// full.
    pub end: Percent,
}

/// Next flow and its duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Power at the plug.
    pub flow: Flow,
    /// Hours until the flow changes; `None` if it does not change by itself.
    pub hours: Option<f64>,
    /// Stored energy at the end of the stage.
    pub ends_at: Energy,
}

impl Taper {
    /// Efficiency as a fraction.
    pub(crate) fn share_stored(&self) -> f64 {
        self.efficiency.as_percent() / 100.0
    }

    /// Returns the next stage of a battery that holds `stored`, may take up to `offered` and
    /// charges until it holds `until`.
    ///
    /// The power is constant at first. From the knee on it falls linearly with the state of
    /// charge, hence exponentially in time. At or above `until` the battery takes nothing.
    #[must_use]
    pub fn stage(&self, stored: Energy, until: Energy, offered: Power) -> Stage {
        let power = offered.min(self.power_max);
        let left = until.as_kwh() - stored.as_kwh();
        if left <= LEVEL_TOLERANCE_KWH || power.as_kw() <= 0.0 {
            return Stage { flow: Flow::NONE, hours: None, ends_at: stored };
        }
        let knee = self.knee(power);
        let is_before_knee = stored.as_kwh() < knee.as_kwh() - LEVEL_TOLERANCE_KWH;
        let (flow, ends_at) = if is_before_knee {
            (Flow::constant(power), until.min(knee))
        } else {
            (self.falling(stored, power), until)
        };
        let at_plug = kwh((ends_at.as_kwh() - stored.as_kwh()) / self.share_stored());
        Stage { flow, hours: flow.hours_for(at_plug), ends_at }
    }

    /// Stored energy from which the battery takes less than `power`.
    fn knee(&self, power: Power) -> Energy {
        let (from, end) = (self.from.as_percent() / 100.0, self.end.as_percent() / 100.0);
        let fall = (1.0 - power.as_kw() / self.power_max.as_kw()) / (1.0 - end).max(f64::EPSILON);
        kwh(self.capacity.as_kwh() * (from + (1.0 - from) * fall))
    }

    /// A power that falls along the line from the knee to the end.
    fn falling(&self, stored: Energy, power: Power) -> Flow {
        let (from, end) = (self.from.as_percent() / 100.0, self.end.as_percent() / 100.0);
        let span = self.capacity.as_kwh() * (1.0 - from);
        if span <= 0.0 {
            return Flow::constant(power);
        }
        // Power lost per stored kWh.
        let slope = self.power_max.as_kw() * (1.0 - end) / span;
        let beyond = stored.as_kwh() - self.capacity.as_kwh() * from;
        let now = (self.power_max.as_kw() - slope * beyond).min(power.as_kw()).max(0.0);
        Flow { power: kw(now), decay_per_hour: slope * self.share_stored() }
    }

    /// Hours until the battery holds `until`, over all stages; `None` if it never does.
    #[must_use]
    pub fn hours_until(&self, stored: Energy, until: Energy, offered: Power) -> Option<f64> {
        let (mut stored, mut hours) = (stored, 0.0);
        while until.as_kwh() - stored.as_kwh() > LEVEL_TOLERANCE_KWH {
            let stage = self.stage(stored, until, offered);
            hours += stage.hours?;
            stored = stage.ends_at;
        }
        Some(hours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slackwater_engine::units::percent;

    fn battery() -> Taper {
        Taper {
            capacity: kwh(60.0),
            power_max: kw(11.0),
            efficiency: percent(90.0),
            from: percent(80.0),
            end: percent(10.0),
        }
    }

    #[test]
    fn constant_to_the_knee_then_falling() {
        let first = battery().stage(kwh(30.0), kwh(60.0), kw(11.0));
        assert_eq!((first.flow, first.ends_at), (Flow::constant(kw(11.0)), kwh(48.0)));
        let hours = first.hours.unwrap();
        assert!((hours - 18.0 / 0.9 / 11.0).abs() < 1e-12, "{hours}");
        let second = battery().stage(first.ends_at, kwh(60.0), kw(11.0));
        assert_eq!((second.flow.power, second.ends_at), (kw(11.0), kwh(60.0)));
        let at_end = second.flow.power_after(second.hours.unwrap()).as_kw();
        assert!((at_end - 1.1).abs() < 1e-9, "{at_end}");
    }

    #[test]
    fn a_weak_outlet_moves_the_knee() {
        let stage = battery().stage(kwh(30.0), kwh(60.0), kw(5.5));
        assert!((stage.ends_at.as_kwh() - (48.0 + 12.0 * 0.5 / 0.9)).abs() < 1e-9);
        let weakest = battery().stage(kwh(59.0), kwh(60.0), kw(1.0));
        assert_eq!((weakest.flow, weakest.ends_at), (Flow::constant(kw(1.0)), kwh(60.0)));
    }

    #[test]
    fn nothing_flows_into_a_full_battery_or_from_a_dead_outlet() {
        for stage in [
            battery().stage(kwh(60.0), kwh(60.0), kw(11.0)),
            battery().stage(kwh(50.0), kwh(48.0), kw(11.0)),
            battery().stage(kwh(50.0), kwh(60.0), kw(0.0)),
        ] {
            assert_eq!((stage.flow, stage.hours), (Flow::NONE, None));
        }
        assert_eq!(battery().hours_until(kwh(50.0), kwh(60.0), kw(0.0)), None);
        assert_eq!(battery().hours_until(kwh(50.0), kwh(48.0), kw(0.0)), Some(0.0));
        let endless = Taper { end: percent(0.0), ..battery() };
        assert_eq!(endless.hours_until(kwh(50.0), kwh(60.0), kw(11.0)), None);
    }

    proptest! {
        /// Stages meet: stored at the end of one is what it says, the power
        /// goes on without a jump and never rises, and no level is passed.
        #[test]
        fn stages_meet_and_power_never_rises(
            start in 0.0..60.0f64, until in 0.0..60.0f64, offered in 0.1..50.0f64,
            from in 0.0..99.0f64, end in 1.0..100.0f64, efficiency in 50.0..100.0f64,
        ) {
            let battery = Taper {
                from: percent(from), end: percent(end), efficiency: percent(efficiency), ..battery()
            };
            let (mut stored, until) = (kwh(start), kwh(until));
            let mut power = f64::INFINITY;
            for _ in 0..3 {
                let stage = battery.stage(stored, until, kw(offered));
                let Some(hours) = stage.hours else { break };
                prop_assert!(stage.flow.power.as_kw() <= power * (1.0 + 1e-9) + 1e-9);
                let gained = stage.flow.energy_after(hours).as_kwh() * efficiency / 100.0;
                prop_assert!((stored.as_kwh() + gained - stage.ends_at.as_kwh()).abs() < 1e-7);
                power = stage.flow.power_after(hours).as_kw();
                prop_assert!(power > 0.0);
                stored = stage.ends_at;
            }
            prop_assert!(stored.as_kwh() <= until.as_kwh().max(start) + 1e-9);
            prop_assert!(stored.as_kwh() >= until.as_kwh() - 1e-8 || start >= until.as_kwh());
        }
    }
}

//! Settings of plans.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackwater_control::policy::assumptions::Assumptions;
use slackwater_engine::units::{Money, Power};

use crate::config::forms;

/// Settings of plans.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSettings {
    /// Values that are assumed of devices that do not report them (NS-37).
    #[schemars(schema_with = "forms::assumptions")]
    pub assume: Assumptions,
    /// Money that a stay at the plug may cost beyond the cheapest plans, so that
    /// a new plan changes little against the one before. Without it each plan is
    /// the cheapest.
    #[schemars(with = "Option<f64>", range(min = 0), example = 0.2)]
    pub stability_budget: Option<Money>,
    /// Limits that the devices of an area share. Operators set others, also for periods, while the
    /// service runs (`slackwater-api limit`).
    pub limits: Vec<AreaLimit>,
}

/// A limit on the power that plans of an area take together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AreaLimit {
    /// The market zone.
    #[schemars(example = &"NO1")]
    pub zone: String,
    /// The part of the zone.
    #[schemars(example = &"north")]
    pub area: String,
    /// Highest power.
    #[serde(rename = "power_max_kw")]
    #[schemars(with = "f64", example = 500.0)]
    pub power_max: Power,
}

impl PlanSettings {
    /// First fault of the settings, with the name of the setting.
    #[must_use]
    pub fn flaw(&self) -> Option<String> {
        let assume = &self.assume;
        if self.stability_budget.is_some_and(|budget| budget < Money::ZERO) {
            return Some("plans.stability_budget is below 0".to_owned());
        }
        if let Err(reason) = assume.check() {
            return Some(format!("plans.assume.{reason}"));
        }
        for (index, limit) in self.limits.iter().enumerate() {
            let name = format!("plans.limits[{index}]");
            if limit.power_max <= Power::ZERO {
                let given = limit.power_max.as_kw();
                return Some(format!("{name}.power_max_kw is {given} kW; it is above 0"));
            }
            let is_twice = self.limits[..index]
                .iter()
                .any(|other| other.zone == limit.zone && other.area == limit.area);
            if is_twice {
                return Some(format!("{name} is a second limit of {}/{}", limit.zone, limit.area));
            }
        }
        if !self.limits.is_empty() && !cfg!(feature = "lp") {
            return Some(
                "plans.limits needs a service that was built with the feature `lp`".to_owned(),
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> Option<String> {
        let settings: PlanSettings = serde_json::from_str(text).unwrap();
        settings.flaw()
    }

    #[test]
    fn settings_are_refused_by_name() {
        assert_eq!(flaw("{}"), None);
        let budget = flaw(r#"{"stability_budget": -1.0}"#).unwrap();
        assert_eq!(budget, "plans.stability_budget is below 0");
        let efficiency = flaw(r#"{"assume": {"efficiency": 1.5}}"#).unwrap();
        assert!(efficiency.starts_with("plans.assume.efficiency is 1.5"), "{efficiency}");
        let limit = r#"{"zone": "NO1", "area": "north", "power_max_kw": 10.0}"#;
        let twice = flaw(&format!(r#"{{"limits": [{limit}, {limit}]}}"#)).unwrap();
        assert_eq!(twice, "plans.limits[1] is a second limit of NO1/north");
        let nothing =
            flaw(&format!(r#"{{"limits": [{}]}}"#, limit.replace("10.0", "0.0"))).unwrap();
        assert_eq!(nothing, "plans.limits[0].power_max_kw is 0 kW; it is above 0");
        let one = flaw(&format!(r#"{{"limits": [{limit}]}}"#));
        assert_eq!(one.is_none(), cfg!(feature = "lp"), "{one:?}");
    }
}

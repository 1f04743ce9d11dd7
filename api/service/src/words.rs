//! Words about devices and plans for people, in every place that shows them.
use slackwater_control::device::scope::DeviceKind;
use slackwater_control::policy::ask::NoRequest;
use slackwater_engine::plan::record::PlanSummary;

use slackwater_integration::reading::Facts;
use slackwater_store::devices::Device;

/// Reason for a period of charging of a plan that was made with those of other devices.
pub const SHARED_REASON: &str =
    "charges beside the other vehicles of its area, within the limit that they share";

/// Sentence about a plan that was made with those of other devices: the limit decided, and what it
/// costs, against the least that the device would pay alone. Without a currency there is no amount.
#[must_use]
pub fn explain_shared(plan: &PlanSummary, currency: Option<&str>) -> String {
    let decided = "The limit that the devices of its area share decided when it charges";
    if !plan.shortfall.is_zero() {
        let missing = plan.shortfall.as_kwh();
        return format!("{decided}: {missing:.1} kWh are missing at a deadline.");
    }
    let Some(currency) = currency else { return format!("{decided}.") };
    let (paid, alone) = (plan.cost.as_amount(), plan.bound.as_amount());
    let [paid_text, alone_text] = [paid, alone].map(|amount| format!("{amount:.2}"));
    if paid_text == alone_text {
        return format!("{decided}: it pays {paid_text} {currency}, as much as alone.");
    }
    format!(
        "{decided}: it pays {paid_text} {currency}, and alone it would pay {alone_text} or more."
    )
}

/// Reason for a plan without a period of charging.
pub const NOTHING_LEFT: &str = "Nothing is left to charge.";

/// Kind of a device as a title.
#[must_use]
pub const fn name_kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Battery => "Battery",
        DeviceKind::Charger => "Charger",
        DeviceKind::Hvac => "Heating",
        DeviceKind::Inverter => "Inverter",
        DeviceKind::Meter => "Meter",
        DeviceKind::Vehicle => "Vehicle",
    }
}

/// Name of a device: its owner's, else its make and model, else its kind.
#[must_use]
pub fn name_device(device: &Device) -> String {
    let joined = |parts: [Option<&str>; 2]| {
        let parts: Vec<&str> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    };
    let named = device.state.reading.as_deref().and_then(|reading| match &reading.facts {
        Facts::Vehicle(facts) => {
            let about = &facts.information;
            joined([about.brand.as_deref(), about.model.as_deref()])
        }
        Facts::Charger(facts) => {
            let about = &facts.information;
            let own = about.display_name.clone();
            own.or_else(|| joined([Some(&about.brand), Some(&about.model)]))
        }
        Facts::Hvac(facts) => Some(facts.information.display_name.clone()),
        Facts::Inverter(facts) => {
            joined([Some(&facts.information.brand), Some(&facts.information.model)])
        }
        Facts::Battery(_) | Facts::Meter(_) => None,
    });
    named.unwrap_or_else(|| name_kind(device.kind).to_owned())
}

/// Reason why a device has no plan.
#[must_use]
pub const fn explain_idle(idle: NoRequest) -> &'static str {
    match idle {
        NoRequest::Off => "its policy is off",
        NoRequest::NotReachable => "the charger does not answer",
        NoRequest::NotPluggedIn => "no plug is in",
        NoRequest::Away => "the vehicle is not at the location of its policy",
        NoRequest::NothingAsked => "the policy asks for no energy and no duration",
        NoRequest::SocUnknown => "the state of charge is not known",
        NoRequest::CapacityUnknown => "the capacity of the battery is not known",
        NoRequest::AwaitingPrices => {
            "prices are not known, or not far enough: the home needs a tariff, a price signal or \
             market prices of its zone"
        }
        NoRequest::ReserveAtAnyPrice => {
            "the present price is not known; the vehicle charges to its reserve at any price"
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_engine::units::{kwh, money};

    use super::*;

    #[test]
    fn a_plan_within_a_shared_limit_tells_what_the_limit_costs() {
        let mut plan = PlanSummary {
            intervals: Vec::new(),
            energy: kwh(10.0),
            cost: money(3.55),
            bound: money(3.2),
            baseline_cost: money(5.0),
            shortfall: kwh(0.0),
            marginal_price: None,
            unpriced_hours: 0.0,
        };
        let decided = "The limit that the devices of its area share decided when it charges";
        let told = |plan: &PlanSummary| explain_shared(plan, Some("NOK"));
        let more = format!("{decided}: it pays 3.55 NOK, and alone it would pay 3.20 or more.");
        assert_eq!(told(&plan), more);
        assert_eq!(explain_shared(&plan, None), format!("{decided}."), "its prices are gone");
        plan.bound = money(3.549);
        assert_eq!(told(&plan), format!("{decided}: it pays 3.55 NOK, as much as alone."));
        plan.shortfall = kwh(2.5);
        assert_eq!(told(&plan), format!("{decided}: 2.5 kWh are missing at a deadline."));
    }
}

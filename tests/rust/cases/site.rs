//! Everything behind one meter.
use serde_json::{Value, json};
use slackwater_engine::plan::charge::Target;
use slackwater_engine::plan::site::{
    Carbon, CarbonSlot, DemandCharge, Device, Limit, Load, Phase, Series, SitePlan, SiteProblem,
    SiteRequest, Solar, Tier, Tiers, Vehicle, plan_site,
};
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::units::{Energy, Power, Price};

use crate::given::{curve, instant, number};

fn powers(values: &Value) -> Series {
    let power = |kw: &Value| Power::from_kw(number(kw)).expect("a power");
    Series::PerSlot(values.as_array().expect("a list").iter().map(power).collect())
}

fn site_devices(given: &Value) -> Vec<Device> {
    let vehicle = |given: &Value| {
        let power = Power::from_kw(number(&given["kw"])).expect("a power");
        let mut vehicle = Vehicle::new(given["name"].as_str().expect("a name"), power);
        let energy = Energy::from_kwh(number(&given["energyKwh"])).expect("an energy");
        let by = (!given["by"].is_null()).then(|| instant(&given["by"]));
        vehicle.targets.push(Target { by, energy });
        vehicle.priority = number(&given["priority"]);
        Device::Vehicle(vehicle)
    };
    let vehicles = given["vehicles"].as_array().expect("a list").iter();
    let mut devices: Vec<Device> = vehicles.map(vehicle).collect();
    let phases = Phase::ALL.to_vec();
    if !given["loadKw"].is_null() {
        let forecast = powers(&given["loadKw"]);
        let load = Load { name: "load".into(), group: None, phases: phases.clone(), forecast };
        devices.push(Device::Load(load));
    }
    if !given["solarKw"].is_null() {
        let forecast = powers(&given["solarKw"]);
        let (name, group, is_curtailable) = ("solar".into(), None, true);
        devices.push(Device::Solar(Solar { name, group, phases, forecast, is_curtailable }));
    }
    devices
}

/// What else a site is charged for; what is not given is not there.
fn site_charges(given: &Value, request: &mut SiteRequest) {
    let slots = given["prices"].as_array().expect("a list");
    if let Some(prices) = given["export"].as_array() {
        let slot = |(step, price): (&Value, &Value)| Slot {
            start: instant(&step["from"]),
            end: instant(&step["to"]),
            price: Price::from_per_kwh(number(price)).expect("a price"),
        };
        let slots: Vec<Slot> = slots.iter().zip(prices).map(slot).collect();
        request.export_prices = Some(PriceCurve::new(&slots).expect("prices are in order"));
    }
    if !given["peakPrice"].is_null() {
        request.demand_charge = Some(DemandCharge {
            price_per_kw: number(&given["peakPrice"]),
            peak: Power::from_kw(number(&given["peakPaidKw"])).expect("a power"),
            window_minutes: 60,
            window_energy: Energy::ZERO,
            periods: Vec::new(),
        });
    }
    if let Some(blocks) = given["tiers"].as_array() {
        let tier = |block: &Value| Tier {
            until: block[0].as_f64().map(|kwh| Energy::from_kwh(kwh).expect("an energy")),
            surcharge: Price::from_per_kwh(number(&block[1])).expect("a price"),
        };
        let blocks = blocks.iter().map(tier).collect();
        request.tiers = Some(Tiers { blocks, energy_before: Energy::ZERO });
    }
    if let Some(carbon) = given["carbon"].as_array() {
        let slot = |(step, kg): (&Value, &Value)| CarbonSlot {
            start: instant(&step["from"]),
            end: instant(&step["to"]),
            kg_per_kwh: number(kg),
        };
        let intensity = slots.iter().zip(carbon).map(slot).collect();
        request.carbon = Some(Carbon { price_per_kg: number(&given["carbonPrice"]), intensity });
    }
}

pub(crate) fn site(given: &Value) -> Value {
    let mut request = SiteRequest::new(curve(given), instant(&given["now"]));
    request.devices = site_devices(given);
    if let Some(kw) = given["limitKw"].as_f64() {
        let power = Series::Constant(Power::from_kw(kw).expect("a power"));
        request.import_limit = Some(Limit { power, breach_price: None });
    }
    site_charges(given, &mut request);
    let plan = plan_site(&SiteProblem::new(request).expect("it makes sense"));
    // As a value, not as text, which serde_json reads back to the last bit but one.
    let saved = serde_json::to_value(&plan).expect("a plan is data");
    assert_eq!(serde_json::from_value::<SitePlan>(saved).expect("it was one"), plan);
    let shadows = plan.limits.iter().flat_map(|limit| &limit.shadow_price);
    json!({
        "cost": plan.cost.as_amount(),
        "shortfallKwh": plan.devices.iter().map(|d| d.shortfall.as_kwh()).collect::<Vec<_>>(),
        "importKwh": plan.slots.iter().map(|slot| slot.import.as_kwh()).collect::<Vec<_>>(),
        "breachKw": plan.breaches.iter().map(|b| b.excess.as_kw()).collect::<Vec<_>>(),
        "shadowPrice": shadows.map(|price| price.as_per_kwh()).collect::<Vec<_>>(),
    })
}

//! A device as entities of Home Assistant.
//!
//! The messages are those of its [MQTT discovery][discovery], one for each entity, because older
//! releases, such as 2024.3, do not read one for a whole device.
//!
//! [discovery]: https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery
use serde_json::{Map, Value, json};

use crate::state::PlanWord;
use crate::topics::Topics;
use crate::view::DeviceCard;

/// Text of the topic of availability while this service is connected.
pub const ONLINE: &str = "online";

/// The broker writes this text there when the connection ends.
pub const OFFLINE: &str = "offline";

/// Text of a command that has a device charge now.
pub const ON: &str = "ON";

/// Text of a command that gives a device back to its plan.
pub const OFF: &str = "OFF";

/// An entity: kind, name in topics, name for people, and what only this entity has.
type Entity = (&'static str, &'static str, &'static str, Value);

/// Messages of discovery for a device, as topics and JSON.
#[must_use]
pub fn write_discovery(topics: &Topics, card: &DeviceCard) -> Vec<(String, String)> {
    let write = |(component, entity, name, own): Entity| {
        let message = complete_message(topics, card, (entity, name), own);
        (topics.discovery(component, card.id, entity), message.to_string())
    };
    list_entities(topics, card).into_iter().map(write).collect()
}

fn list_entities(topics: &Topics, card: &DeviceCard) -> [Entity; 7] {
    let mut cost = json!({
        "device_class": "monetary",
        "suggested_display_precision": 2,
        "value_template": write_template("cost"),
    });
    if let Some(currency) = &card.currency {
        cost["unit_of_measurement"] = currency.as_str().into();
    }
    let plan = json!({
        "device_class": "enum",
        "options": PlanWord::ALL.map(PlanWord::as_str),
        "icon": "mdi:calendar-clock",
        "value_template": write_template("plan"),
        "json_attributes_topic": topics.state(card.id),
        "json_attributes_template": "{{ value_json.attributes | tojson }}",
    });
    let energy = json!({
        "device_class": "energy",
        "unit_of_measurement": "kWh",
        "suggested_display_precision": 1,
        "value_template": write_template("energy_kwh"),
    });
    let charge_now = json!({
        "icon": "mdi:lightning-bolt",
        "command_topic": topics.command(card.id),
        "payload_on": ON,
        "payload_off": OFF,
        "value_template": write_template("charge_now"),
    });
    let reason =
        json!({ "icon": "mdi:comment-question", "value_template": write_template("reason") });
    [
        ("sensor", "plan", "Plan", plan),
        ("sensor", "reason", "Reason", reason),
        ("sensor", "next_start", "Next start", describe_time("next_start")),
        ("sensor", "next_end", "Next end", describe_time("next_end")),
        ("sensor", "planned_energy", "Planned energy", energy),
        ("sensor", "planned_cost", "Planned cost", cost),
        ("switch", "charge_now", "Charge now", charge_now),
    ]
}

fn describe_time(member: &str) -> Value {
    json!({ "device_class": "timestamp", "value_template": write_template(member) })
}

fn write_template(member: &str) -> String {
    format!("{{{{ value_json.{member} }}}}")
}

/// An entity with what all of a device have.
fn complete_message(
    topics: &Topics,
    card: &DeviceCard,
    (entity, name): (&str, &str),
    mut message: Value,
) -> Value {
    let mut device = Map::new();
    device.insert("identifiers".to_owned(), json!([format!("slackwater_{}", card.id)]));
    device.insert("name".to_owned(), card.name.as_str().into());
    for (member, text) in [("manufacturer", &card.manufacturer), ("model", &card.model)] {
        if let Some(text) = text {
            device.insert(member.to_owned(), text.as_str().into());
        }
    }
    message["name"] = name.into();
    message["unique_id"] = format!("slackwater_{}_{entity}", card.id).into();
    message["state_topic"] = topics.state(card.id).into();
    message["availability_topic"] = topics.availability().into();
    message["payload_available"] = ONLINE.into();
    message["payload_not_available"] = OFFLINE.into();
    message["qos"] = 1.into();
    message["device"] = device.into();
    message["origin"] = json!({ "name": "slackwater", "sw_version": env!("CARGO_PKG_VERSION") });
    message
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use uuid::Uuid;

    use super::*;

    fn discovered(card: &DeviceCard) -> String {
        let messages = write_discovery(&Topics::new("homeassistant", "slackwater"), card);
        let indented = |(topic, text): &(String, String)| {
            let value: Value = serde_json::from_str(text).unwrap();
            format!("{topic}\n{value:#}\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
        };
        messages.iter().map(indented).collect()
    }

    #[test]
    fn a_car_is_six_sensors_and_a_switch() {
        let card = DeviceCard {
            id: Uuid::from_u128(7),
            name: "Blue car".to_owned(),
            manufacturer: Some("Fjord".to_owned()),
            model: None,
            currency: Some("NOK".to_owned()),
        };
        expect_test::expect_file!["discovery.txt"].assert_eq(&discovered(&card));
    }

    #[test]
    fn a_cost_without_a_currency_has_no_unit() {
        let card = DeviceCard {
            id: Uuid::from_u128(7),
            name: "Charger".to_owned(),
            manufacturer: None,
            model: None,
            currency: None,
        };
        let messages = write_discovery(&Topics::new("homeassistant", "slackwater"), &card);
        let (_, cost) = messages.iter().find(|(topic, _)| topic.contains("planned_cost")).unwrap();
        let cost: Value = serde_json::from_str(cost).unwrap();
        assert_eq!(cost.get("unit_of_measurement"), None);
        let device = expect![[r#"
            {
              "identifiers": [
                "slackwater_00000000-0000-0000-0000-000000000007"
              ],
              "name": "Charger"
            }"#]];
        device.assert_eq(&format!("{:#}", cost["device"]));
    }
}

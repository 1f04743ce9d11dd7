//! Words that members of answers have, for the OpenAPI document.
//!
//! Handlers write them as texts, so that their schemas know only texts. The words are taken from
//! the functions that write them, each for all its variants.
use serde_json::Value;
use slackwater_control::device::action::{ActionState, FailureKind};
use slackwater_control::device::hvac::Mode;
use slackwater_control::device::power_state::PowerState;
use slackwater_control::policy::charger::ChargerState;
use slackwater_control::schedule::status::ScheduleState;
use slackwater_integration::profile::Health;
use slackwater_integration::reading::HvacCategory;
use slackwater_wire::words::charger_state_name;
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::openapi::{Components, RefOr};

use crate::problem_meanings::titles;
use crate::routes::charge_state::power_word;
use crate::routes::health::{linking_status_word, status_word};
use crate::routes::hvacs::{category_word, mode_word};
use crate::routes::schedules::state_word;

/// Schema, member, and all words that the member can have.
pub(crate) type MemberWords = (&'static str, &'static str, Vec<String>);

/// Lists the words of members in their schemas.
pub(crate) fn list_words(components: &mut Components) {
    for (schema, member, words) in all_words() {
        let found = components.schemas.get_mut(schema);
        let Some(RefOr::T(Schema::Object(object))) = found else { continue };
        let Some(RefOr::T(Schema::Object(text))) = object.properties.get_mut(member) else {
            continue;
        };
        let is_nullable = matches!(
            &text.schema_type,
            SchemaType::Array(types) if types.contains(&Type::Null)
        );
        let null = is_nullable.then_some(Value::Null);
        text.enum_values = Some(words.into_iter().map(Value::from).chain(null).collect());
    }
}

/// All members with words.
pub(crate) fn all_words() -> Vec<MemberWords> {
    let texts =
        |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let upper = |word: &str| word.to_uppercase();
    // A charger does not know whether the vehicle is full.
    let of_chargers = PowerState::ALL.into_iter().filter(|state| *state != PowerState::Complete);
    let of_chargers: Vec<&str> = of_chargers.map(power_word).collect();
    vec![
        ("ActionBody", "kind", texts(&["START", "STOP"])),
        ("ActionBody", "state", ActionState::ALL.map(|state| upper(state.as_str())).to_vec()),
        ("FailureReason", "type", FailureKind::ALL.map(|kind| upper(kind.as_str())).to_vec()),
        ("ChargerChargeState", "powerDeliveryState", texts(&of_chargers)),
        ("VehicleChargeState", "powerDeliveryState", texts(&PowerState::ALL.map(power_word))),
        ("HvacInformation", "category", texts(&HvacCategory::ALL.map(category_word))),
        ("ThermostatState", "mode", texts(&Mode::ALL.map(mode_word))),
        ("ThermostatState", "holdType", texts(&["PERMANENT", "SCHEDULED"])),
        ("ScheduleStatus", "state", texts(&ScheduleState::ALL.map(state_word))),
        ("SmartChargingStatus", "state", texts(&ChargerState::ALL.map(charger_state_name))),
        ("Problem", "title", titles()),
        ("VendorHealthBody", "status", texts(&Health::ALL.map(status_word))),
        (
            "VendorHealthBody",
            "linkingStatus",
            texts(&[Health::Ready, Health::Outage].map(linking_status_word)),
        ),
    ]
}

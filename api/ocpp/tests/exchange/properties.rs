//! Whatever a charge point sends: no panic, an answer to each request, and no energy from nowhere.
use proptest::prelude::*;
use serde_json::{Value, json};
use slackwater_engine::units::Energy;
use slackwater_ocpp::version::Version;

use crate::rig::Rig;

/// Values that are right, nearly right, and wrong.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..5_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z0-9.:-]{0,12}".prop_map(Value::from),
        Just(json!("2026-01-05T18:00:00Z")),
        Just(json!("Charging")),
        Just(json!("Energy.Active.Import.Register")),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(field(), inner, 0..6)
                .prop_map(|fields| Value::from(serde_json::Map::from_iter(fields))),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "connectorId",
        "idTag",
        "meterStart",
        "meterStop",
        "timestamp",
        "transactionId",
        "status",
        "meterValue",
        "sampledValue",
        "value",
        "unit",
        "measurand",
        "phase",
        "evseId",
        "evse",
        "id",
        "eventType",
        "transactionInfo",
        "chargingState",
        "idToken",
        "connectorStatus",
        "vendorId",
        "chargePointVendor",
        "chargePointModel",
        "chargingStation",
        "unitOfMeasure",
        "multiplier",
    ])
    .prop_map(str::to_owned)
}

fn action() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Authorize",
        "BootNotification",
        "DataTransfer",
        "Heartbeat",
        "MeterValues",
        "StartTransaction",
        "StopTransaction",
        "StatusNotification",
        "TransactionEvent",
        "NotifyReport",
        "Reset",
        "Nothing",
    ])
}

proptest! {
    #[test]
    fn each_request_is_answered(
        is_newer in any::<bool>(),
        messages in prop::collection::vec((action(), prop::collection::hash_map(field(), value(), 0..8)), 1..12),
    ) {
        let version = if is_newer { Version::V201 } else { Version::V16 };
        let mut rig = Rig::new(version);
        for (action, fields) in messages {
            let payload = Value::from(serde_json::Map::from_iter(fields));
            // `says` checks that there is one answer, with the identifier of the request.
            rig.says(action, &payload);
            rig.wait(7);
        }
        for state in rig.station.connectors.values() {
            for ended in &state.transactions.ended {
                prop_assert!(ended.energy.is_none_or(|energy| energy >= Energy::ZERO));
                prop_assert!(ended.ended_at >= ended.transaction.started_at);
            }
        }
        // The state can be kept, and is read as it was.
        let text = serde_json::to_string(&rig.station).unwrap();
        let mut read: slackwater_ocpp::station::state::Station = serde_json::from_str(&text).unwrap();
        read.link.clone_from(&rig.station.link);
        prop_assert_eq!(read, rig.station);
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,60}") {
        Rig::booted().text(&text);
    }
}

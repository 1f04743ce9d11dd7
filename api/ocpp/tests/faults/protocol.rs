//! Messages of a simulated charge point in both versions.
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_ocpp::version::Version;

/// Version that a charge point speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OCPP 1.6.
    V16,
    /// OCPP 2.0.1.
    V201,
}

/// Versions of the charge points of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mix {
    /// One version.
    All(Protocol),
    /// Every other charge point speaks 2.0.1, from the second on.
    Alternating,
}

impl Mix {
    /// Versions by the seed: of five sites one speaks 2.0.1, and one both.
    pub(crate) fn choose(seed: u64) -> Self {
        match seed % 5 {
            3 => Self::All(Protocol::V201),
            4 => Self::Alternating,
            _ => Self::All(Protocol::V16),
        }
    }

    /// Version of a charge point by its place in the site.
    pub(crate) fn protocol(self, index: usize) -> Protocol {
        match self {
            Self::All(protocol) => protocol,
            Self::Alternating if index % 2 == 1 => Protocol::V201,
            Self::Alternating => Protocol::V16,
        }
    }
}

/// Charging profile as the charge point keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) id: i64,
    pub(crate) level: i64,
    pub(crate) is_default: bool,
    /// Transaction that it is for, in the form of the version.
    pub(crate) transaction: Option<Value>,
    pub(crate) start: Option<DateTime<Utc>>,
    pub(crate) duration: Option<TimeDelta>,
    pub(crate) valid_to: Option<DateTime<Utc>>,
    pub(crate) is_in_amps: bool,
    pub(crate) milliamps: i64,
}

/// Action and fields of a message.
pub(crate) type Call = (&'static str, Value);

impl Protocol {
    /// Version of the exchange at the service.
    pub(crate) const fn version(self) -> Version {
        match self {
            Self::V16 => Version::V16,
            Self::V201 => Version::V201,
        }
    }

    pub(crate) fn write_boot(self, vendor: &str, firmware: &str) -> Call {
        let fields = match self {
            Self::V16 => json!({"chargePointVendor": vendor, "chargePointModel": "Post",
                "firmwareVersion": firmware}),
            Self::V201 => json!({"reason": "PowerUp", "chargingStation":
                {"vendorName": vendor, "model": "Post", "firmwareVersion": firmware}}),
        };
        ("BootNotification", fields)
    }

    pub(crate) fn write_status(self, is_plugged: bool, timestamp: &str) -> Call {
        let fields = match self {
            Self::V16 => json!({"connectorId": 1, "errorCode": "NoError", "timestamp": timestamp,
                "status": if is_plugged { "Charging" } else { "Available" }}),
            Self::V201 => json!({"evseId": 1, "connectorId": 1, "timestamp": timestamp,
                "connectorStatus": if is_plugged { "Occupied" } else { "Available" }}),
        };
        ("StatusNotification", fields)
    }

    pub(crate) fn write_meter_values(self, amps: f64, timestamp: &str) -> Call {
        let (place, sampled) = match self {
            Self::V16 => {
                let value = amps.to_string();
                ("connectorId", json!({"value": value, "measurand": "Current.Import", "unit": "A"}))
            }
            Self::V201 => {
                let unit = json!({"unit": "A"});
                let sampled =
                    json!({"value": amps, "measurand": "Current.Import", "unitOfMeasure": unit});
                ("evseId", sampled)
            }
        };
        let values = json!([{"timestamp": timestamp, "sampledValue": [sampled]}]);
        ("MeterValues", json!({place: 1, "meterValue": values}))
    }

    /// Start of a transaction. In 1.6 the service gives its identifier.
    pub(crate) fn write_start(self, id: Option<&Value>, timestamp: &str) -> Call {
        match self {
            Self::V16 => {
                let fields = json!({"connectorId": 1, "idTag": "ada", "meterStart": 0,
                    "timestamp": timestamp});
                ("StartTransaction", fields)
            }
            Self::V201 => {
                let token = json!({"idToken": "ada", "type": "Central"});
                let mut fields = write_event("Started", "Authorized", (id, timestamp));
                fields["idToken"] = token;
                ("TransactionEvent", fields)
            }
        }
    }

    /// End of a transaction; one of 1.6 that has no identifier yet has a negative one.
    pub(crate) fn write_stop(self, id: Option<&Value>, timestamp: &str) -> Call {
        match self {
            Self::V16 => {
                let id = id.cloned().unwrap_or(json!(-1));
                let fields =
                    json!({"transactionId": id, "meterStop": 1000, "timestamp": timestamp});
                ("StopTransaction", fields)
            }
            Self::V201 => ("TransactionEvent", write_event("Ended", "EVDeparted", (id, timestamp))),
        }
    }

    /// Answer to a request for the composite schedule.
    pub(crate) fn write_composite(self, start: &str, amps: f64) -> Value {
        let periods = json!([{"startPeriod": 0, "limit": amps}]);
        match self {
            Self::V16 => json!({"status": "Accepted", "connectorId": 1, "scheduleStart": start,
                "chargingSchedule": {"chargingRateUnit": "A", "duration": 60,
                    "chargingSchedulePeriod": periods}}),
            Self::V201 => json!({"status": "Accepted", "schedule": {"evseId": 1, "duration": 60,
                "scheduleStart": start, "chargingRateUnit": "A",
                "chargingSchedulePeriod": periods}}),
        }
    }

    /// Answer to a request for variables: it takes profiles in amperes.
    pub(crate) fn write_variables(self) -> Value {
        let key = |key: &str, value: &str| json!({"key": key, "value": value, "readonly": true});
        let variable = |name: &str, value: &str| {
            json!({"attributeStatus": "Accepted", "component": {"name": "SmartChargingCtrlr"},
                "variable": {"name": name}, "attributeValue": value})
        };
        match self {
            Self::V16 => json!({"configurationKey": [
                key("SupportedFeatureProfiles", "Core,SmartCharging"),
                key("ChargingScheduleAllowedChargingRateUnit", "Current"),
                key("ChargeProfileMaxStackLevel", "8"),
            ]}),
            Self::V201 => json!({"getVariableResult": [
                variable("Enabled", "true"),
                variable("RateUnit", "A"),
                variable("ProfileStackLevel", "8"),
            ]}),
        }
    }

    /// Profile that a request writes.
    pub(crate) fn read_profile(self, payload: &Value) -> Profile {
        let (given, id) = match self {
            Self::V16 => (&payload["csChargingProfiles"], "chargingProfileId"),
            Self::V201 => (&payload["chargingProfile"], "id"),
        };
        let schedule = match self {
            Self::V16 => &given["chargingSchedule"],
            Self::V201 => &given["chargingSchedule"][0],
        };
        let instant = |value: &Value| value.as_str().map(|text| text.parse().unwrap());
        Profile {
            id: given[id].as_i64().unwrap(),
            level: given["stackLevel"].as_i64().unwrap(),
            is_default: given["chargingProfilePurpose"] == "TxDefaultProfile",
            transaction: given.get("transactionId").cloned(),
            start: instant(&schedule["startSchedule"]),
            duration: schedule["duration"].as_i64().map(TimeDelta::seconds),
            valid_to: instant(&given["validTo"]),
            is_in_amps: schedule["chargingRateUnit"] == "A",
            milliamps: (schedule["chargingSchedulePeriod"][0]["limit"].as_f64().unwrap() * 1000.0)
                .round() as i64,
        }
    }
}

/// Event of a transaction of 2.0.1.
fn write_event(kind: &str, reason: &str, (id, timestamp): (Option<&Value>, &str)) -> Value {
    let state = if kind == "Ended" { "Idle" } else { "Charging" };
    json!({"eventType": kind, "timestamp": timestamp, "triggerReason": reason, "seqNo": 0,
        "evse": {"id": 1}, "transactionInfo": {"transactionId": id, "chargingState": state}})
}

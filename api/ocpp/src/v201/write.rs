//! Facts as messages of OCPP 2.0.1.
use ocpp_types::v201::{
    AuthorizeResponse, BootNotificationResponse, ClearCacheRequest, ClearChargingProfileRequest,
    DataTransferResponse, GetCompositeScheduleRequest, GetVariablesRequest, HeartbeatResponse,
    RequestStartTransactionRequest, RequestStopTransactionRequest, ResetRequest,
    SetChargingProfileRequest, SetVariablesRequest, SignCertificateResponse,
    TransactionEventResponse, TriggerMessageRequest, UnlockConnectorRequest,
};
use serde_json::{Value, json};
use slackwater_control::charging_profile::profile::Purpose;

use crate::facts::{Answer, Request, Reset, Trigger, Variable};
use crate::fields::{Fault, write_instant};
use crate::profiles::{profile_fields, schedule_fields};
use crate::typed::{Payload, PayloadError, answer, request};

/// Place of a variable in the device model.
pub(crate) struct Place {
    pub(crate) variable: Variable,
    pub(crate) component: &'static str,
    pub(crate) name: &'static str,
}

/// Names of all variables that are read.
pub(crate) const NAMES: [Place; 8] = [
    name_place(Variable::SmartCharging, "SmartChargingCtrlr", "Enabled"),
    name_place(Variable::RateUnits, "SmartChargingCtrlr", "RateUnit"),
    name_place(Variable::StackLevelMax, "SmartChargingCtrlr", "ProfileStackLevel"),
    name_place(Variable::PeriodsMax, "SmartChargingCtrlr", "PeriodsPerSchedule"),
    name_place(Variable::ProfilesMax, "SmartChargingCtrlr", "Entries"),
    name_place(Variable::Measurands, "SampledDataCtrlr", "TxUpdatedMeasurands"),
    name_place(Variable::MeterInterval, "SampledDataCtrlr", "TxUpdatedInterval"),
    name_place(Variable::AlignedInterval, "AlignedDataCtrlr", "Interval"),
];

const fn name_place(variable: Variable, component: &'static str, name: &'static str) -> Place {
    Place { variable, component, name }
}

/// Fields of an answer.
///
/// # Errors
/// The protocol has no such answer.
pub fn write_answer(facts: &Answer) -> Result<Value, PayloadError> {
    match facts {
        Answer::Booted { now, interval_seconds } => answer::<BootNotificationResponse>(
            json!({"status": "Accepted", "currentTime": write_instant(*now), "interval": interval_seconds}),
        ),
        Answer::Time(now) => {
            answer::<HeartbeatResponse>(json!({"currentTime": write_instant(*now)}))
        }
        Answer::Authorized { is_accepted } => {
            answer::<AuthorizeResponse>(json!({"idTokenInfo": write_judgement(*is_accepted)}))
        }
        Answer::Transaction { is_accepted, .. } => answer::<TransactionEventResponse>(
            is_accepted
                .map_or(json!({}), |accepted| json!({"idTokenInfo": write_judgement(accepted)})),
        ),
        Answer::Empty => Ok(json!({})),
        Answer::Rejected => answer::<SignCertificateResponse>(json!({"status": "Rejected"})),
        Answer::UnknownVendor => {
            answer::<DataTransferResponse>(json!({"status": "UnknownVendorId"}))
        }
    }
}

fn write_judgement(is_accepted: bool) -> Value {
    json!({"status": if is_accepted { "Accepted" } else { "Invalid" }})
}

/// Action and fields of a request.
///
/// # Errors
/// A value is too long for its field.
pub fn write_request(facts: &Request) -> Result<Payload, PayloadError> {
    match facts {
        Request::ReadVariables => {
            let all: Vec<Value> = NAMES.iter().map(place_of).collect();
            request::<GetVariablesRequest>(json!({"getVariableData": all}))
        }
        Request::SetVariable { variable, value } => {
            let known = NAMES.iter().find(|known| known.variable == *variable);
            let mut data = known.map_or(json!({}), place_of);
            data["attributeValue"] = json!(value);
            request::<SetVariablesRequest>(json!({"setVariableData": [data]}))
        }
        Request::Start { connector, token, number } => {
            request::<RequestStartTransactionRequest>(json!({
                "evseId": connector,
                "remoteStartId": number,
                "idToken": {"idToken": token, "type": "Central"},
            }))
        }
        Request::Stop { transaction } => {
            request::<RequestStopTransactionRequest>(json!({"transactionId": transaction}))
        }
        Request::SetProfile { connector, transaction, profile } => {
            let mut schedule = schedule_fields(profile);
            schedule["id"] = json!(profile.id);
            let mut fields = profile_fields(profile);
            fields["id"] = json!(profile.id);
            fields["chargingProfilePurpose"] = json!(purpose_of(profile.purpose));
            fields["chargingSchedule"] = json!([schedule]);
            if let Some(transaction) = transaction {
                fields["transactionId"] = json!(transaction);
            }
            request::<SetChargingProfileRequest>(
                json!({"evseId": connector, "chargingProfile": fields}),
            )
        }
        Request::ClearDefaults { connector } => request::<ClearChargingProfileRequest>(json!({
            "chargingProfileCriteria":
                {"evseId": connector, "chargingProfilePurpose": "TxDefaultProfile"},
        })),
        Request::ReadSchedule { connector, seconds } => request::<GetCompositeScheduleRequest>(
            json!({"evseId": connector, "duration": seconds}),
        ),
        Request::Trigger { message, connector } => {
            let mut fields = json!({"requestedMessage": trigger_of(*message)});
            if let Some(connector) = connector {
                fields["evse"] = match message {
                    // The state is that of a connector, and an EVSE has at least one.
                    Trigger::Status => json!({"id": connector, "connectorId": 1}),
                    _ => json!({"id": connector}),
                };
            }
            request::<TriggerMessageRequest>(fields)
        }
        Request::Reset { reset } => {
            let kind = match reset {
                Reset::Soft => "OnIdle",
                Reset::Hard => "Immediate",
            };
            request::<ResetRequest>(json!({"type": kind}))
        }
        Request::Unlock { connector } => {
            request::<UnlockConnectorRequest>(json!({"evseId": connector, "connectorId": 1}))
        }
        Request::ClearTokens => request::<ClearCacheRequest>(json!({})),
    }
}

const fn purpose_of(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::StationMax => "ChargingStationMaxProfile",
        Purpose::ExternalConstraints => "ChargingStationExternalConstraints",
        Purpose::TransactionDefault => "TxDefaultProfile",
        Purpose::Transaction => "TxProfile",
    }
}

const fn trigger_of(message: Trigger) -> &'static str {
    match message {
        Trigger::Boot => "BootNotification",
        Trigger::Status => "StatusNotification",
        Trigger::MeterValues => "MeterValues",
        Trigger::Heartbeat => "Heartbeat",
        Trigger::Diagnostics => "LogStatusNotification",
        Trigger::Firmware => "FirmwareStatusNotification",
    }
}

fn place_of(known: &Place) -> Value {
    json!({"component": {"name": known.component}, "variable": {"name": known.name}})
}

/// Code of a fault, in the spelling of this version.
#[must_use]
pub const fn code_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotImplemented { .. } => "NotImplemented",
        Fault::NotSupported { .. } => "NotSupported",
        Fault::Formation { .. } => "FormatViolation",
        Fault::Missing { .. } => "OccurrenceConstraintViolation",
        Fault::WrongType { .. } => "TypeConstraintViolation",
        Fault::WrongValue { .. } => "PropertyConstraintViolation",
    }
}

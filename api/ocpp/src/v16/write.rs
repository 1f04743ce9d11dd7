//! Facts as messages of OCPP 1.6.
use ocpp_types::v16::{
    AuthorizeResponse, BootNotificationResponse, ChangeConfigurationRequest, ClearCacheRequest,
    ClearChargingProfileRequest, DataTransferResponse, GetCompositeScheduleRequest,
    GetConfigurationRequest, HeartbeatResponse, RemoteStartTransactionRequest,
    RemoteStopTransactionRequest, ResetRequest, SetChargingProfileRequest, SignCertificateResponse,
    StartTransactionResponse, StopTransactionResponse, TriggerMessageRequest,
    UnlockConnectorRequest,
};
use serde_json::{Value, json};
use slackwater_control::charging_profile::profile::Purpose;

use crate::facts::{Answer, Request, Reset, Trigger, Variable};
use crate::fields::{Fault, write_instant};
use crate::profiles::{profile_fields, schedule_fields};
use crate::typed::{Payload, PayloadError, answer, request};

/// Fields of the answer to `action`.
///
/// # Errors
/// The protocol has no such answer.
pub fn write_answer(action: &str, facts: &Answer) -> Result<Value, PayloadError> {
    match facts {
        Answer::Booted { now, interval_seconds } => answer::<BootNotificationResponse>(
            json!({"status": "Accepted", "currentTime": write_instant(*now), "interval": interval_seconds}),
        ),
        Answer::Time(now) => {
            answer::<HeartbeatResponse>(json!({"currentTime": write_instant(*now)}))
        }
        Answer::Authorized { is_accepted } => {
            answer::<AuthorizeResponse>(json!({"idTagInfo": write_judgement(*is_accepted)}))
        }
        Answer::Transaction { id, is_accepted } => match action {
            "StartTransaction" => answer::<StartTransactionResponse>(json!({
                "transactionId": id.parse::<i64>().unwrap_or_default(),
                "idTagInfo": write_judgement(is_accepted.unwrap_or(true)),
            })),
            _ => answer::<StopTransactionResponse>(
                is_accepted
                    .map_or(json!({}), |accepted| json!({"idTagInfo": write_judgement(accepted)})),
            ),
        },
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
        Request::ReadVariables => request::<GetConfigurationRequest>(json!({})),
        Request::SetVariable { variable, value } => {
            request::<ChangeConfigurationRequest>(json!({"key": key_of(*variable), "value": value}))
        }
        Request::Start { connector, token, .. } => request::<RemoteStartTransactionRequest>(
            json!({"connectorId": connector, "idTag": token}),
        ),
        Request::Stop { transaction } => request::<RemoteStopTransactionRequest>(
            json!({"transactionId": transaction.parse::<i64>().unwrap_or_default()}),
        ),
        Request::SetProfile { connector, transaction, profile } => {
            let mut fields = profile_fields(profile);
            fields["chargingProfileId"] = json!(profile.id);
            fields["chargingProfilePurpose"] = json!(purpose_of(profile.purpose));
            fields["chargingSchedule"] = schedule_fields(profile);
            if let Some(transaction) = transaction {
                fields["transactionId"] = json!(transaction.parse::<i64>().unwrap_or_default());
            }
            request::<SetChargingProfileRequest>(
                json!({"connectorId": connector, "csChargingProfiles": fields}),
            )
        }
        Request::ClearDefaults { connector } => request::<ClearChargingProfileRequest>(
            json!({"connectorId": connector, "chargingProfilePurpose": "TxDefaultProfile"}),
        ),
        Request::ReadSchedule { connector, seconds } => request::<GetCompositeScheduleRequest>(
            json!({"connectorId": connector, "duration": seconds}),
        ),
        Request::Trigger { message, connector } => {
            let message = match message {
                Trigger::Boot => "BootNotification",
                Trigger::Status => "StatusNotification",
                Trigger::MeterValues => "MeterValues",
                Trigger::Heartbeat => "Heartbeat",
                Trigger::Diagnostics => "DiagnosticsStatusNotification",
                Trigger::Firmware => "FirmwareStatusNotification",
            };
            let mut fields = json!({"requestedMessage": message});
            if let Some(connector) = connector {
                fields["connectorId"] = json!(connector);
            }
            request::<TriggerMessageRequest>(fields)
        }
        Request::Reset { reset } => {
            let kind = match reset {
                Reset::Soft => "Soft",
                Reset::Hard => "Hard",
            };
            request::<ResetRequest>(json!({"type": kind}))
        }
        Request::Unlock { connector } => {
            request::<UnlockConnectorRequest>(json!({"connectorId": connector}))
        }
        Request::ClearTokens => request::<ClearCacheRequest>(json!({})),
    }
}

const fn purpose_of(purpose: Purpose) -> &'static str {
    match purpose {
        // There is no other for the whole charge point.
        Purpose::StationMax | Purpose::ExternalConstraints => "ChargePointMaxProfile",
        Purpose::TransactionDefault => "TxDefaultProfile",
        Purpose::Transaction => "TxProfile",
    }
}

fn key_of(variable: Variable) -> &'static str {
    match variable {
        Variable::SmartCharging => "SupportedFeatureProfiles",
        Variable::RateUnits => "ChargingScheduleAllowedChargingRateUnit",
        Variable::StackLevelMax => "ChargeProfileMaxStackLevel",
        Variable::PeriodsMax => "ChargingScheduleMaxPeriods",
        Variable::ProfilesMax => "MaxChargingProfilesInstalled",
        Variable::Measurands => "MeterValuesSampledData",
        Variable::MeterInterval => "MeterValueSampleInterval",
        Variable::AlignedInterval => "ClockAlignedDataInterval",
        Variable::Connectors => "NumberOfConnectors",
    }
}

/// Code of a fault, in the spelling of this version.
#[must_use]
pub const fn code_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotImplemented { .. } => "NotImplemented",
        Fault::NotSupported { .. } => "NotSupported",
        Fault::Formation { .. } => "FormationViolation",
        Fault::Missing { .. } => "OccurenceConstraintViolation",
        Fault::WrongType { .. } => "TypeConstraintViolation",
        Fault::WrongValue { .. } => "PropertyConstraintViolation",
    }
}

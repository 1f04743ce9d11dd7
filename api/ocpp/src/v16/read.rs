//! Messages of OCPP 1.6 as facts.
use serde_json::Value;

use crate::facts::{
    Event, Model, Quantity, Reply, Request, Sample, Samples, Stage, Status, TransactionFacts,
    Variable,
};
use crate::fields::{Fault, Fields};
use crate::profiles::read_periods;
use crate::samples::read_samples;

/// Messages that only a central system sends.
const NOT_FOR_US: &[&str] = &[
    "CancelReservation",
    "CertificateSigned",
    "ChangeAvailability",
    "ChangeConfiguration",
    "ClearCache",
    "ClearChargingProfile",
    "DeleteCertificate",
    "ExtendedTriggerMessage",
    "GetCompositeSchedule",
    "GetConfiguration",
    "GetDiagnostics",
    "GetInstalledCertificateIds",
    "GetLocalListVersion",
    "GetLog",
    "InstallCertificate",
    "RemoteStartTransaction",
    "RemoteStopTransaction",
    "ReserveNow",
    "Reset",
    "SendLocalList",
    "SetChargingProfile",
    "SignedUpdateFirmware",
    "TriggerMessage",
    "UnlockConnector",
    "UpdateFirmware",
];

/// Reads a request of a charge point.
///
/// # Errors
/// The action is not known or not for us, or a field is missing that the message needs.
pub fn read_event(action: &str, payload: &Value) -> Result<Event, Fault> {
    let fields = Fields(payload);
    Ok(match action {
        "Authorize" => Event::Authorize { token: fields.required("idTag")?.to_owned() },
        "BootNotification" => Event::Booted(Model {
            vendor: fields.required("chargePointVendor")?.to_owned(),
            model: fields.required("chargePointModel")?.to_owned(),
            serial_number: fields
                .string("chargePointSerialNumber")
                .or_else(|| fields.string("chargeBoxSerialNumber")),
            firmware: fields.string("firmwareVersion"),
        }),
        "DataTransfer" => {
            fields.required("vendorId")?;
            Event::DataTransfer
        }
        "Heartbeat" => Event::Heartbeat,
        "MeterValues" => Event::Metered {
            connector: fields.connector("connectorId")?,
            samples: read_samples(fields, "meterValue"),
        },
        "StartTransaction" => Event::Transaction(read_start(fields)?),
        "StatusNotification" => Event::Status {
            connector: fields.connector("connectorId")?,
            status: status_of(fields.required("status")?)?,
            at: fields.instant("timestamp"),
        },
        "StopTransaction" => Event::Transaction(read_stop(fields)),
        "SignCertificate" => Event::SignCertificate,
        "DiagnosticsStatusNotification"
        | "FirmwareStatusNotification"
        | "LogStatusNotification"
        | "SecurityEventNotification"
        | "SignedFirmwareStatusNotification" => Event::Noted,
        _ if NOT_FOR_US.contains(&action) => {
            return Err(Fault::NotSupported { action: action.to_owned() });
        }
        _ => return Err(Fault::NotImplemented { action: action.to_owned() }),
    })
}

fn status_of(word: &str) -> Result<Status, Fault> {
    Ok(match word {
        "Available" => Status::Available,
        "Preparing" => Status::Preparing,
        "Charging" => Status::Charging,
        "SuspendedEV" => Status::SuspendedByVehicle,
        "SuspendedEVSE" => Status::SuspendedByCharger,
        "Finishing" => Status::Finishing,
        "Reserved" => Status::Reserved,
        "Unavailable" => Status::Unavailable,
        "Faulted" => Status::Faulted,
        // Version 1.5, which some firmware still speaks under the name of 1.6.
        "Occupied" => Status::Occupied,
        _ => {
            let given = word.to_owned();
            let expected = "a ChargePointStatus such as Available or Charging";
            return Err(Fault::WrongValue { field: "status", given, expected });
        }
    })
}

/// Register at the start or end, which the protocol has in Wh and without a unit.
fn read_register(fields: Fields<'_>, field: &str) -> Option<Sample> {
    let value = fields.number(field)?;
    let at = fields.instant("timestamp");
    Some(Sample { at, quantity: Quantity::Imported, value, has_unit: false })
}

fn read_start(fields: Fields<'_>) -> Result<TransactionFacts, Fault> {
    Ok(TransactionFacts {
        stage: Stage::Started,
        id: None,
        connector: Some(fields.connector("connectorId")?).filter(|&connector| connector > 0),
        at: fields.instant("timestamp"),
        token: fields.string("idTag"),
        status: None,
        samples: Samples {
            values: read_register(fields, "meterStart").into_iter().collect(),
            unreadable: 0,
        },
    })
}

fn read_stop(fields: Fields<'_>) -> TransactionFacts {
    let mut samples = read_samples(fields, "transactionData");
    samples.values.extend(read_register(fields, "meterStop"));
    TransactionFacts {
        stage: Stage::Ended,
        id: fields.integer("transactionId").map(|id| id.to_string()),
        connector: None,
        at: fields.instant("timestamp"),
        token: fields.string("idTag"),
        status: None,
        samples,
    }
}

/// Reads the reply to a request.
#[must_use]
pub fn read_reply(request: &Request, payload: &Value) -> Reply {
    let fields = Fields(payload);
    match request {
        Request::ReadVariables => Reply::Variables(read_variables(fields)),
        Request::ReadSchedule { .. } if fields.text("status") == Some("Accepted") => {
            let start = fields.instant("scheduleStart");
            Reply::Schedule { start, periods: read_periods(fields.inner("chargingSchedule")) }
        }
        _ => match fields.text("status") {
            Some("Accepted" | "RebootRequired" | "Unlocked") => Reply::Accepted,
            Some("NotSupported" | "NotImplemented") => Reply::NotSupported,
            status => Reply::Refused { status: status.unwrap_or("no status").to_owned() },
        },
    }
}

fn read_variables(fields: Fields<'_>) -> Vec<(Variable, String)> {
    let keys = fields.list("configurationKey");
    keys.filter_map(|key| read_variable(key.text("key")?, key.text("value")?)).collect()
}

fn read_variable(key: &str, value: &str) -> Option<(Variable, String)> {
    let has = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
    Some(match key {
        "SupportedFeatureProfiles" => (Variable::SmartCharging, has("SmartCharging").to_string()),
        "ChargingScheduleAllowedChargingRateUnit" => {
            let units = [("Current", "A"), ("A", "A"), ("Power", "W"), ("W", "W")];
            let mut known: Vec<&str> =
                units.iter().filter(|(word, _)| has(word)).map(|(_, unit)| *unit).collect();
            known.dedup();
            (Variable::RateUnits, known.join(","))
        }
        "ChargeProfileMaxStackLevel" => (Variable::StackLevelMax, value.to_owned()),
        "ChargingScheduleMaxPeriods" => (Variable::PeriodsMax, value.to_owned()),
        "MaxChargingProfilesInstalled" => (Variable::ProfilesMax, value.to_owned()),
        "MeterValuesSampledData" => (Variable::Measurands, value.to_owned()),
        "MeterValueSampleInterval" => (Variable::MeterInterval, value.to_owned()),
        "ClockAlignedDataInterval" => (Variable::AlignedInterval, value.to_owned()),
        "NumberOfConnectors" => (Variable::Connectors, value.to_owned()),
        _ => return None,
    })
}

//! Messages of OCPP 2.0.1 as facts.
use serde_json::Value;

use crate::facts::{
    Connector, Event, Model, Reply, Request, Stage, Status, TransactionFacts, Variable,
};
use crate::fields::{Fault, Fields};
use crate::profiles::read_periods;
use crate::samples::read_samples;
use crate::v201::write::NAMES;

/// Messages that this system knows and does not take part in, or that only it sends.
const NOT_FOR_US: &[&str] = &[
    "CancelReservation",
    "CertificateSigned",
    "ChangeAvailability",
    "ClearCache",
    "ClearChargingProfile",
    "ClearDisplayMessage",
    "ClearVariableMonitoring",
    "CostUpdated",
    "CustomerInformation",
    "DeleteCertificate",
    "Get15118EVCertificate",
    "GetBaseReport",
    "GetCertificateStatus",
    "GetChargingProfiles",
    "GetCompositeSchedule",
    "GetDisplayMessages",
    "GetInstalledCertificateIds",
    "GetLocalListVersion",
    "GetLog",
    "GetMonitoringReport",
    "GetReport",
    "GetTransactionStatus",
    "GetVariables",
    "InstallCertificate",
    "NotifyEVChargingNeeds",
    "NotifyEVChargingSchedule",
    "PublishFirmware",
    "RequestStartTransaction",
    "RequestStopTransaction",
    "ReserveNow",
    "Reset",
    "SendLocalList",
    "SetChargingProfile",
    "SetDisplayMessage",
    "SetMonitoringBase",
    "SetMonitoringLevel",
    "SetNetworkProfile",
    "SetVariableMonitoring",
    "SetVariables",
    "TriggerMessage",
    "UnlockConnector",
    "UnpublishFirmware",
    "UpdateFirmware",
];

/// Reads a request of a charge point.
///
/// # Errors
/// The action is not known or not done here, or a field is missing that the message needs.
pub fn read_event(action: &str, payload: &Value) -> Result<Event, Fault> {
    let fields = Fields(payload);
    Ok(match action {
        "Authorize" => {
            Event::Authorize { token: fields.inner("idToken").required("idToken")?.to_owned() }
        }
        "BootNotification" => Event::Booted(read_model(fields.inner("chargingStation"))?),
        "DataTransfer" => {
            fields.required("vendorId")?;
            Event::DataTransfer
        }
        "Heartbeat" => Event::Heartbeat,
        "MeterValues" => Event::Metered {
            connector: fields.connector("evseId")?,
            samples: read_samples(fields, "meterValue"),
        },
        "StatusNotification" => Event::Status {
            connector: fields.connector("evseId")?,
            status: status_of(fields.required("connectorStatus")?)?,
            at: fields.instant("timestamp"),
        },
        "TransactionEvent" => Event::Transaction(read_transaction(fields)?),
        "SignCertificate" => Event::SignCertificate,
        "NotifyEvent" => match read_vehicles(fields) {
            vehicles if vehicles.is_empty() => Event::Noted,
            vehicles => Event::Identified(vehicles),
        },
        "ClearedChargingLimit"
        | "FirmwareStatusNotification"
        | "LogStatusNotification"
        | "NotifyChargingLimit"
        | "NotifyCustomerInformation"
        | "NotifyDisplayMessages"
        | "NotifyMonitoringReport"
        | "NotifyReport"
        | "PublishFirmwareStatusNotification"
        | "ReportChargingProfiles"
        | "ReservationStatusUpdate"
        | "SecurityEventNotification" => Event::Noted,
        _ if NOT_FOR_US.contains(&action) => {
            return Err(Fault::NotSupported { action: action.to_owned() });
        }
        _ => return Err(Fault::NotImplemented { action: action.to_owned() }),
    })
}

fn read_model(station: Fields<'_>) -> Result<Model, Fault> {
    Ok(Model {
        vendor: station.required("vendorName")?.to_owned(),
        model: station.required("model")?.to_owned(),
        serial_number: station.string("serialNumber"),
        firmware: station.string("firmwareVersion"),
    })
}

fn status_of(word: &str) -> Result<Status, Fault> {
    Ok(match word {
        "Available" => Status::Available,
        "Occupied" => Status::Occupied,
        "Reserved" => Status::Reserved,
        "Unavailable" => Status::Unavailable,
        "Faulted" => Status::Faulted,
        _ => {
            let given = word.to_owned();
            let expected = "Available, Occupied, Reserved, Unavailable or Faulted";
            return Err(Fault::WrongValue { field: "connectorStatus", given, expected });
        }
    })
}

fn read_transaction(fields: Fields<'_>) -> Result<TransactionFacts, Fault> {
    let stage = match fields.required("eventType")? {
        "Started" => Stage::Started,
        "Updated" => Stage::Updated,
        "Ended" => Stage::Ended,
        given => {
            let (given, expected) = (given.to_owned(), "Started, Updated or Ended");
            return Err(Fault::WrongValue { field: "eventType", given, expected });
        }
    };
    let info = fields.inner("transactionInfo");
    // Without one, the transaction is looked for by its identifier.
    let evse = fields.inner("evse").connector("id").ok();
    Ok(TransactionFacts {
        stage,
        id: info.string("transactionId"),
        connector: evse.filter(|&id| id > 0),
        at: fields.instant("timestamp"),
        token: fields.inner("idToken").string("idToken"),
        status: info.text("chargingState").and_then(charging_state),
        samples: read_samples(fields, "meterValue"),
    })
}

/// Identifiers of vehicles among reported variables: `VehicleId` of the component `ConnectedEV` of an EVSE.
fn read_vehicles(fields: Fields<'_>) -> Vec<(Connector, String)> {
    let read = |event: Fields<'_>| {
        let (component, variable) = (event.inner("component"), event.inner("variable"));
        let is_named = |named: Fields<'_>, name: &str| {
            named.text("name").is_some_and(|given| given.eq_ignore_ascii_case(name))
        };
        let is_vehicle = is_named(component, "ConnectedEV") && is_named(variable, "VehicleId");
        let evse = component.inner("evse").connector("id").ok().filter(|id| *id > 0);
        evse.filter(|_| is_vehicle).zip(event.string("actualValue"))
    };
    fields.list("eventData").filter_map(read).collect()
}

fn charging_state(word: &str) -> Option<Status> {
    Some(match word {
        "Charging" => Status::Charging,
        "EVConnected" => Status::Preparing,
        "SuspendedEV" => Status::SuspendedByVehicle,
        "SuspendedEVSE" => Status::SuspendedByCharger,
        // The cable is out of the vehicle.
        "Idle" => Status::Available,
        _ => return None,
    })
}

/// Reads the reply to a request.
#[must_use]
pub fn read_reply(request: &Request, payload: &Value) -> Reply {
    let fields = Fields(payload);
    let status = match request {
        Request::ReadVariables => return Reply::Variables(read_variables(fields)),
        Request::ReadSchedule { .. } if fields.text("status") == Some("Accepted") => {
            let schedule = fields.inner("schedule");
            let start = schedule.instant("scheduleStart");
            return Reply::Schedule { start, periods: read_periods(schedule) };
        }
        Request::SetVariable { .. } => fields
            .list("setVariableResult")
            .next()
            .and_then(|result| result.text("attributeStatus")),
        _ => fields.text("status"),
    };
    match status {
        Some("Accepted" | "RebootRequired" | "Scheduled" | "Unlocked") => Reply::Accepted,
        Some("NotSupported" | "NotImplemented" | "UnknownComponent" | "UnknownVariable") => {
            Reply::NotSupported
        }
        status => Reply::Refused { status: status.unwrap_or("no status").to_owned() },
    }
}

fn read_variables(fields: Fields<'_>) -> Vec<(Variable, String)> {
    let results = fields.list("getVariableResult");
    results.filter_map(read_variable).collect()
}

fn read_variable(result: Fields<'_>) -> Option<(Variable, String)> {
    let component = result.inner("component").text("name")?;
    let name = result.inner("variable").text("name")?;
    let value = result.text("attributeValue")?;
    let known = NAMES.iter().find(|known| (known.component, known.name) == (component, name))?;
    let value = match known.variable {
        Variable::SmartCharging => value.eq_ignore_ascii_case("true").to_string(),
        _ => value.to_owned(),
    };
    Some((known.variable, value))
}

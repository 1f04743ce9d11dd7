//! The charge point of the crate `ocpp-client`, in both versions, at the integration.
//!
//! Its exchange of messages is its own: identifiers, answers, time-outs and errors. The types of its
//! payloads are those of `ocpp-types`, which the integration checks its own payloads with, too. Its
//! sockets would bring another TLS library, so that it gets one of ours.
use std::pin::Pin;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use ocpp_client::ocpp_1_6::OCPP1_6Client;
use ocpp_client::ocpp_2_0_1::OCPP2_0_1Client;
use ocpp_client::{
    Client, ProtocolError, TokioExecutor, TokioTimer, TransportError, TransportEvent,
    TransportSink, TransportStream,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slackwater_control::device::command::Command;
use slackwater_engine::units::{Power, amps};
use slackwater_integration::reading::{ChargerFacts, Facts};
use slackwater_integration::vendor::{Linked, LogIn, Login, Vendor};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::point::{House, IDENTITY};

type Socket = WebSocketStream<TcpStream>;

type Task<'a, T> = Pin<Box<dyn Future<Output = Result<T, TransportError>> + Send + 'a>>;

/// Time for an answer, which no test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

struct Sink(SplitSink<Socket, Message>);

impl Sink {
    fn pass(&mut self, message: Message) -> Task<'_, ()> {
        Box::pin(async move { Ok(self.0.send(message).await?) })
    }
}

impl TransportSink for Sink {
    fn send(&mut self, frame: String) -> Task<'_, ()> {
        self.pass(Message::text(frame))
    }

    fn ping(&mut self, payload: Vec<u8>) -> Task<'_, ()> {
        self.pass(Message::Ping(payload.into()))
    }

    fn pong(&mut self, payload: Vec<u8>) -> Task<'_, ()> {
        self.pass(Message::Pong(payload.into()))
    }

    fn close(&mut self) -> Task<'_, ()> {
        self.pass(Message::Close(None))
    }
}

struct Stream(SplitStream<Socket>);

impl TransportStream for Stream {
    fn recv(&mut self) -> Task<'_, Option<TransportEvent>> {
        Box::pin(async move {
            loop {
                return Ok(match self.0.next().await.transpose()? {
                    Some(Message::Text(text)) => Some(TransportEvent::Frame(text.to_string())),
                    Some(Message::Ping(payload)) => Some(TransportEvent::Ping(payload.to_vec())),
                    Some(Message::Pong(payload)) => Some(TransportEvent::Pong(payload.to_vec())),
                    Some(Message::Close(_)) | None => None,
                    Some(_) => continue,
                });
            }
        })
    }
}

/// Connects in a version.
async fn connect<E: ProtocolError>(house: &House, version: &str) -> Client<E> {
    let stream = TcpStream::connect(house.vendor.address()).await.unwrap();
    let mut request = format!("ws://localhost/{IDENTITY}").into_client_request().unwrap();
    let pair = STANDARD.encode(format!("{IDENTITY}:{}", house.secrets.password));
    let headers = request.headers_mut();
    headers.insert("Sec-WebSocket-Protocol", version.parse().unwrap());
    headers.insert("Authorization", format!("Basic {pair}").parse().unwrap());
    let (sink, stream) = client_async(request, stream).await.unwrap().0.split();
    let (executor, timer) = (Box::new(TokioExecutor), Box::new(TokioTimer));
    Client::from_transport(
        Box::new(Sink(sink)),
        Box::new(Stream(stream)),
        PATIENCE,
        executor,
        timer,
    )
}

/// A payload from its fields.
fn made<T: DeserializeOwned>(fields: Value) -> T {
    serde_json::from_value(fields).unwrap()
}

fn written(fields: &impl Serialize) -> Value {
    serde_json::to_value(fields).unwrap()
}

async fn link(house: &House) -> Linked {
    let login = Login::new(IDENTITY, &house.secrets.code);
    match house.vendor.log_in(&login, house.hands.now()).await.unwrap() {
        LogIn::Connected { connection, offers } => Linked::new(connection, &offers[0].device),
        LogIn::CodeNeeded { .. } => panic!("no second code"),
    }
}

async fn read(house: &House, device: &Linked) -> ChargerFacts {
    match house.vendor.poll(device, house.hands.now()).await.unwrap().facts {
        Facts::Charger(facts) => *facts,
        other => panic!("{other:?}"),
    }
}

/// Limits the charger, which accepts profiles: the default comes first, then the limit, which ends.
async fn limit(house: &House, device: &Linked, profiles: &mut UnboundedReceiver<(f64, Value)>) {
    house.hands.advance(TimeDelta::seconds(11));
    let command = Command::MaxCurrent(amps(10.0));
    house.vendor.send(device, &command, house.hands.now()).await.unwrap();
    assert_eq!(profiles.recv().await, Some((6.0, Value::Null)));
    let (limit, end) = profiles.recv().await.unwrap();
    let end: DateTime<Utc> = end.as_str().unwrap().parse().unwrap();
    assert_eq!((limit, end), (10.0, house.hands.now() + TimeDelta::seconds(300)));
    while read(house, device).await.max_current != Some(amps(10.0)) {
        tokio::task::yield_now().await;
    }
}

/// Passes the limit and the end of a profile on.
fn pass_on(sender: &UnboundedSender<(f64, Value)>, profile: &Value, schedule: &Value) {
    let limit = schedule["chargingSchedulePeriod"][0]["limit"].as_f64().unwrap();
    sender.send((limit, profile["validTo"].clone())).unwrap();
}

#[tokio::test]
async fn a_charge_point_of_1_6_charges_and_is_limited() {
    let house = House::new(&json!({}));
    let client: OCPP1_6Client = connect(&house, "ocpp1.6").await;
    let (sender, mut profiles) = unbounded_channel();
    client
        .on_set_charging_profile(move |request, _| {
            let profile = written(&request)["csChargingProfiles"].clone();
            pass_on(&sender, &profile, &profile["chargingSchedule"]);
            async { Ok(made(json!({"status": "Accepted"}))) }
        })
        .await;
    client
        .on_get_configuration(|_, _| async {
            Ok(made(json!({"configurationKey": [
                {"key": "SupportedFeatureProfiles", "readonly": true, "value": "Core,SmartCharging"},
            ]})))
        })
        .await;
    client
        .on_get_composite_schedule(|_, _| async { Ok(made(json!({"status": "Rejected"}))) })
        .await;
    let model = json!({"chargePointVendor": "Other", "chargePointModel": "Client"});
    let booted = client.send_boot_notification(made(model)).await.unwrap();
    assert_eq!(written(&booted)["status"], "Accepted");
    let at = house.hands.now().to_rfc3339();
    let start = json!({"connectorId": 1, "idTag": "ada", "meterStart": 1000, "timestamp": at});
    let started = client.send_start_transaction(made(start)).await.unwrap();
    let id = written(&started)["transactionId"].clone();
    let charging = json!({"connectorId": 1, "errorCode": "NoError", "status": "Charging"});
    client.send_status_notification(made(charging)).await.unwrap();
    let values = json!({"connectorId": 1, "transactionId": id, "meterValue": [{"timestamp": at,
        "sampledValue": [{"value": "11040", "measurand": "Power.Active.Import", "unit": "W"}]}]});
    client.send_meter_values(made(values)).await.unwrap();
    let device = link(&house).await;
    let facts = read(&house, &device).await;
    assert_eq!(
        (facts.information.brand.as_str(), facts.charging.is_charging),
        ("Other", Some(true))
    );
    assert_eq!(facts.charging.charge_rate.map(Power::as_kw), Some(11.04));
    limit(&house, &device, &mut profiles).await;
    let at = house.hands.now().to_rfc3339();
    let stop = json!({"transactionId": id, "meterStop": 1500, "timestamp": at});
    client.send_stop_transaction(made(stop)).await.unwrap();
    client.disconnect().await.unwrap();
}

#[tokio::test]
async fn a_charging_station_of_2_0_1_charges_and_is_limited() {
    let house = House::new(&json!({}));
    let client: OCPP2_0_1Client = connect(&house, "ocpp2.0.1").await;
    let (sender, mut profiles) = unbounded_channel();
    client
        .on_set_charging_profile(move |request, _| {
            let profile = written(&request)["chargingProfile"].clone();
            pass_on(&sender, &profile, &profile["chargingSchedule"][0]);
            async { Ok(made(json!({"status": "Accepted"}))) }
        })
        .await;
    client
        .on_get_variables(|request, _| {
            let asked = written(&request)["getVariableData"].as_array().cloned().unwrap();
            let unknown = |one: &Value| {
                json!({"attributeStatus": "UnknownVariable", "component": one["component"],
                    "variable": one["variable"]})
            };
            let results: Vec<Value> = asked.iter().map(unknown).collect();
            async move { Ok(made(json!({"getVariableResult": results}))) }
        })
        .await;
    client
        .on_get_composite_schedule(|_, _| async { Ok(made(json!({"status": "Rejected"}))) })
        .await;
    let station = json!({"vendorName": "Other", "model": "Client"});
    let boot = json!({"reason": "PowerUp", "chargingStation": station});
    let booted = client.send_boot_notification(made(boot)).await.unwrap();
    assert_eq!(written(&booted)["status"], "Accepted");
    let at = house.hands.now().to_rfc3339();
    let occupied =
        json!({"timestamp": at, "connectorStatus": "Occupied", "evseId": 1, "connectorId": 1});
    client.send_status_notification(made(occupied)).await.unwrap();
    let event = |kind: &str, number: i64, state: &str| {
        let sampled = json!([
            {"value": 11040.0, "measurand": "Power.Active.Import", "unitOfMeasure": {"unit": "W"}},
        ]);
        json!({"eventType": kind, "timestamp": at, "triggerReason": "ChargingStateChanged",
            "seqNo": number, "evse": {"id": 1, "connectorId": 1},
            "transactionInfo": {"transactionId": "tx-1", "chargingState": state},
            "meterValue": [{"timestamp": at, "sampledValue": sampled}]})
    };
    client.send_transaction_event(made(event("Started", 0, "Charging"))).await.unwrap();
    client.send_transaction_event(made(event("Updated", 1, "Charging"))).await.unwrap();
    let device = link(&house).await;
    let facts = read(&house, &device).await;
    assert_eq!(
        (facts.information.brand.as_str(), facts.charging.is_charging),
        ("Other", Some(true))
    );
    assert_eq!(facts.charging.charge_rate.map(Power::as_kw), Some(11.04));
    limit(&house, &device, &mut profiles).await;
    client.send_transaction_event(made(event("Ended", 2, "Idle"))).await.unwrap();
    client.disconnect().await.unwrap();
}

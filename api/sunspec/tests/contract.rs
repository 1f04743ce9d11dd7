//! The contract of integrations, in front of a device of registers.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends it")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::device::battery::OperationMode;
use slackwater_control::device::command::{Command, Switch};
use slackwater_engine::units::{kw, kwh, percent};
use slackwater_integration::error::VendorError;
use slackwater_integration::reading::{BatteryFacts, Facts, Reading};
use slackwater_integration::testing::check_vendor;
use slackwater_integration::vendor::{Linked, LogIn, Login, Vendor};
use slackwater_sunspec::settings::SunSpecSettings;
use slackwater_sunspec::vendor::SunSpec;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Holding registers of a device, by address. It refuses all others.
type Registers = Arc<Mutex<BTreeMap<u16, u16>>>;

/// First register of the model with storage control.
const CONTROL: u16 = 40_122;

/// Holds the address of a register that takes writes and keeps its value.
const STUCK: u16 = 65_000;

/// A hybrid: models 1, 103 and 124.
fn hybrid() -> Registers {
    let mut all = vec![0x5375, 0x6E53, 1, 66];
    all.extend(text("Fjord", 16).into_iter().chain(text("Hybrid 8", 16)));
    all.extend(text("", 8).into_iter().chain(text("1.2", 8)).chain(text("F-77", 16)));
    all.extend([1, 0x8000]);
    let mut inverter = vec![0x8000; 52];
    inverter[..2].copy_from_slice(&[103, 50]);
    // 5,230 W, and 65,546 kWh.
    inverter[14..16].copy_from_slice(&[523, 1]);
    inverter[24..27].copy_from_slice(&[1, 10, 3]);
    all.extend(inverter);
    let mut control = vec![0xFFFF; 26];
    control[..2].copy_from_slice(&[124, 24]);
    control[5] = 0;
    control[8] = 6400;
    control[12..14].copy_from_slice(&[10_000, 10_000]);
    control[15] = 0;
    control[22] = (-2_i16).cast_unsigned();
    control[25] = (-2_i16).cast_unsigned();
    all.extend(control);
    all.extend([0xFFFF, 0]);
    Arc::new(Mutex::new((40_000..).zip(all).collect()))
}

fn text(text: &str, registers: usize) -> Vec<u16> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(registers * 2, 0);
    bytes.chunks(2).map(|two| u16::from_be_bytes([two[0], two[1]])).collect()
}

/// Serves registers until the test ends.
async fn serve(registers: &Registers) -> (String, AbortHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let registers = Arc::clone(registers);
    let task = tokio::spawn(async move {
        loop {
            // One connection at a time, as many devices do.
            let (socket, _) = listener.accept().await.unwrap();
            serve_one(socket, &registers).await;
        }
    });
    (address, task.abort_handle())
}

/// Answers the requests of a connection: read (3) and write (16) of holding registers.
async fn serve_one(mut socket: TcpStream, registers: &Registers) {
    let mut header = [0; 7];
    while socket.read_exact(&mut header).await.is_ok() {
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut request = vec![0; length - 1];
        socket.read_exact(&mut request).await.unwrap();
        let answer = answer(&request, &mut registers.lock().unwrap());
        let length = u16::try_from(answer.len() + 1).unwrap();
        header[4..6].copy_from_slice(&length.to_be_bytes());
        socket.write_all(&[&header[..], &answer].concat()).await.unwrap();
    }
}

fn answer(request: &[u8], registers: &mut BTreeMap<u16, u16>) -> Vec<u8> {
    let word = |at: usize| u16::from_be_bytes([request[at], request[at + 1]]);
    let (start, count) = (word(1), word(3));
    let known = (start..start.saturating_add(count)).all(|at| registers.contains_key(&at));
    match request[0] {
        code if !known => vec![code | 0x80, 2],
        3 => {
            let values = (start..start + count).flat_map(|at| registers[&at].to_be_bytes());
            [3, u8::try_from(count * 2).unwrap()].into_iter().chain(values).collect()
        }
        16 => {
            for n in 0..count {
                if registers.get(&STUCK) != Some(&(start + n)) {
                    registers.insert(start + n, word(6 + usize::from(n) * 2));
                }
            }
            request[..5].to_vec()
        }
        code => vec![code | 0x80, 1],
    }
}

fn open(address: &str, device: &Value) -> SunSpec {
    let folder = tempfile::tempdir().unwrap();
    let password_file = folder.path().join("password");
    fs::write(&password_file, "sesame\n").unwrap();
    let mut own = json!({
        "address": address, "user": "ada", "kinds": ["inverter", "battery"],
        "installed_on": "2024-05-01",
    });
    own.as_object_mut().unwrap().extend(device.as_object().unwrap().clone());
    let settings: SunSpecSettings = serde_json::from_value(json!({
        "users": {
            "ada": {"password_file": password_file}, "bo": {"password_file": password_file},
        },
        "devices": {"roof": own},
    }))
    .unwrap();
    SunSpec::open(&settings).unwrap()
}

fn now() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().unwrap()
}

async fn link(vendor: &SunSpec, device: &str) -> Linked {
    match vendor.log_in(&Login::new("ada", "sesame"), now()).await.unwrap() {
        LogIn::Connected { connection, .. } => Linked::new(connection, device),
        LogIn::CodeNeeded { .. } => panic!("there is no code"),
    }
}

fn battery_of(reading: Reading) -> BatteryFacts {
    match reading.facts {
        Facts::Battery(facts) => *facts,
        other => panic!("{other:?}"),
    }
}

async fn shown_mode(
    vendor: &SunSpec,
    battery: &Linked,
    at: DateTime<Utc>,
) -> Option<OperationMode> {
    battery_of(vendor.poll(battery, at).await.unwrap()).mode
}

#[tokio::test]
async fn the_contract_is_kept() {
    let (address, _) = serve(&hybrid()).await;
    let vendor = open(&address, &json!({"serial_number": "F-77"}));
    let breaches = check_vendor(&vendor, &Login::new("ada", "sesame"), now()).await;
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[tokio::test]
async fn a_hybrid_is_an_inverter_and_a_battery() {
    let (address, _) = serve(&hybrid()).await;
    let vendor = open(&address, &json!({"name": "Roof"}));
    let reading = vendor.poll(&link(&vendor, "roof/inverter").await, now()).await.unwrap();
    let counters = reading.counters.unwrap();
    assert_eq!((counters.imported, counters.exported), (kwh(0.0), kwh(65_546.0)));
    let Facts::Inverter(facts) = reading.facts else { panic!("{:?}", reading.facts) };
    assert_eq!((facts.production, facts.is_producing), (kw(5.23), true));
    let named = &facts.information;
    assert_eq!((&*named.brand, &*named.model, &*named.site_name), ("Fjord", "Hybrid 8", "Roof"));
    let reading = vendor.poll(&link(&vendor, "roof/battery").await, now()).await.unwrap();
    assert_eq!(reading.counters, None);
    let facts = battery_of(reading);
    // Its power is not told apart from that of the panels, and there is no capacity.
    assert_eq!((facts.power, facts.capacity), (None, None));
    assert_eq!((facts.soc, facts.mode), (Some(percent(64.0)), Some(OperationMode::SelfReliance)));
}

#[tokio::test]
async fn a_battery_alone_has_the_power_of_its_inverter() {
    let (address, _) = serve(&hybrid()).await;
    let vendor = open(&address, &json!({"kinds": ["battery"]}));
    let battery = link(&vendor, "roof/battery").await;
    let facts = battery_of(vendor.poll(&battery, now()).await.unwrap());
    assert_eq!(facts.power, Some(kw(-5.23)), "it discharges");
    let other = Linked::new(battery.connection, "roof/inverter");
    assert_eq!(vendor.poll(&other, now()).await, Err(VendorError::NoSuchDevice));
}

#[tokio::test]
async fn nobody_reads_the_device_of_another_owner() {
    let (address, _) = serve(&hybrid()).await;
    let vendor = open(&address, &json!({}));
    let login = Login::new("bo", "sesame");
    let LogIn::Connected { connection, offers } = vendor.log_in(&login, now()).await.unwrap()
    else {
        panic!("there is no code")
    };
    assert_eq!(offers, []);
    let device = Linked::new(connection, "roof/battery");
    assert_eq!(vendor.poll(&device, now()).await, Err(VendorError::NoSuchDevice));
    let unknown = Login::new("eve", "sesame");
    assert_eq!(vendor.log_in(&unknown, now()).await, Err(VendorError::Unauthorised));
}

#[tokio::test]
async fn a_mode_is_written_with_its_timer_and_renewed_by_polls() {
    let registers = hybrid();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    let order = Command::OperationMode(OperationMode::ImportFocus);
    vendor.send(&battery, &order, now()).await.unwrap();
    let read = |offset: u16| registers.lock().unwrap()[&(CONTROL + offset)];
    let expected = [3, (-10_000_i16).cast_unsigned(), 10_000, 1800];
    assert_eq!([read(5), read(12), read(13), read(15)], expected);
    let at = |minutes| now() + TimeDelta::minutes(minutes);
    // A poll within the time of the device's timer starts it anew.
    registers.lock().unwrap().insert(CONTROL + 15, 0);
    assert_eq!(shown_mode(&vendor, &battery, at(9)).await, Some(OperationMode::ImportFocus));
    assert_eq!(read(15), 1800);
    // The owner changes the battery: the order is over.
    registers.lock().unwrap().insert(CONTROL + 5, 0);
    assert_eq!(shown_mode(&vendor, &battery, at(18)).await, Some(OperationMode::SelfReliance));
    registers.lock().unwrap().extend([(CONTROL + 5, 3), (CONTROL + 15, 0)]);
    assert_eq!(shown_mode(&vendor, &battery, at(19)).await, Some(OperationMode::ImportFocus));
    assert_eq!(read(15), 0, "that is not ours");
}

#[tokio::test]
async fn an_order_is_not_renewed_after_its_time() {
    let registers = hybrid();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    let order = Command::OperationMode(OperationMode::Idle);
    vendor.send(&battery, &order, now()).await.unwrap();
    registers.lock().unwrap().insert(CONTROL + 15, 0);
    let late = now() + TimeDelta::minutes(31);
    assert_eq!(shown_mode(&vendor, &battery, late).await, Some(OperationMode::Idle));
    assert_eq!(registers.lock().unwrap()[&(CONTROL + 15)], 0);
}

#[tokio::test]
async fn commands_without_a_way_back_are_refused() {
    let registers = hybrid();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    let refuse = async |command: Command| match vendor.send(&battery, &command, now()).await {
        Err(VendorError::PreconditionLost { detail }) => detail,
        other => panic!("{other:?}"),
    };
    let told = refuse(Command::OperationMode(OperationMode::TimeOfUse)).await;
    assert_eq!(told, "storage control (model 124) has no mode time_of_use");
    assert_eq!(refuse(Command::Charge(Switch::Start)).await, "the device has no such command");
    registers.lock().unwrap().insert(CONTROL + 15, 0xFFFF);
    let told = refuse(Command::OperationMode(OperationMode::Idle)).await;
    assert_eq!(told, "the device has no timer that ends a limit (InOutWRte_RvrtTms of model 124)");
    assert_eq!(registers.lock().unwrap()[&(CONTROL + 5)], 0);
}

#[tokio::test]
async fn a_timer_that_takes_no_time_switches_nothing_on() {
    let registers = hybrid();
    registers.lock().unwrap().insert(STUCK, CONTROL + 15);
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    let order = Command::OperationMode(OperationMode::ImportFocus);
    let refused = vendor.send(&battery, &order, now()).await;
    assert!(matches!(refused, Err(VendorError::PreconditionLost { .. })), "{refused:?}");
    assert_eq!(registers.lock().unwrap()[&(CONTROL + 5)], 0);
}

#[tokio::test]
async fn polls_of_the_inverter_renew_no_order_to_the_battery() {
    let registers = hybrid();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    let order = Command::OperationMode(OperationMode::Idle);
    vendor.send(&battery, &order, now()).await.unwrap();
    let timer_after = async |device: &str| {
        registers.lock().unwrap().insert(CONTROL + 15, 7);
        vendor.poll(&link(&vendor, device).await, now()).await.unwrap();
        registers.lock().unwrap()[&(CONTROL + 15)]
    };
    assert_eq!(timer_after("roof/inverter").await, 7);
    assert_eq!(timer_after("roof/battery").await, 1800);
}

#[tokio::test]
async fn another_device_at_the_address_is_not_taken_for_it() {
    let registers = hybrid();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({"serial_number": "F-78"}));
    let battery = link(&vendor, "roof/battery").await;
    assert_eq!(vendor.poll(&battery, now()).await, Err(VendorError::NoSuchDevice));
    let order = Command::OperationMode(OperationMode::Idle);
    assert_eq!(vendor.send(&battery, &order, now()).await, Err(VendorError::NoSuchDevice));
    assert_eq!(registers.lock().unwrap()[&(CONTROL + 5)], 0);
}

#[tokio::test]
async fn registers_that_are_no_models_are_refused() {
    let registers = Registers::default();
    let (address, _) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let inverter = link(&vendor, "roof/inverter").await;
    let detail = "the device has no SunSpec registers at 40000, 50000 or 0".to_owned();
    assert_eq!(vendor.poll(&inverter, now()).await, Err(VendorError::Refused { detail }));
    // The map may begin at 0, and an inverter without power is none.
    let models = [0x5375, 0x6E53, 101, 0, 0xFFFF, 0];
    registers.lock().unwrap().extend((0..).zip(models));
    let detail = "its models tell no power".to_owned();
    assert_eq!(vendor.poll(&inverter, now()).await, Err(VendorError::Refused { detail }));
}

#[tokio::test]
async fn a_device_that_is_away_is_left_alone_for_a_while() {
    let registers = hybrid();
    let (address, task) = serve(&registers).await;
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    task.abort();
    // The listener closes once its task is gone.
    while TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(vendor.poll(&battery, now()).await, Err(VendorError::Unreachable));
    let listener = TcpListener::bind(&address).await.unwrap();
    let served = Arc::clone(&registers);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            serve_one(socket, &served).await;
        }
    });
    // Five seconds, of which half are certain.
    let at = |seconds| now() + TimeDelta::seconds(seconds);
    assert_eq!(vendor.poll(&battery, at(2)).await, Err(VendorError::Unreachable));
    assert!(vendor.poll(&battery, at(5)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_device_that_is_silent_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let vendor = open(&address, &json!({}));
    let battery = link(&vendor, "roof/battery").await;
    assert_eq!(vendor.poll(&battery, now()).await, Err(VendorError::TimedOut));
}

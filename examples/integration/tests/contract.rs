//! The contract of Slackwater, and what is special to folders.
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test ends it")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use folder_integration::open;
use slackwater_control::device::command::{Command, Switch};
use slackwater_integration::registry::Settings;
use slackwater_integration::testing::check_vendor;
use slackwater_integration::vendor::{Connection, Linked, Login, Vendor};

const METER: &str = r#"{
    "at": "2026-01-05T17:59:30Z", "is_reachable": true, "capabilities": {}, "counters": null,
    "facts": {"meter": {"power_kw": 1.2, "position": null}}
}"#;

fn now() -> DateTime<Utc> {
    "2026-01-05T18:00:00Z".parse().unwrap()
}

fn folder() -> (tempfile::TempDir, Arc<dyn Vendor>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cellar.json"), METER).unwrap();
    let vendor = open(&settings(folder.path())).unwrap();
    (folder, vendor)
}

fn settings(folder: &Path) -> Settings {
    let text = serde_json::json!({
        "type": "folder", "folder": folder, "user_name": "ada", "password": "sesame",
    });
    serde_json::from_value(text).unwrap()
}

#[tokio::test]
async fn the_contract_is_kept() {
    let (_folder, vendor) = folder();
    let login = Login::new("ada", "sesame");
    let breaches = check_vendor(&*vendor, &login, now()).await;
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[tokio::test]
async fn commands_are_appended_for_the_bridge() {
    let (folder, vendor) = folder();
    let device = Linked::new(Connection::new("owner ada"), "cellar");
    for switch in [Switch::Start, Switch::Stop] {
        vendor.send(&device, &Command::Charge(switch), now()).await.unwrap();
    }
    let lines = fs::read_to_string(folder.path().join("cellar.commands")).unwrap();
    assert_eq!(lines, "{\"charge\":\"start\"}\n{\"charge\":\"stop\"}\n");
}

#[test]
fn a_folder_that_does_not_exist_is_refused() {
    let error = open(&settings(Path::new("/nowhere"))).unwrap_err();
    assert_eq!(error.to_string(), "folder: /nowhere is not a folder");
}

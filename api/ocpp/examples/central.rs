//! Central system without the service around it, for trials with a charger: it adds charge points,
//! prints their readings, and passes commands on.
//!
//! ```sh
//! cargo run -p slackwater-ocpp --example central -- '{"listen": "0.0.0.0:9000",
//!     "security_profile": 1, "state_folder": "chargers"}'
//! ```
//!
//! It reads one order a line, and prints one JSON document for each: `add CP-1`, `link CP-1 CODE`,
//! `poll CP-1/1`, `metered CP-1/1 FROM TO`, `send CP-1/1 {"charge": "start"}`, `trigger CP-1 heartbeat`,
//! `reset CP-1 soft`, `unlock CP-1 1`, `clear CP-1`, and `wait SECONDS`, which moves its clock. The first line that it prints is its address.
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_integration::registry::Settings;
use slackwater_integration::vendor::{Connection, Linked, LogIn, Login, Vendor};
use slackwater_ocpp::edge::enrolment::enrol;
use slackwater_ocpp::edge::files::Folder;
use slackwater_ocpp::facts::Request;
use slackwater_ocpp::settings::OcppSettings;
use slackwater_ocpp::vendor::{Ocpp, check_reply};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

type Failure = Box<dyn Error>;

/// The integration, with the links that were made.
struct Central {
    vendor: Ocpp,
    folder: Folder,
    links: BTreeMap<String, Connection>,
    /// Seconds that its clock is ahead.
    ahead: Arc<AtomicI64>,
}

impl Central {
    async fn obey(&mut self, line: &str) -> Result<Value, Failure> {
        let mut words = line.splitn(3, ' ');
        let (verb, object) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let rest = words.next().unwrap_or_default();
        match verb {
            "add" => {
                let new = enrol(&self.folder, object, true)?;
                Ok(json!({"password": new.password, "code": new.code}))
            }
            "link" => self.link(object, rest).await,
            "poll" => Ok(serde_json::to_value(
                self.vendor.poll(&self.device(object)?, Utc::now()).await?,
            )?),
            "metered" => {
                let (from, to) = rest.split_once(' ').ok_or("metered DEVICE FROM TO")?;
                let (from, to) = (from.parse()?, to.parse()?);
                let device = self.device(object)?;
                let metered = self.vendor.metered(&device, from, to, Utc::now()).await?;
                Ok(serde_json::to_value(metered)?)
            }
            "send" => {
                let command = serde_json::from_str(rest)?;
                self.vendor.send(&self.device(object)?, &command, Utc::now()).await?;
                Ok(json!("sent"))
            }
            "trigger" => {
                let message = serde_json::from_value(rest.into())?;
                self.ask(object, Request::Trigger { message, connector: None }).await
            }
            "reset" => {
                let kind = serde_json::from_value(rest.into())?;
                self.ask(object, Request::Reset { reset: kind }).await
            }
            "unlock" => {
                let connector = rest.parse()?;
                self.ask(object, Request::Unlock { connector }).await
            }
            "clear" => self.ask(object, Request::ClearTokens).await,
            "wait" => {
                let seconds: u32 = object.parse()?;
                self.ahead.fetch_add(seconds.into(), Ordering::Relaxed);
                Ok(json!("waited"))
            }
            _ => {
                Err("add, link, poll, metered, send, trigger, reset, unlock, clear or wait".into())
            }
        }
    }

    async fn ask(&self, identity: &str, request: Request) -> Result<Value, Failure> {
        let reply = self.vendor.hub().ask_charger(identity, request).await?;
        check_reply(reply.ok_or("add the charge point first")?)?;
        Ok(json!("accepted"))
    }

    async fn link(&mut self, identity: &str, code: &str) -> Result<Value, Failure> {
        match self.vendor.log_in(&Login::new(identity, code), Utc::now()).await? {
            LogIn::Connected { connection, offers } => {
                self.links.insert(identity.to_owned(), connection);
                Ok(serde_json::to_value(offers)?)
            }
            LogIn::CodeNeeded { .. } => Err("no second code is asked for".into()),
        }
    }

    fn device(&self, device: &str) -> Result<Linked, Failure> {
        let identity = device.rsplit_once('/').map_or(device, |(identity, _)| identity);
        let connection = self.links.get(identity).ok_or("link the charge point first")?;
        Ok(Linked::new(connection.clone(), device))
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let argument = std::env::args().nth(1).ok_or("the settings as JSON")?;
    let values = serde_json::from_str(&argument)?;
    let settings: OcppSettings = Settings::new("ocpp", values).read()?;
    let ahead = Arc::new(AtomicI64::default());
    let moved = Arc::clone(&ahead);
    let clock = move || Utc::now() + TimeDelta::seconds(moved.load(Ordering::Relaxed));
    let vendor = Ocpp::open(&settings, Arc::new(clock))?;
    println!("{}", json!({"listening": vendor.address()}));
    let folder = Folder::new(&settings.state_folder);
    let mut central = Central { vendor, folder, links: BTreeMap::new(), ahead };
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match central.obey(line.trim()).await {
            Ok(answer) => println!("{answer}"),
            Err(error) => println!("{}", json!({"error": error.to_string()})),
        }
    }
    Ok(())
}

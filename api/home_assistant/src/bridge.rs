//! Connection to the broker, and the commands that come over it.
//!
//! The connection is made anew whenever it ends, with growing pauses, and each one begins without
//! memory of the one before: everything is sent again. The broker marks the devices as unavailable
//! (its *last will*) as soon as the connection ends, for whatever reason.
use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use metrics::gauge;
use rumqttc::{
    AsyncClient, Broker, ClientBuildError, ClientError, ConnectionError, Event, EventLoop,
    Incoming, LastWill, MqttOptions, PublishOptions, QoS, SubscribeFilterInput, TlsConfiguration,
    Transport,
};
use rustls::ClientConfig;
use slackwater_engine::time::backoff::wait;
use slackwater_service::auth::secret::random;
use slackwater_service::clock::Clock;
use slackwater_service::config::HomeAssistantSettings;
use slackwater_service::control::overrides;
use slackwater_service::state::App;
use slackwater_store::clients;
use slackwater_store::error::StoreError;
use tokio::sync::mpsc;
use tracing::{error, info, warn};
use uuid::Uuid;

use crate::discovery::{OFF, OFFLINE, ON, ONLINE, write_discovery};
use crate::retained::Retained;
use crate::state::describe_state;
use crate::topics::{Subject, Topics};
use crate::view::{DeviceView, Reader};

/// Interval at which devices are looked at. Tables in memory are read, and plans that are new.
const INTERVAL: TimeDelta = TimeDelta::seconds(1);

/// Seconds after which the broker is asked for a sign of life.
const KEEP_ALIVE_SECONDS: u16 = 30;

/// A connection of this length has worked: the next pause is short again.
const STEADY: TimeDelta = TimeDelta::minutes(1);

/// Failures after which pauses do not grow any more: at most 40 s.
const FAILURES_MAX: u32 = 4;

/// Messages that wait to be sent, and messages that wait to be read.
const WAITING_MAX: usize = 256;

/// Largest message in either direction, in bytes. States have a tenth of it.
const MESSAGE_MAX: usize = 256 * 1024;

/// Characters of a command that is not understood which the log shows.
const SHOWN_MAX: usize = 40;

/// Devices of a user at a broker.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The environments of this process.
    worlds: Vec<App>,
    settings: HomeAssistantSettings,
    /// TLS, if the address of the broker asks for it.
    tls: Option<Arc<ClientConfig>>,
}

/// Reason why the client of the settings is not known.
#[derive(Debug, thiserror::Error)]
pub enum UnknownClient {
    /// Several clients exist, and the settings name none.
    #[error("client is missing: there are {count} clients; name the one whose user is shown")]
    Several {
        /// Number of clients.
        count: usize,
    },
    /// The clients cannot be read.
    #[error("client: {0}")]
    Store(#[from] StoreError),
}

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Broker(Box<ConnectionError>),
    #[error(transparent)]
    Options(#[from] ClientBuildError),
    #[error(transparent)]
    Request(#[from] ClientError),
}

/// Message of the broker.
#[derive(Debug)]
enum Arrival {
    /// The connection is there.
    Connected,
    /// Somebody wrote something.
    Message { topic: String, text: String, is_retained: bool },
}

impl Bridge {
    /// Bridge between the environments of a process and the broker of its settings.
    #[must_use]
    pub const fn new(
        worlds: Vec<App>,
        settings: HomeAssistantSettings,
        tls: Option<Arc<ClientConfig>>,
    ) -> Self {
        Self { worlds, settings, tls }
    }

    /// Shows the devices until the task is dropped.
    pub async fn run(self) {
        let machine = Clock::system();
        let broker = self.settings.broker.to_string();
        let mut failures = 0;
        loop {
            let began = machine.now();
            let ended = self.hold_connection(&machine).await;
            gauge!("slackwater_home_assistant_connected").set(0.0);
            if machine.now() - began >= STEADY {
                failures = 0;
            }
            failures = (failures + 1).min(FAILURES_MAX);
            // Without random numbers all come at once, which is no reason to stop.
            let dice = random::<2>().map_or(0, u16::from_le_bytes);
            let pause = wait(failures, dice);
            let seconds = pause.num_seconds();
            warn!(broker, error = %ended, seconds, "no connection to the broker of Home Assistant");
            machine.until(machine.now() + pause).await;
        }
    }

    /// Connects, and stays connected as long as that lasts.
    async fn hold_connection(&self, machine: &Clock) -> Ended {
        let built = AsyncClient::builder(self.connect_options()).capacity(WAITING_MAX).try_build();
        let (client, events) = match built {
            Ok(built) => built,
            Err(error) => return error.into(),
        };
        let (sender, arrivals) = mpsc::channel(WAITING_MAX);
        let session = Session {
            bridge: self,
            topics: self.topics(),
            client,
            retained: Retained::default(),
            reader: Reader::default(),
            client_of: None,
        };
        // Both at once: requests are only sent while events are read.
        tokio::select! {
            ended = read_events(events, &sender) => ended,
            ended = session.run(arrivals, machine) => ended,
        }
    }

    fn topics(&self) -> Topics {
        Topics::new(&self.settings.discovery_prefix, &self.settings.name)
    }

    fn connect_options(&self) -> MqttOptions {
        let HomeAssistantSettings { broker, user_name, password, name, .. } = &self.settings;
        let address = Broker::tcp(broker.host(), broker.port());
        let mut options = MqttOptions::new(format!("slackwater-{name}"), address);
        let availability = self.topics().availability();
        options
            .set_keep_alive(KEEP_ALIVE_SECONDS)
            .set_max_packet_size(MESSAGE_MAX, MESSAGE_MAX)
            .set_last_will(LastWill::new(availability, OFFLINE, QoS::AtLeastOnce, true));
        match (user_name, password) {
            (Some(user), Some(password)) => {
                options.set_credentials(user, password.text().to_owned());
            }
            (Some(user), None) => {
                options.set_username(user);
            }
            (None, _) => {}
        }
        if let Some(tls) = &self.tls {
            let tls = TlsConfiguration::Rustls(Arc::clone(tls));
            options.set_transport(Transport::tls_with_config(tls));
        }
        options
    }

    /// Checks that the settings name the client if there are several.
    ///
    /// # Errors
    /// There are several and none is named, or they cannot be read.
    pub async fn check_client(&self) -> Result<(), UnknownClient> {
        self.find_client().await.map(drop)
    }

    /// The client, and the state of its environment; `None` if there is no such client, or not
    /// yet.
    async fn find_client(&self) -> Result<Option<(App, String)>, UnknownClient> {
        let Some(first) = self.worlds.first() else { return Ok(None) };
        let rows = clients::all_clients(first.store()).await?;
        let ids: Vec<&str> = rows.iter().map(|row| row.client.id.as_str()).collect();
        let Some(place) = choose_client(self.settings.client.as_deref(), &ids)? else {
            return Ok(None);
        };
        let client = &rows[place].client;
        let own = self.worlds.iter().find(|app| app.environment() == client.environment);
        Ok(own.map(|app| (app.clone(), client.id.clone())))
    }
}

/// Position of the client that the settings name, or of the only one if they name none.
fn choose_client(named: Option<&str>, ids: &[&str]) -> Result<Option<usize>, UnknownClient> {
    match named {
        Some(named) => Ok(ids.iter().position(|id| *id == named)),
        None if ids.len() > 1 => Err(UnknownClient::Several { count: ids.len() }),
        None => Ok((!ids.is_empty()).then_some(0)),
    }
}

/// Reads what the broker says until the connection ends, and sends what waits.
async fn read_events(mut events: EventLoop, arrivals: &mpsc::Sender<Arrival>) -> Ended {
    loop {
        let arrival = match events.poll().await {
            Ok(Event::Incoming(Incoming::ConnAck(_))) => Arrival::Connected,
            Ok(Event::Incoming(Incoming::Publish(message))) => Arrival::Message {
                topic: String::from_utf8_lossy(&message.topic).into_owned(),
                text: String::from_utf8_lossy(&message.payload).into_owned(),
                is_retained: message.retain,
            },
            Ok(_) => continue,
            Err(error) => return Ended::Broker(Box::new(error)),
        };
        // Not awaited: the reader of arrivals may itself wait for this loop to send something.
        if arrivals.try_send(arrival).is_err() {
            warn!("a message of the broker was dropped, because too many wait");
        }
    }
}

/// One connection, from its beginning to its end.
struct Session<'a> {
    bridge: &'a Bridge,
    topics: Topics,
    client: AsyncClient,
    retained: Retained,
    reader: Reader,
    /// The client and the state of its environment, once they are known.
    client_of: Option<(App, String)>,
}

impl Session<'_> {
    async fn run(mut self, mut arrivals: mpsc::Receiver<Arrival>, machine: &Clock) -> Ended {
        let mut is_connected = false;
        let mut due = machine.now();
        loop {
            let arrival = tokio::select! {
                arrival = arrivals.recv() => arrival,
                () = machine.until(due), if is_connected => None,
            };
            let done = match arrival {
                Some(Arrival::Connected) => {
                    is_connected = true;
                    self.begin_session().await
                }
                Some(Arrival::Message { topic, text, is_retained }) => {
                    self.take_message(&topic, &text, is_retained).await
                }
                None => {
                    due = machine.now() + INTERVAL;
                    self.show_changes().await.map(|_| ())
                }
            };
            if let Err(ended) = done {
                return ended;
            }
        }
    }

    /// Sends everything, and then asks for commands: none arrives before its device is known.
    async fn begin_session(&mut self) -> Result<(), Ended> {
        let devices = self.show_changes().await?;
        gauge!("slackwater_home_assistant_connected").set(1.0);
        let broker = self.bridge.settings.broker.to_string();
        info!(broker, devices, "connected to the broker of Home Assistant");
        let filters = self.topics.subscriptions();
        let filters = filters.map(|topic| SubscribeFilterInput::new(topic, QoS::AtLeastOnce));
        self.client.subscribe_many(filters).await?;
        self.send_retained(self.topics.availability(), ONLINE.to_owned()).await
    }

    /// Sends what has changed since the last look. Returns the number of devices.
    async fn show_changes(&mut self) -> Result<usize, Ended> {
        let (views, now) = match self.read_devices().await {
            Ok(read) => read,
            Err(error) => {
                error!(%error, "devices for Home Assistant cannot be read");
                return Ok(0);
            }
        };
        let mut wanted = BTreeMap::new();
        for view in &views {
            wanted.extend(write_discovery(&self.topics, &view.card));
            let state = describe_state(view, now).to_string();
            wanted.insert(self.topics.state(view.card.id), state);
        }
        for (topic, text) in self.retained.replace_all(wanted) {
            self.send_retained(topic, text).await?;
        }
        Ok(views.len())
    }

    /// The devices, and the time at which they were looked at.
    async fn read_devices(&mut self) -> Result<(Vec<DeviceView>, DateTime<Utc>), UnknownClient> {
        if self.client_of.is_none() {
            self.client_of = self.bridge.find_client().await?;
        }
        let Some((app, client)) = &self.client_of else {
            return Ok((Vec::new(), DateTime::UNIX_EPOCH));
        };
        let whose = (client.as_str(), self.bridge.settings.user.as_str());
        let views = self.reader.read_devices(app, whose).await?;
        Ok((views, app.now()))
    }

    /// Has the broker keep a message.
    async fn send_retained(&self, topic: String, text: String) -> Result<(), Ended> {
        let options = PublishOptions::at_least_once().retained();
        Ok(self.client.publish(topic, text, options).await?)
    }

    async fn take_message(
        &mut self,
        topic: &str,
        text: &str,
        is_retained: bool,
    ) -> Result<(), Ended> {
        match self.topics.subject(topic) {
            Some(Subject::Birth) if text == ONLINE => {
                self.retained.forget_all();
                self.show_changes().await?;
                self.send_retained(self.topics.availability(), ONLINE.to_owned()).await
            }
            // Of a device that went while this service was away.
            Some(Subject::Own)
                if is_retained && !text.is_empty() && !self.retained.has_sent(topic) =>
            {
                self.send_retained(topic.to_owned(), String::new()).await
            }
            // It was meant for another time.
            Some(Subject::Command(_)) if is_retained => {
                warn!(topic, "a retained command was ignored");
                Ok(())
            }
            Some(Subject::Command(device_id)) => self.obey_command(device_id, topic, text).await,
            _ => Ok(()),
        }
    }

    /// Carries out a command, by the functions that requests by HTTP use.
    async fn obey_command(
        &mut self,
        device_id: Option<Uuid>,
        topic: &str,
        text: &str,
    ) -> Result<(), Ended> {
        let known = device_id.filter(|id| self.retained.has_sent(&self.topics.state(*id)));
        let (Some(device_id), Some((app, _))) = (known, self.client_of.as_ref()) else {
            warn!(topic, "a command for a device that is not shown");
            return Ok(());
        };
        let done = match text {
            ON => overrides::create(app, device_id).await.map(|_| ()),
            OFF => overrides::end(app, device_id).await.map(|_| ()).map_err(Into::into),
            other => {
                let given: String = other.chars().take(SHOWN_MAX).collect();
                warn!(%device_id, given, "a command that is neither ON nor OFF");
                return Ok(());
            }
        };
        match done {
            Ok(()) => info!(%device_id, command = text, "a command of Home Assistant"),
            Err(error) => warn!(%device_id, command = text, %error, "a command was refused"),
        }
        self.show_changes().await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_clients_is_only_taken_by_name() {
        let choose =
            |named, ids: &[&str]| choose_client(named, ids).map_err(|error| error.to_string());
        assert_eq!(choose(None, &[]), Ok(None));
        assert_eq!(choose(None, &["a"]), Ok(Some(0)));
        assert_eq!(choose(Some("b"), &["a", "b"]), Ok(Some(1)));
        assert_eq!(choose(Some("c"), &["a", "b"]), Ok(None));
        let refused = "client is missing: there are 2 clients; name the one whose user is shown";
        assert_eq!(choose(None, &["a", "b"]), Err(refused.to_owned()));
    }
}

//! A charge point that is played from a test, with time that stands still until it is moved.
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use slackwater_control::charging_profile::supply::Supply;
use slackwater_control::device::command::Command;
use slackwater_engine::units::{amps, volts};
use slackwater_integration::reading::{ChargerFacts, Facts, Reading};
use slackwater_ocpp::assumption::Assumption;
use slackwater_ocpp::facts::{Reply, Request};
use slackwater_ocpp::session::{Session, Step};
use slackwater_ocpp::station::connector::ConnectorState;
use slackwater_ocpp::station::state::{Rules, Station};
use slackwater_ocpp::vehicles::Vehicles;
use slackwater_ocpp::version::Version;

/// Start of every test.
pub(crate) const START: &str = "2026-01-05T18:00:00Z";

/// Rules of the tests.
pub(crate) fn rules() -> Rules {
    Rules {
        heartbeat_seconds: 300,
        meter_interval_seconds: 60,
        tokens: None,
        supply: Supply::new(volts(230.0), 3).unwrap(),
        current_max: amps(16.0),
        safe_current: amps(6.0),
        limit_lifetime: TimeDelta::seconds(300),
        balancing: None,
    }
}

/// Session and state of one charge point.
pub(crate) struct Rig {
    version: Version,
    session: Session,
    pub(crate) station: Station,
    pub(crate) rules: Rules,
    pub(crate) vehicles: Vehicles,
    pub(crate) now: DateTime<Utc>,
    last_id: u64,
    /// Requests of ours that were not answered yet: identifier, action, fields.
    pub(crate) asked: Vec<(String, String, Value)>,
    /// Replies to orders.
    pub(crate) done: Vec<(u64, Reply)>,
    /// True if the last step had to be kept before anything was sent.
    pub(crate) was_urgent: bool,
}

impl Rig {
    pub(crate) fn new(version: Version) -> Self {
        let now = START.parse().unwrap();
        let mut station = Station::default();
        station.connect(now);
        let session = Session::new(version, TimeDelta::seconds(30));
        let (asked, done) = (Vec::new(), Vec::new());
        Self {
            version,
            session,
            station,
            rules: rules(),
            vehicles: Vehicles::default(),
            now,
            last_id: 0,
            asked,
            done,
            was_urgent: false,
        }
    }

    /// A charge point of 1.6 that has introduced itself.
    pub(crate) fn booted() -> Self {
        let mut rig = Self::new(Version::V16);
        let model = json!({"chargePointVendor": "Fjord", "chargePointModel": "Post"});
        rig.says("BootNotification", &model);
        rig.says("StatusNotification", &status(1, "Available"));
        rig
    }

    /// A charging station of 2.0.1 that has introduced itself.
    pub(crate) fn booted_201() -> Self {
        let mut rig = Self::new(Version::V201);
        let station = json!({"vendorName": "Fjord", "model": "Post"});
        rig.says("BootNotification", &json!({"reason": "PowerUp", "chargingStation": station}));
        rig
    }

    /// Passes a text of the charge point on, and returns our answers.
    pub(crate) fn text(&mut self, text: &str) -> Vec<Value> {
        let step = self.session.receive(text, &mut self.station, &self.rules, self.now);
        self.take(step)
    }

    fn take(&mut self, step: Step) -> Vec<Value> {
        self.done.extend(step.done);
        self.was_urgent = step.is_urgent;
        let mut answers = Vec::new();
        for text in step.send {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame[0] == 2 {
                let text_of = |index: usize| frame[index].as_str().unwrap().to_owned();
                self.asked.push((text_of(1), text_of(2), frame[3].clone()));
            } else {
                answers.push(frame);
            }
        }
        answers
    }

    /// Sends a request and returns the fields of the answer, or the whole error.
    pub(crate) fn says(&mut self, action: &str, payload: &Value) -> Value {
        self.last_id += 1;
        let id = format!("cp-{}", self.last_id);
        let answers = self.text(&json!([2, id, action, payload]).to_string());
        assert_eq!((answers.len(), &answers[0][1]), (1, &json!(id)), "{answers:?}");
        if answers[0][0] == 3 { answers[0][2].clone() } else { answers[0].clone() }
    }

    /// Answers the last request of ours.
    pub(crate) fn replies(&mut self, payload: &Value) {
        let (id, _, _) = self.asked.pop().expect("a request is open");
        self.text(&json!([3, id, payload]).to_string());
    }

    /// Answers the last request of ours with an error.
    pub(crate) fn fails(&mut self, code: &str) {
        let (id, _, _) = self.asked.pop().expect("a request is open");
        self.text(&json!([4, id, code, "", {}]).to_string());
    }

    /// Lets seconds pass, then a tick.
    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now += TimeDelta::seconds(seconds);
        let step = self.session.tick(&mut self.station, &self.rules, self.now);
        assert!(self.take(step).is_empty());
    }

    /// Passes a command of the service on, under a ticket.
    pub(crate) fn command(&mut self, command: Command, ticket: u64) {
        let order = self.station.order(1, &command, &self.rules, self.now);
        if let Some(request) = order.expect("the command can be passed on") {
            self.order(request, ticket);
        }
    }

    /// Answers requests of ours as a charge point that accepts everything, and returns them.
    pub(crate) fn accepts_all(&mut self) -> Vec<(String, Value)> {
        let mut seen = Vec::new();
        while let Some((_, action, payload)) = self.asked.last().cloned() {
            seen.push((action, payload));
            self.replies(&json!({"status": "Accepted"}));
        }
        seen
    }

    /// Orders a request.
    pub(crate) fn order(&mut self, request: Request, ticket: u64) {
        let step =
            self.session.order(request, Some(ticket), &mut self.station, &self.rules, self.now);
        assert!(self.take(step).is_empty());
    }

    /// Begins a new connection, as after a failure of the network.
    pub(crate) fn reconnects(&mut self) {
        let step = self.session.close(&mut self.station, &self.rules, self.now);
        self.take(step);
        self.asked.clear();
        self.station.disconnect();
        self.station.connect(self.now);
        self.session = Session::new(self.version, TimeDelta::seconds(30));
    }

    /// Starts the service anew from the file of the charge point.
    pub(crate) fn restarts(&mut self) {
        let file = serde_json::to_string(&self.station).unwrap();
        self.station = serde_json::from_str(&file).unwrap();
        self.reconnects();
    }

    pub(crate) fn time(&self) -> String {
        self.now.to_rfc3339()
    }

    pub(crate) fn connector(&self) -> &ConnectorState {
        &self.station.connectors[&1]
    }

    pub(crate) fn reading(&self) -> Reading {
        self.station.reading(1, &self.vehicles).expect("the connector is known")
    }

    pub(crate) fn facts(&self) -> ChargerFacts {
        match self.reading().facts {
            Facts::Charger(facts) => *facts,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn assumed(&self, assumption: Assumption) -> u64 {
        self.station.assumptions.count(assumption)
    }

    /// Starts a transaction of 1.6 with a register in Wh, and returns its identifier.
    pub(crate) fn starts(&mut self, meter_start: i64) -> i64 {
        let timestamp = self.time();
        let started = self.says(
            "StartTransaction",
            &json!({"connectorId": 1, "idTag": "ada", "meterStart": meter_start, "timestamp": timestamp}),
        );
        started["transactionId"].as_i64().expect("a transaction has an identifier")
    }

    /// Energy of the last transaction that ended, in kWh.
    pub(crate) fn last_energy(&self) -> Option<f64> {
        let ended = self.connector().transactions.ended.last().expect("one has ended");
        ended.energy.map(slackwater_engine::units::Energy::as_kwh)
    }
}

/// Fields of a status notification of 1.6.
pub(crate) fn status(connector: u32, status: &str) -> Value {
    json!({"connectorId": connector, "errorCode": "NoError", "status": status})
}

/// Fields of meter values at connector 1.
pub(crate) fn meter_values(timestamp: &str, sampled: &Value) -> Value {
    json!({"connectorId": 1, "meterValue": [{"timestamp": timestamp, "sampledValue": sampled}]})
}

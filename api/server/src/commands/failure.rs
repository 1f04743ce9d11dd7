//! Failures of commands.
use std::io;
use std::path::PathBuf;

use crate::admin::clients::NewClientError;
use crate::running::ServiceError;
use slackwater_ocpp::edge::enrolment::EnrolmentError;
use slackwater_ocpp::edge::files::FileError;
use slackwater_sandbox::document::ScenarioError;
use slackwater_service::auth::secret::NoRandomness;
use slackwater_service::clock::ClockError;
use slackwater_service::config::error::ConfigError;
use slackwater_service::outbox::subscribing::SubscribeError;
use slackwater_service::traces::TracesError;
use slackwater_store::error::StoreError;
use slackwater_store::evidence::EvidenceLogError;
use slackwater_store::signing::SecretError;

/// Failure of the process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("sandbox.clock: {0}")]
    Clock(#[from] ClockError),
    #[error(transparent)]
    Traces(#[from] TracesError),
    #[error(transparent)]
    Service(Box<ServiceError>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NewClient(#[from] NewClientError),
    #[error("{} of the settings cannot be used:\n{}", .0.len(), .0.join("\n"))]
    Settings(Vec<String>),
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("cannot watch for signals: {0}")]
    Signals(io::Error),
    #[error("cannot read {file}: {reason}")]
    Read { file: PathBuf, reason: io::Error },
    #[error("{file} makes no sense:\n{error}")]
    Scenario { file: PathBuf, error: ScenarioError },
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("there is no subscription `{0}` that was made by hand")]
    NoSubscription(String),
    #[error("cannot print: {0}")]
    Print(io::Error),
    #[error("a secret that is shown only once could not be printed ({0}): make another")]
    SecretLost(io::Error),
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    #[error("there is no charger {identity:?} in {}", folder.display())]
    NoCharger { identity: String, folder: PathBuf },
    #[error(
        "no folder of chargers is known: name it with --state-folder, or name settings with an \
         integration of the type ocpp by --config"
    )]
    NoChargerFolder,
    #[error("this is for a running server: leave --state-folder out")]
    ChargerNeedsServer,
    #[error(transparent)]
    ChargerFile(#[from] FileError),
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    #[error("{what} are not JSON at line {}, column {}", at.line(), at.column())]
    Json { what: &'static str, at: serde_json::Error },
    #[error("limits: {reason}")]
    Limits { reason: String },
    #[error(transparent)]
    Evidence(#[from] EvidenceLogError),
    #[error("{}: nothing is signed in its {lines} lines", file.display())]
    Unsigned { file: PathBuf, lines: usize },
    #[error("sandbox.client: there is no client {0} in the sandbox")]
    NoClient(String),
    #[error("there is no client {0}")]
    UnknownClient(String),
    #[error("no token could be issued: {0}")]
    Token(String),
    #[error(
        "no server answers at {url}: {reason}; start one with `slackwater-api serve`, or name \
         another with --admin (client and events also read its database, with --store; charger reads \
         files, with --state-folder)"
    )]
    Unreachable { url: String, reason: String },
    #[error("--admin-ca, --admin-certificate: {0}")]
    AdminTls(String),
    #[error("{0}")]
    Refused(String),
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self::Service(Box::new(error))
    }
}

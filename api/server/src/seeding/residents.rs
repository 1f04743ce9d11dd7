//! The sandbox behind a service, and the client to which its devices belong.
use std::sync::Arc;

use slackwater_sandbox::handle::Sandbox;
use slackwater_sandbox::words::uuid_of;
use slackwater_service::state::App;
use uuid::Uuid;

/// A sandbox behind a service.
#[derive(Debug, Clone)]
pub struct SandboxSeeder {
    /// The service.
    pub app: App,
    /// The sandbox.
    pub sandbox: Sandbox,
    /// The client that is given what nobody else is named for.
    pub client_id: Arc<str>,
    /// The client whose identifiers are the scenario's own: the first of the
    /// sandbox, whichever lives in the scenario now.
    pub first_id: Arc<str>,
}

impl SandboxSeeder {
    /// The identifier that a client knows something by.
    #[must_use]
    pub fn id(&self, name: &str, client_id: &str) -> Uuid {
        let own = uuid_of(name);
        if *client_id == *self.first_id { own } else { Uuid::new_v5(&own, client_id.as_bytes()) }
    }
}

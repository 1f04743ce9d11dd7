//! Topics at the broker.
use uuid::Uuid;

/// Topics of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// First level of topics of discovery.
    prefix: String,
    /// First level of topics of this service.
    name: String,
}

/// Subject of a message that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Home Assistant tells that it has started or stops.
    Birth,
    /// A message of this service that the broker kept.
    Own,
    /// A command for the override of a device; `None` if the topic names no device.
    Command(Option<Uuid>),
}

impl Topics {
    /// Topics below a prefix of discovery and the name of this service.
    #[must_use]
    pub fn new(prefix: &str, name: &str) -> Self {
        Self { prefix: prefix.to_owned(), name: name.to_owned() }
    }

    /// Topic that tells whether this service is connected.
    #[must_use]
    pub fn availability(&self) -> String {
        format!("{}/availability", self.name)
    }

    /// Topic of the state of a device.
    #[must_use]
    pub fn state(&self, device_id: Uuid) -> String {
        format!("{}/{device_id}/state", self.name)
    }

    /// Topic of commands for the override of a device.
    #[must_use]
    pub fn command(&self, device_id: Uuid) -> String {
        format!("{}/{device_id}/charge_now/set", self.name)
    }

    /// Topic of the discovery of an entity of a device.
    #[must_use]
    pub fn discovery(&self, component: &str, device_id: Uuid, entity: &str) -> String {
        format!("{}/{component}/{}/{device_id}_{entity}/config", self.prefix, self.name)
    }

    /// Filters of the topics to subscribe to.
    #[must_use]
    pub fn subscriptions(&self) -> [String; 4] {
        let Self { prefix, name } = self;
        [
            format!("{prefix}/status"),
            format!("{prefix}/+/{name}/+/config"),
            format!("{name}/+/state"),
            format!("{name}/+/charge_now/set"),
        ]
    }

    /// Subject of a message by its topic; `None` of one that was not subscribed to.
    #[must_use]
    pub fn subject(&self, topic: &str) -> Option<Subject> {
        if let Some(rest) = topic.strip_prefix(&self.prefix).and_then(|rest| rest.strip_prefix('/'))
        {
            let levels: Vec<&str> = rest.split('/').collect();
            return match levels.as_slice() {
                ["status"] => Some(Subject::Birth),
                [_, name, _, "config"] if *name == self.name => Some(Subject::Own),
                _ => None,
            };
        }
        let rest = topic.strip_prefix(&self.name)?.strip_prefix('/')?;
        let levels: Vec<&str> = rest.split('/').collect();
        match levels.as_slice() {
            [_, "state"] => Some(Subject::Own),
            [id, "charge_now", "set"] => Some(Subject::Command(Uuid::parse_str(id).ok())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_written_and_read() {
        let topics = Topics::new("ha/discovery", "garage");
        let id = Uuid::from_u128(7);
        assert_eq!(topics.availability(), "garage/availability");
        assert_eq!(
            topics.discovery("sensor", id, "plan"),
            format!("ha/discovery/sensor/garage/{id}_plan/config")
        );
        for (topic, subject) in [
            (topics.discovery("switch", id, "charge_now"), Some(Subject::Own)),
            (topics.state(id), Some(Subject::Own)),
            (topics.command(id), Some(Subject::Command(Some(id)))),
            ("garage/my-car/charge_now/set".to_owned(), Some(Subject::Command(None))),
            ("ha/discovery/status".to_owned(), Some(Subject::Birth)),
            ("ha/discovery/sensor/other/x_plan/config".to_owned(), None),
            ("ha/status".to_owned(), None),
            ("garages/x/state".to_owned(), None),
            (topics.availability(), None),
        ] {
            assert_eq!(topics.subject(&topic), subject, "{topic}");
        }
    }
}

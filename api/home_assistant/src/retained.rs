//! Messages that the broker keeps for those who subscribe later.
use std::collections::BTreeMap;

/// Retained messages of this service by topic, as far as they were sent over this connection.
#[derive(Debug, Clone, Default)]
pub struct Retained {
    sent: BTreeMap<String, String>,
}

impl Retained {
    /// Returns the messages to send, so that the broker has those of `wanted` and no other. An
    /// empty message makes the broker forget the one that it has.
    #[must_use]
    pub fn replace_all(&mut self, wanted: BTreeMap<String, String>) -> Vec<(String, String)> {
        let gone = self.sent.keys().filter(|topic| !wanted.contains_key(*topic));
        let mut messages: Vec<_> = gone.map(|topic| (topic.clone(), String::new())).collect();
        let changed = wanted.iter().filter(|(topic, text)| self.sent.get(*topic) != Some(*text));
        messages.extend(changed.map(|(topic, text)| (topic.clone(), text.clone())));
        self.sent = wanted;
        messages
    }

    /// Forgets what was sent, so that all is sent again.
    pub fn forget_all(&mut self) {
        self.sent.clear();
    }

    /// Returns `true` if a message was sent on a topic, and not taken back.
    #[must_use]
    pub fn has_sent(&self, topic: &str) -> bool {
        self.sent.contains_key(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_sent_and_what_ended_is_taken_back() {
        let mut retained = Retained::default();
        let mut replace = |wanted: &[(&str, &str)], is_again: bool| {
            if is_again {
                retained.forget_all();
            }
            let wanted = wanted.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            let sent = retained.replace_all(wanted);
            sent.iter().map(|(topic, text)| format!("{topic}={text}")).collect::<Vec<_>>()
        };
        assert_eq!(replace(&[("a", "1"), ("b", "2")], false), ["a=1", "b=2"]);
        assert_eq!(replace(&[("a", "1"), ("b", "3")], false), ["b=3"]);
        assert_eq!(replace(&[("b", "3")], false), ["a="]);
        assert_eq!(replace(&[("b", "3")], false), [""; 0]);
        assert_eq!(replace(&[("b", "3")], true), ["b=3"]);
        assert!(retained.has_sent("b") && !retained.has_sent("a"));
    }
}

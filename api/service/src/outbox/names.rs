//! Names of events that the specification does not print.
//!
//! They are for operators. A receiver sees such an event only under a name that
//! the operator gave it.
use crate::config::EventSettings;

/// A device is not as it was.
pub const DEVICE_CHANGED: &str = "device:changed";

/// The account of a user with a manufacturer is not as it was.
pub const USER_CHANGED: &str = "user:changed";

/// The name under which a receiver sees an event; `None` if it sees none.
#[must_use]
pub fn public<'a>(settings: &'a EventSettings, name: &'a str) -> Option<&'a str> {
    match name {
        DEVICE_CHANGED => settings.device_changed.as_deref(),
        USER_CHANGED => settings.user_changed.as_deref(),
        printed => Some(printed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_printed_are_the_operators() {
        let mut settings = EventSettings::default();
        assert_eq!(
            public(&settings, "user:vendor-action:updated"),
            Some("user:vendor-action:updated")
        );
        assert_eq!(public(&settings, DEVICE_CHANGED), None);
        assert_eq!(public(&settings, USER_CHANGED), None);
        settings.device_changed = Some("car moved".to_owned());
        assert_eq!(public(&settings, DEVICE_CHANGED), Some("car moved"));
    }
}

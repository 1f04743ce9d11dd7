//! Names of events that the specification does not print.
//!
//! They are for operators. A receiver sees such an event only under a name that
//! the operator gave it.
use crate::config::EventSettings;
use crate::control::actions::ACTION_UPDATED;

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

/// Fault of the names of events that a receiver asks for: the first one that none has ever.
#[must_use]
pub fn find_unknown(settings: &EventSettings, wanted: &[String]) -> Option<String> {
    let own = [&settings.device_changed, &settings.user_changed].into_iter().flatten();
    let known: Vec<&str> = own.map(String::as_str).chain([ACTION_UPDATED]).collect();
    let unknown = wanted.iter().find(|name| !known.contains(&name.as_str()))?;
    let names = known.join(", ");
    let setting = match unknown.as_str() {
        DEVICE_CHANGED => "; name it by device_changed in [events] of the settings",
        USER_CHANGED => "; name it by user_changed in [events] of the settings",
        _ => "",
    };
    Some(format!("receivers see no event {unknown:?}{setting}; they see {names}"))
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

    #[test]
    fn names_that_no_event_has_are_told_with_those_that_some_have() {
        let mut settings = EventSettings::default();
        let wanted = |name: &str| vec![ACTION_UPDATED.to_owned(), name.to_owned()];
        assert_eq!(find_unknown(&settings, &[ACTION_UPDATED.to_owned()]), None);
        let mistyped = find_unknown(&settings, &wanted("nope")).unwrap();
        assert_eq!(
            mistyped,
            "receivers see no event \"nope\"; they see user:vendor-action:updated"
        );
        let unnamed = find_unknown(&settings, &wanted(DEVICE_CHANGED)).unwrap();
        assert!(unnamed.contains("name it by device_changed in [events]"), "{unnamed}");
        settings.device_changed = Some("device.changed".to_owned());
        assert_eq!(find_unknown(&settings, &wanted("device.changed")), None);
    }
}

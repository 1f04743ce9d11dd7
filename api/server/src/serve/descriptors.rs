//! File descriptors: as many as the system allows, and a share for each socket.
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use super::admission::Limits;
use slackwater_service::config::serving::ServeSettings;

/// Descriptors that are asked for at most, and assumed where there is no limit.
const WANTED: u64 = 65_536;

/// Most connections of the operators' address. Nobody else can take them.
const OPERATORS_MAX: u64 = 128;

/// Most descriptors that are kept for the database, manufacturers and receivers.
const RESERVED_MAX: u64 = 1_024;

/// Raises the soft limit of descriptors, as far as the hard limit lets it.
/// Returns the limit that holds now.
#[must_use]
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(WANTED);
    let wanted = limit.maximum.unwrap_or(WANTED).min(WANTED);
    if wanted <= current {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }) {
        Ok(()) => wanted,
        Err(reason) => {
            warn!(%reason, current, wanted, "the limit of file descriptors cannot be raised");
            current
        }
    }
}

/// Limits of the sockets of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Of the operators' socket.
    pub operators: Limits,
    /// Of each other socket.
    pub users: Limits,
}

impl Shares {
    /// Divides descriptors between the operators' socket and `sockets` others.
    /// One peer has at most three quarters of a socket.
    #[must_use]
    pub fn divide(descriptors: u64, sockets: usize, settings: &ServeSettings) -> Self {
        let reserved = (descriptors / 4).min(RESERVED_MAX);
        let operators = (descriptors / 8).min(OPERATORS_MAX);
        let rest = descriptors - reserved - operators;
        let each = rest / (sockets.max(1) as u64);
        let total = settings.connections_max.map_or(each, |most| each.min(most.into()));
        let most = settings.connections_of_peer_max.map_or(u64::MAX, u64::from);
        let limits = |total: u64| Limits {
            total: total.max(1) as usize,
            of_peer: (total - total / 4).min(most).max(1) as usize,
        };
        Self { operators: limits(operators), users: limits(total) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_together_leave_descriptors_for_the_rest() {
        for descriptors in [1, 64, 256, 1_024, 20_000, WANTED] {
            for sockets in [1, 3, 6] {
                let shares = Shares::divide(descriptors, sockets, &ServeSettings::default());
                let open = shares.operators.total + sockets * shares.users.total;
                assert!(
                    descriptors < 64 || open as u64 <= descriptors - descriptors.min(4_096) / 4
                );
                assert!(shares.users.of_peer <= shares.users.total);
                assert!(shares.operators.total > 0 && shares.users.of_peer > 0);
            }
        }
    }

    #[test]
    fn settings_lower_a_share_and_do_not_raise_it() {
        let of = |connections_max, connections_of_peer_max| {
            let settings =
                ServeSettings { connections_max, connections_of_peer_max, ..Default::default() };
            Shares::divide(1_024, 3, &settings).users
        };
        assert_eq!(of(None, None), Limits { total: 213, of_peer: 160 });
        assert_eq!(of(Some(100), Some(10)), Limits { total: 100, of_peer: 10 });
        assert_eq!(of(Some(9_999), Some(9_999)), Limits { total: 213, of_peer: 160 });
    }
}

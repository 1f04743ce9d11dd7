//! Address of a client, also behind proxies.
use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The addresses that a request passed, added to by each proxy at the end.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Address that a request comes from, as an extension of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// A text that names no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an address or a network, such as 10.0.0.0/8")]
pub struct ProxiesError {
    /// The text as given.
    pub given: String,
}

/// Networks of proxies that are believed about whom they pass on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Proxies(Vec<IpNet>);

impl Proxies {
    /// Returns `true` for an address of a trusted proxy.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request that `peer` sent: the last address before the
    /// trusted proxies. A client may write into `X-Forwarded-For` what it likes;
    /// each proxy adds the address that it saw at the end. So the list is read
    /// from there, and no further than trusted proxies wrote it. An entry that is
    /// no address ends it.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let lines = headers.get_all(FORWARDED_FOR).iter().rev();
        let mut entries = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        while self.contain(client) {
            match entries.next().and_then(address) {
                Some(before) => client = before,
                None => break,
            }
        }
        client
    }
}

/// The address in an entry, which some proxies give with its port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let with_port = || entry.parse().ok().map(|address: SocketAddr| address.ip());
    entry.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

impl TryFrom<Vec<String>> for Proxies {
    type Error = ProxiesError;

    fn try_from(given: Vec<String>) -> Result<Self, ProxiesError> {
        let network = |given: String| {
            let network = given.parse::<IpNet>().map(|network| network.trunc());
            let network = network.or_else(|_| given.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| ProxiesError { given })
        };
        given.into_iter().map(network).collect::<Result<_, _>>().map(Self)
    }
}

impl From<Proxies> for Vec<String> {
    fn from(Proxies(networks): Proxies) -> Self {
        networks.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(networks: &[&str]) -> Proxies {
        Proxies::try_from(networks.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn client(proxies: &Proxies, peer: &str, lines: &[&str]) -> String {
        let lines = lines.iter().map(|line| (FORWARDED_FOR, line.parse().unwrap()));
        proxies.client(peer.parse().unwrap(), &lines.collect()).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let none = Proxies::default();
        assert_eq!(client(&none, "10.0.0.1", &["192.0.2.1"]), "10.0.0.1");
        let inner = proxies(&["10.0.0.0/8", "2001:db8::/32"]);
        assert_eq!(client(&inner, "192.0.2.9", &["192.0.2.1"]), "192.0.2.9");
        assert_eq!(client(&inner, "10.0.0.1", &["192.0.2.1"]), "192.0.2.1");
        assert_eq!(client(&inner, "::ffff:10.0.0.1", &["192.0.2.1"]), "192.0.2.1");
        assert_eq!(client(&inner, "2001:db8::1", &["[2001:db9::7]:443"]), "2001:db9::7");
        assert_eq!(client(&inner, "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn addresses_that_a_client_made_up_are_not_believed() {
        let inner = proxies(&["10.0.0.0/8"]);
        // The client wrote the first, the outer proxy saw the second.
        assert_eq!(client(&inner, "10.0.0.1", &["192.0.2.66, 192.0.2.1, 10.0.0.2"]), "192.0.2.1");
        assert_eq!(
            client(&inner, "10.0.0.1", &["192.0.2.66", "192.0.2.1:80,10.0.0.2"]),
            "192.0.2.1"
        );
        assert_eq!(client(&inner, "10.0.0.1", &["10.9.9.9, nonsense, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client(&inner, "10.0.0.1", &["10.9.9.9, 10.0.0.2"]), "10.9.9.9");
    }

    #[test]
    fn networks_are_read_or_refused() {
        let given = ["10.1.2.3/8", "192.0.2.1", "2001:db8::/32"];
        let read: Vec<String> = proxies(&given).into();
        assert_eq!(read, ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]);
        for bad in ["", "10.0.0.0/33", "proxy.example.org", "10.0.0.*"] {
            let error = Proxies::try_from(vec![bad.to_owned()]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`{bad}` is not an address or a network, such as 10.0.0.0/8")
            );
        }
    }
}

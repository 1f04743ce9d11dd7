//! Failures of requests in words for operators, in the place of those of the libraries below.
use std::error::Error;
use std::io;

use http_body_util::LengthLimitError;
use rustls::{AlertDescription, CertificateError};

/// Text of the standard library about a name without an address. It gives the failure no kind.
const NO_ADDRESS: &str = "failed to lookup address information";

/// Clause about a request without a complete answer, such as "the connection is refused, so nothing
/// listens there".
///
/// The innermost cause that is known decides. An unknown one is told in its own words.
///
/// # Example
///
/// ```
/// use std::io;
///
/// use slackwater_https::failure::describe_failure;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert_eq!(describe_failure(&refused), "the connection is refused, so nothing listens there");
/// ```
#[must_use]
pub fn describe_failure(error: &(dyn Error + 'static)) -> String {
    let (mut known, mut innermost) = (None, error);
    let mut next = Some(error);
    while let Some(error) = next {
        known = describe_known(error).or(known);
        innermost = error;
        next = find_cause(error);
    }
    known.map_or_else(|| format!("the connection failed: {innermost}"), ToOwned::to_owned)
}

/// Cause of an error. An error of the system may hold another one, which it does not call its source.
fn find_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(held) => Some(held),
        None => error.source(),
    }
}

fn describe_known(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return describe_system(error);
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return describe_http(error);
    }
    if error.is::<LengthLimitError>() {
        return Some("the answer is too long");
    }
    error.downcast_ref::<rustls::Error>().map(describe_tls)
}

fn describe_system(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    Some(match error.kind() {
        Kind::ConnectionRefused => "the connection is refused, so nothing listens there",
        Kind::TimedOut => "no answer in time",
        Kind::HostUnreachable | Kind::NetworkUnreachable => "its network is not reachable",
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::NotConnected
        | Kind::UnexpectedEof => CLOSED_EARLY,
        _ if error.to_string().starts_with(NO_ADDRESS) => "no address is known for its name",
        _ => return None,
    })
}

/// A connection that ends before the end of the answer.
const CLOSED_EARLY: &str = "the connection was closed before the answer was complete";

fn describe_http(error: &hyper::Error) -> Option<&'static str> {
    if error.is_timeout() {
        return Some("no answer in time");
    }
    if error.is_parse() {
        return Some(
            "the answer is not HTTP; the address of a server with TLS begins with https://",
        );
    }
    let is_closed = error.is_incomplete_message()
        || error.is_closed()
        || error.is_canceled()
        || error.is_body_write_aborted();
    is_closed.then_some(CLOSED_EARLY)
}

fn describe_tls(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(reason) => describe_certificate(reason),
        rustls::Error::InvalidMessage(_) => {
            "the server does not speak TLS there; an address without TLS begins with http://"
        }
        rustls::Error::NoCertificatesPresented => "the server shows no certificate",
        rustls::Error::PeerIncompatible(_) => {
            "the server offers no version or cipher of TLS that this client takes"
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown,
        ) => {
            "the server wants a certificate of this client, and does not accept the one it got, if any"
        }
        rustls::Error::AlertReceived(_) => "the server refuses the connection by TLS",
        _ => "the connection by TLS failed",
    }
}

fn describe_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the certificate is for another name than that of the address"
        }
        CertificateError::UnknownIssuer => {
            "the certificate is not from an authority that this machine trusts"
        }
        CertificateError::Revoked => "the certificate is revoked",
        _ => "the certificate is not valid",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use http_body_util::{BodyExt, Full, Limited};
    use hyper::Request;
    use hyper::body::Bytes;
    use rustls::{InvalidMessage, PeerIncompatible};

    use super::*;
    use crate::client::connect_https;

    /// Failure of TLS as a client passes it on.
    fn passed_on(error: rustls::Error) -> String {
        let held = io::Error::new(io::ErrorKind::InvalidData, error);
        describe_failure(&io::Error::other(held))
    }

    #[test]
    fn failures_of_tls_have_words_of_ours() {
        let certificate = |error| passed_on(rustls::Error::InvalidCertificate(error));
        let alert = |alert| passed_on(rustls::Error::AlertReceived(alert));
        let message = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        let old = PeerIncompatible::Tls12NotOffered;
        for (told, expected) in [
            (certificate(CertificateError::UnknownIssuer), "the certificate is not from an auth"),
            (certificate(CertificateError::Expired), "the certificate has expired"),
            (certificate(CertificateError::NotValidYet), "the certificate is not valid yet"),
            (certificate(CertificateError::NotValidForName), "the certificate is for another name"),
            (certificate(CertificateError::BadSignature), "the certificate is not valid"),
            (certificate(CertificateError::Revoked), "the certificate is revoked"),
            (
                alert(AlertDescription::CertificateRequired),
                "the server wants a certificate of this",
            ),
            (alert(AlertDescription::HandshakeFailure), "the server refuses the connection by TLS"),
            (passed_on(message), "the server does not speak TLS there"),
            (passed_on(rustls::Error::PeerIncompatible(old)), "the server offers no version"),
            (passed_on(rustls::Error::DecryptError), "the connection by TLS failed"),
        ] {
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn failures_of_the_system_have_words_of_ours_and_unknown_ones_their_own() {
        let name = io::Error::other(format!("{NO_ADDRESS}: Name or service not known"));
        for (error, expected) in [
            (name, "no address is known for its name"),
            (io::ErrorKind::TimedOut.into(), "no answer in time"),
            (io::ErrorKind::NetworkUnreachable.into(), "its network is not reachable"),
            (io::ErrorKind::ConnectionReset.into(), CLOSED_EARLY),
            (io::Error::other("the moon is full"), "the connection failed: the moon is full"),
        ] {
            assert_eq!(describe_failure(&error), expected);
        }
    }

    /// Address of a server that answers one connection with a text, and closes it.
    fn answer_once(text: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            assert_ne!(stream.read(&mut asked).unwrap(), 0);
            stream.write_all(text.as_bytes()).unwrap();
        });
        address.to_string()
    }

    async fn failure_at(url: String) -> String {
        let request = Request::get(url).body(Full::<Bytes>::default()).unwrap();
        describe_failure(&connect_https().unwrap().request(request).await.unwrap_err())
    }

    #[tokio::test]
    async fn an_answer_beyond_its_limit_is_too_long() {
        let body = Limited::new(Full::new(Bytes::from_static(b"long")), 1);
        let failure = body.collect().await.unwrap_err();
        assert_eq!(describe_failure(failure.as_ref()), "the answer is too long");
    }

    #[tokio::test]
    async fn failures_of_real_connections_have_words_of_ours() {
        let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = failure_at(format!("http://{unused}")).await;
        assert_eq!(refused, "the connection is refused, so nothing listens there");
        let nonsense = failure_at(format!("http://{}", answer_once("nonsense\r\n\r\n"))).await;
        assert!(nonsense.starts_with("the answer is not HTTP"), "{nonsense}");
        assert_eq!(failure_at(format!("http://{}", answer_once(""))).await, CLOSED_EARLY);
        let plain = "HTTP/1.1 400 Bad Request\r\n\r\n";
        let plain = failure_at(format!("https://{}", answer_once(plain))).await;
        assert!(plain.starts_with("the server does not speak TLS there"), "{plain}");
    }
}

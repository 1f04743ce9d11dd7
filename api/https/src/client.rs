//! Connections to other servers, by HTTP and TLS.
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use tracing::warn;

/// Name of the service in its requests.
pub const USER_AGENT: &str = concat!("slackwater/", env!("CARGO_PKG_VERSION"));

/// Connections to other servers, kept open between requests. Redirects are not followed.
pub type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up TLS: {0}")]
pub struct TlsError(#[from] rustls::Error);

/// Makes a client that trusts what the system trusts.
///
/// # Errors
/// There is no TLS. That the system trusts nobody is only logged: servers without TLS can be reached
/// all the same.
pub fn connect_https() -> Result<HttpsClient, TlsError> {
    let mut trusted = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    trusted.add_parsable_certificates(found.certs);
    if trusted.is_empty() {
        warn!(reasons = ?found.errors, "the system has no certificates: no server is reached by TLS");
    }
    let provider = rustls::crypto::ring::default_provider().into();
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

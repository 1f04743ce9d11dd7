//! Connections to other servers, by HTTP and TLS.
use std::path::{Path, PathBuf};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tracing::warn;

/// Name of the service in its requests.
pub const USER_AGENT: &str = concat!("slackwater/", env!("CARGO_PKG_VERSION"));

/// Connections to other servers, kept open between requests. Redirects are not followed.
pub type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Files in PEM for connections by TLS. By default there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PemFiles {
    /// Authority of servers' certificates, in place of those that the system trusts.
    pub authority: Option<PathBuf>,
    /// Certificate to show to servers that ask for one, and its key.
    pub certificate: Option<PathBuf>,
}

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The library refuses it.
    #[error("cannot set up TLS: {0}")]
    Refused(#[from] rustls::Error),
    /// A file is missing, or has no certificate or key.
    #[error("cannot set up TLS: {}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Reason.
        reason: PemError,
    },
}

/// Makes a client that trusts what the system trusts.
///
/// # Errors
/// There is no TLS. That the system trusts nobody is only logged: servers without TLS can be reached
/// all the same.
pub fn connect_https() -> Result<HttpsClient, TlsError> {
    connect_with_files(&PemFiles::default())
}

/// Makes a client with an authority and a certificate of its own.
///
/// # Errors
/// There is no TLS, or a file is missing or holds something else.
pub fn connect_with_files(files: &PemFiles) -> Result<HttpsClient, TlsError> {
    let trusted = match &files.authority {
        Some(file) => read_authority(file)?,
        None => read_system(),
    };
    let provider = rustls::crypto::ring::default_provider().into();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted);
    let tls = match &files.certificate {
        Some(file) => {
            let key = PrivateKeyDer::from_pem_file(file).map_err(refuse_file(file))?;
            builder.with_client_auth_cert(read_certificates(file)?, key)?
        }
        None => builder.with_no_client_auth(),
    };
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

/// Authorities that the system trusts.
fn read_system() -> RootCertStore {
    let mut trusted = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    trusted.add_parsable_certificates(found.certs);
    if trusted.is_empty() {
        warn!(reasons = ?found.errors, "the system has no certificates: no server is reached by TLS");
    }
    trusted
}

fn read_authority(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut trusted = RootCertStore::empty();
    for certificate in read_certificates(file)? {
        trusted.add(certificate)?;
    }
    Ok(trusted)
}

/// Certificates of a file, of which there is at least one.
fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let all: Vec<_> = all.map_err(refuse_file(file))?;
    let none = || refuse_file(file)(PemError::NoItemsFound);
    if all.is_empty() { Err(none()) } else { Ok(all) }
}

fn refuse_file(file: &Path) -> impl FnOnce(PemError) -> TlsError {
    let file = file.to_owned();
    |reason| TlsError::File { file, reason }
}

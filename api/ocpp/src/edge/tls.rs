//! TLS of the listener: certificates from files, and the names of charge points in theirs.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use slackwater_integration::registry::SettingsError;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;

use crate::settings::TlsFiles;

/// Configuration of TLS 1.2 and 1.3 with the certificate of this system, and with certificates of
/// charge points if there is an authority for them.
///
/// # Errors
/// A file is missing or holds something else.
pub fn configure(files: &TlsFiles) -> Result<Arc<ServerConfig>, SettingsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = read_certificates(&files.certificate, "certificate_file")?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| refuse_file("key_file", &files.key, &error))?;
    let refused = |field| move |error: rustls::Error| SettingsError::new(field, error.to_string());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(refused("certificate_file"))?;
    let builder = match &files.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let roots = Arc::new(read_roots(authority, "client_ca_file")?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier
                .map_err(|error| SettingsError::new("client_ca_file", error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(certificates, key).map_err(refused("key_file"))?;
    Ok(Arc::new(config))
}

fn read_certificates(
    file: &Path,
    field: &'static str,
) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let all: Vec<_> = all.map_err(|error| refuse_file(field, file, &error))?;
    if all.is_empty() {
        let reason = format!("{} has no certificate", file.display());
        return Err(SettingsError::new(field, reason));
    }
    Ok(all)
}

fn read_roots(file: &Path, field: &'static str) -> Result<RootCertStore, SettingsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(file, field)? {
        roots.add(certificate).map_err(|error| SettingsError::new(field, error.to_string()))?;
    }
    Ok(roots)
}

/// Configuration of TLS 1.2 and 1.3 towards an upstream system: its authority, or those of this
/// machine, and the certificate and key of the charge point, if it has one.
///
/// # Errors
/// A file is missing or holds something else.
pub fn configure_client(
    authority: Option<&Path>,
    certificate: Option<&(PathBuf, PathBuf)>,
) -> Result<ClientConfig, SettingsError> {
    let trusted = if let Some(file) = authority {
        read_roots(file, "ca_file")?
    } else {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let refused = |error: rustls::Error| SettingsError::new("certificate_file", error.to_string());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_root_certificates(trusted);
    let Some((chain, key)) = certificate else { return Ok(builder.with_no_client_auth()) };
    let own =
        PrivateKeyDer::from_pem_file(key).map_err(|error| refuse_file("key_file", key, &error))?;
    builder
        .with_client_auth_cert(read_certificates(chain, "certificate_file")?, own)
        .map_err(refused)
}

fn refuse_file(field: &str, file: &Path, error: &rustls::pki_types::pem::Error) -> SettingsError {
    SettingsError::new(field, format!("{}: {error}", file.display()))
}

/// Common name of a certificate, which is the identity of the charge point.
#[must_use]
pub fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let subject = certificate.tbs_certificate().subject();
    let name = subject.iter().find(|part| part.oid == COMMON_NAME)?;
    // Text of any kind: its bytes are the text, but for kinds that nobody uses for ASCII.
    String::from_utf8(name.value.value().to_vec()).ok()
}

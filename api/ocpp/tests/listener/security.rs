//! Security profiles 0 to 3 over real connections.
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::Error;

use crate::point::{House, IDENTITY, Point};

/// Authority of a test, with the certificates that it signs.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// Certificate and key in PEM, for a common name and host names.
    fn sign(&self, name: &str, hosts: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// Files of the listener, and settings that name them.
fn files(folder: &Path, authority: &Authority, profile: u8) -> Value {
    let (certificate, key) = authority.sign("localhost", &["localhost"]);
    let path = |name: &str| folder.join(name);
    fs::write(path("own.pem"), certificate).unwrap();
    fs::write(path("own.key"), key).unwrap();
    let mut settings = json!({
        "security_profile": profile, "certificate_file": path("own.pem"), "key_file": path("own.key"),
    });
    if profile == 3 {
        fs::write(path("ca.pem"), authority.certificate.pem()).unwrap();
        settings["client_ca_file"] = json!(path("ca.pem"));
    }
    settings
}

/// Connects by TLS, with a certificate of the charge point if there is one.
async fn connect_tls(
    house: &House,
    authority: &Authority,
    own: Option<(String, String)>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let stream = TcpStream::connect(house.vendor.address()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn status_of<T>(result: Result<T, Error>) -> u16 {
    match result {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

#[tokio::test]
async fn profile_0_asks_for_nothing_but_a_known_identity() {
    let house = House::new(&json!({"security_profile": 0}));
    for (identity, status) in [(IDENTITY, 101), ("CP-2", 404), ("", 404)] {
        let stream = TcpStream::connect(house.vendor.address()).await.unwrap();
        assert_eq!(status_of(Point::open(stream, identity, None).await), status, "{identity}");
    }
}

/// steve-community/steve#1546, #128, #100: a password of its own for each charge point.
#[tokio::test]
async fn profile_1_asks_for_the_password_of_the_charge_point() {
    let house = House::new(&json!({}));
    let password = house.secrets.password.as_str();
    for (identity, given, status) in [
        (IDENTITY, Some(password), 101),
        (IDENTITY, Some("wrong"), 401),
        (IDENTITY, Some(""), 401),
        (IDENTITY, None, 401),
        ("CP-2", Some(password), 404),
    ] {
        let stream = TcpStream::connect(house.vendor.address()).await.unwrap();
        assert_eq!(status_of(Point::open(stream, identity, given).await), status, "{given:?}");
    }
}

#[tokio::test]
async fn profile_2_has_the_password_inside_of_tls() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let house = House::new(&files(folder.path(), &authority, 2));
    let stream = connect_tls(&house, &authority, None).await.unwrap();
    let password = house.secrets.password.as_str();
    let mut point = Point::open(stream, IDENTITY, Some(password)).await.unwrap();
    point.boots().await;
    let stream = connect_tls(&house, &authority, None).await.unwrap();
    assert_eq!(status_of(Point::open(stream, IDENTITY, Some("wrong")).await), 401);
    // Without TLS there is no answer at all.
    let plain = house.connect().await;
    assert!(!matches!(plain, Err(Error::Http(_)) | Ok(_)));
}

#[tokio::test]
async fn profile_3_asks_for_a_certificate_with_the_identity() {
    let (authority, folder) = (Authority::new(), tempfile::tempdir().unwrap());
    let house = House::new(&files(folder.path(), &authority, 3));
    let stream =
        connect_tls(&house, &authority, Some(authority.sign(IDENTITY, &[]))).await.unwrap();
    let mut point = Point::open(stream, IDENTITY, None).await.unwrap();
    point.boots().await;
    // Signed by the right authority, for another charge point.
    let other = authority.sign("CP-2", &[]);
    let stream = connect_tls(&house, &authority, Some(other)).await.unwrap();
    assert_eq!(status_of(Point::open(stream, IDENTITY, None).await), 401);
    // Signed by a stranger, or not at all.
    for own in [Some(Authority::new().sign(IDENTITY, &[])), None] {
        let is_open = match connect_tls(&house, &authority, own).await {
            // A client of TLS 1.3 learns of the refusal with its first read.
            Ok(stream) => Point::open(stream, IDENTITY, None).await.is_ok(),
            Err(_) => false,
        };
        assert!(!is_open);
    }
}

#[tokio::test]
async fn a_request_that_is_none_is_refused() {
    let house = House::new(&json!({}));
    for (request, expected) in [
        ("POST /CP-1 HTTP/1.1\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        ("nonsense\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        (format!("GET /{} HTTP/1.1\r\n", "x".repeat(9000)), "HTTP/1.1 400 "),
    ] {
        let mut stream = TcpStream::connect(house.vendor.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; expected.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), expected);
    }
}

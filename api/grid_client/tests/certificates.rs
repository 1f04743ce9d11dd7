//! Certificates on the way to the operators' address.
#![expect(clippy::unwrap_used, reason = "helpers of tests are blunt, too")]
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use slackwater_engine::units::{Power, kw};
use slackwater_grid_client::arguments::ServiceArguments;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const SENDER: &str =
    r#"{"order": null, "reason": "free", "fail_safe_kw": 3.0, "next_change": null}"#;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    service: ServiceArguments,
}

/// An authority with its file.
struct Authority {
    folder: PathBuf,
    file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let file = folder.join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder: folder.to_owned(), file, issuer: Issuer::new(params, key) }
    }

    /// A certificate for this machine and its key in one file.
    fn issue(&self, name: &str) -> PathBuf {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = self.folder.join(name);
        fs::write(&file, certificate.pem() + &key.serialize_pem()).unwrap();
        file
    }

    /// Address of a server that answers whoever has a certificate of this authority.
    async fn serve(&self) -> String {
        let own = self.issue("server.pem");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&self.file).unwrap()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(
                vec![CertificateDer::from_pem_file(&own).unwrap()],
                PrivateKeyDer::from_pem_file(&own).unwrap(),
            );
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut asked = [0; 4096];
                assert_ne!(stream.read(&mut asked).await.unwrap(), 0);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", SENDER.len());
                stream.write_all((head + SENDER).as_bytes()).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        address
    }
}

/// Fail-safe of the sender in kW, asked for with more arguments.
async fn ask(url: &str, more: &[(&str, &Path)]) -> Result<Option<f64>, String> {
    let mut line = vec!["program", "--grid", "dso", "--admin", url];
    for (option, file) in more {
        line.extend([option, file.to_str().unwrap()]);
    }
    let arguments = Arguments::parse_from(line).service;
    let (service, _) = arguments.connect("slackwater-test").map_err(|error| error.to_string())?;
    let state = service.read_sender().await.map_err(|error| error.to_string())?;
    Ok(state.fail_safe.map(Power::as_kw))
}

#[tokio::test]
async fn an_address_that_demands_certificates_is_reached_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(folder.path(), "ours");
    let theirs = Authority::new(folder.path(), "theirs");
    let url = ours.serve().await;
    let (mine, foreign) = (ours.issue("mine.pem"), theirs.issue("foreign.pem"));
    let ca = ("--admin-ca", ours.file.as_path());
    let shown = ask(&url, &[ca, ("--admin-certificate", &mine)]).await;
    assert_eq!(shown, Ok(Some(kw(3.0).as_kw())));
    for more in [&[ca][..], &[ca, ("--admin-certificate", &foreign)]] {
        let refused = ask(&url, more).await.unwrap_err();
        assert!(refused.starts_with(&url), "{refused}");
    }
    let strange = ask(&url, &[("--admin-ca", &theirs.file), ("--admin-certificate", &mine)]).await;
    assert!(strange.unwrap_err().contains("not from an authority"));
}

#[tokio::test]
async fn a_file_without_a_certificate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    for option in ["--admin-ca", "--admin-certificate"] {
        let refused = ask("https://127.0.0.1:1", &[(option, &empty)]).await.unwrap_err();
        let named =
            format!("--admin-ca, --admin-certificate: cannot set up TLS: {}", empty.display());
        assert!(refused.starts_with(&named), "{refused}");
    }
}

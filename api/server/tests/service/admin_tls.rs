//! Certificates at the operators' address.
use std::fs;
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use slackwater_integration::registry::Registry;
use slackwater_ocpp::edge::tls::configure_client;
use slackwater_server::running::{Service, Stop};
use slackwater_service::clock::Clock;
use slackwater_service::config::admin::{AdminTls, NamedToken, Role, TokenHash};
use slackwater_store::audit::acts_after;
use slackwater_store::client::Environment;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::command_line::{program, run};
use crate::harness::six;
use crate::process::settings;

/// An authority, and the folder of its certificates.
struct Authority<'a> {
    folder: &'a Path,
    file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl<'a> Authority<'a> {
    fn new(folder: &'a TempDir, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let file = folder.path().join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder: folder.path(), file, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key in one file.
    fn issue(&self, name: &str) -> PathBuf {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = self.folder.join(format!("{name}.both.pem"));
        fs::write(&file, certificate.pem() + &key.serialize_pem()).unwrap();
        file
    }
}

fn path_of(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Status of an answer, or why there was none.
async fn ask(
    (method, url): (Method, &str),
    authority: &Path,
    certificate: Option<&PathBuf>,
    token: Option<&str>,
) -> Result<StatusCode, String> {
    let own = certificate.map(|file| (file.clone(), file.clone()));
    let tls = configure_client(Some(authority), own.as_ref()).unwrap();
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
    let client = Client::builder(TokioExecutor::new()).build(connector.enable_http1().build());
    let mut request = Request::builder().method(method).uri(url);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.header("content-type", "application/json").body(Body::from("{}"));
    let answer = client.request(request.unwrap()).await;
    answer.map(|answer| answer.status()).map_err(|error| format!("{error:?}"))
}

#[tokio::test]
async fn nobody_without_a_certificate_reaches_operators() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Authority::new(&folder, "ours"), Authority::new(&folder, "theirs"));
    let server = ours.issue("server");
    let (mine, foreign) = (ours.issue("mallory-the-operator"), theirs.issue("foreign"));
    let token = "0123456789abcdefghij";
    for has_tokens in [false, true] {
        let mut config = settings(&folder);
        config.admin.tls = Some(AdminTls {
            certificate_file: server.clone(),
            key_file: server.clone(),
            client_ca_file: Some(ours.file.clone()),
        });
        if has_tokens {
            let (name, sha256) = ("grafana".to_owned(), TokenHash::of(token));
            config.admin.tokens = vec![NamedToken { name, role: Role::Read, sha256 }];
        }
        let service = Service::start(config, Clock::fixed(six()), &Registry::new()).await.unwrap();
        let app = service.app(Environment::Sandbox).unwrap().clone();
        let admin = service.admin_url().to_owned();
        assert!(admin.starts_with("https://127.0.0.1:"), "{admin}");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(service.run(async {
            stopped.await.unwrap();
            Stop::AtOnce
        }));
        let (clients, posted) = (format!("{admin}/clients"), format!("{admin}/locations"));
        for certificate in [None, Some(&foreign)] {
            for token in [None, Some(token)] {
                let refused = ask((Method::GET, &clients), &ours.file, certificate, token).await;
                assert!(refused.is_err(), "{refused:?}");
            }
        }
        let answered = async |method, url: &str, token| {
            ask((method, url), &ours.file, Some(&mine), token).await.unwrap().as_u16()
        };
        if has_tokens {
            assert_eq!(answered(Method::GET, &clients, None).await, 401);
            assert_eq!(answered(Method::GET, &clients, Some(token)).await, 200);
            assert_eq!(answered(Method::POST, &posted, Some(token)).await, 403);
        } else {
            assert_eq!(answered(Method::GET, &clients, None).await, 200);
            assert_eq!(answered(Method::POST, &posted, None).await, 400);
        }
        // Commands of operators have the same certificates.
        let list = async |certificate: &[&str]| {
            let line = ["client", "list", "--admin", &admin, "--admin-ca", path_of(&ours.file)];
            let mut command = program(&[&line, certificate].concat());
            command.env("SLACKWATER_ADMIN_TOKEN", token);
            run(command).await
        };
        let (is_done, listed, error) = list(&["--admin-certificate", path_of(&mine)]).await;
        assert!(is_done && listed.starts_with('['), "{listed}{error}");
        for certificate in [&[][..], &["--admin-certificate", path_of(&foreign)]] {
            let (is_done, _, error) = list(certificate).await;
            assert!(!is_done && error.contains(&admin), "{error}");
        }
        // A client that trusts others does not talk to this server.
        let refused = ask((Method::GET, &clients), &theirs.file, Some(&mine), None).await;
        assert!(refused.unwrap_err().contains("UnknownIssuer"));
        let acts = acts_after(app.store(), 0, 10).await.unwrap();
        let whose = acts.last().map(|act| act.act.operator.clone()).unwrap();
        assert_eq!(whose, if has_tokens { "grafana" } else { "certificate:mallory-the-operator" });
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn files_that_are_no_certificates_are_refused_by_the_name_of_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new(&folder, "ours");
    let server = ours.issue("server");
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    for (certificate_file, key_file, client_ca_file, field) in [
        (&empty, &server, None, "admin.tls.certificate_file"),
        (&server, &empty, None, "admin.tls.key_file"),
        (&server, &ours.file, None, "admin.tls.key_file"),
        (&server, &server, Some(&empty), "admin.tls.client_ca_file"),
    ] {
        let mut config = settings(&folder);
        config.admin.tls = Some(AdminTls {
            certificate_file: certificate_file.clone(),
            key_file: key_file.clone(),
            client_ca_file: client_ca_file.cloned(),
        });
        let started = Service::start(config, Clock::fixed(six()), &Registry::new()).await;
        let error = started.unwrap_err().to_string();
        assert!(error.starts_with(field), "{field}: {error}");
    }
}

//! TLS of the operators' address, and towards a broker.
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, ServerConfig};
use slackwater_integration::registry::SettingsError;
use slackwater_ocpp::edge::tls::{common_name, configure, configure_client};
use slackwater_ocpp::settings::TlsFiles;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use slackwater_service::config::HomeAssistantSettings;
use slackwater_service::config::admin::{AdminTls, ClientCertificate};

/// Time in which a client must finish the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// TLS 1.2 and 1.3 by the files of the settings. With an authority of clients nobody connects
/// without a certificate of it.
///
/// # Errors
/// A file is missing or holds something else.
pub fn read(settings: &AdminTls) -> Result<Arc<ServerConfig>, SettingsError> {
    configure(&TlsFiles {
        certificate: settings.certificate_file.clone(),
        key: settings.key_file.clone(),
        client_authority: settings.client_ca_file.clone(),
    })
}

/// TLS 1.2 and 1.3 towards the broker of Home Assistant; `None` for an address without TLS.
///
/// # Errors
/// The file of the authority is missing or holds something else.
pub fn read_broker(
    settings: &HomeAssistantSettings,
) -> Result<Option<Arc<ClientConfig>>, SettingsError> {
    let configure = || configure_client(settings.ca_file.as_deref(), None).map(Arc::new);
    settings.broker.is_encrypted().then(configure).transpose()
}

/// Shakes hands with a client, and says which certificate it has shown.
pub(super) async fn accept(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> io::Result<(TlsStream<TcpStream>, Option<ClientCertificate>)> {
    let stream = timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await??;
    let chain = stream.get_ref().1.peer_certificates();
    let certificate = chain.and_then(|chain| chain.first()).map(|certificate| {
        let name = common_name(certificate).unwrap_or_else(|| "without a name".to_owned());
        ClientCertificate(name.into())
    });
    Ok((stream, certificate))
}

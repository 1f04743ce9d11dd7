//! One connection: requests that are bounded in time, and the walk along the models.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use slackwater_integration::error::VendorError;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_modbus::client::tcp::attach_slave;
use tokio_modbus::client::{Client, Context};
use tokio_modbus::{ExceptionCode, Request, Response, Slave};

use crate::map::chain::{BASES, ChainError, MARKER, Place, Walk};
use crate::map::control::{ControlError, REVERT_SECONDS, Write};
use crate::map::facts::is_read;
use crate::map::points::Points;

/// Failure of a connection, or of a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// There is no connection, or it ended.
    #[error("the connection failed: {0}")]
    Lost(#[from] io::Error),
    /// No answer came in time.
    #[error("no answer came in time")]
    TimedOut,
    /// A gateway cannot reach the device.
    #[error("the gateway does not reach the device: {0}")]
    BehindGateway(ExceptionCode),
    /// The device refuses the request.
    #[error("the device refuses the request: {0}")]
    Refused(ExceptionCode),
    /// The answer belongs to no request of ours.
    #[error("the answer does not fit the request")]
    Malformed,
    /// The registers are no models.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The device cannot be set to a mode.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Another device has the address.
    #[error("the serial number is {found:?}, and not that of the settings")]
    OtherDevice {
        /// Serial number of the device that answered.
        found: Option<String>,
    },
}

impl SessionError {
    /// The failure as the service knows it.
    pub(crate) fn into_vendor_error(self) -> VendorError {
        match self {
            Self::Lost(_) | Self::BehindGateway(_) => VendorError::Unreachable,
            Self::TimedOut => VendorError::TimedOut,
            Self::OtherDevice { .. } => VendorError::NoSuchDevice,
            Self::Control(error) => VendorError::PreconditionLost { detail: error.to_string() },
            Self::Refused(_) | Self::Malformed | Self::Chain(_) => {
                VendorError::Refused { detail: self.to_string() }
            }
        }
    }

    /// Returns true if the device, or the way to it, needs a pause.
    pub(crate) const fn needs_pause(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::TimedOut | Self::BehindGateway(_) | Self::Malformed)
    }
}

/// A connection to a device.
pub(crate) struct Session {
    context: Context,
    patience: Duration,
}

impl Session {
    /// Opens a connection; each step may take as long as `patience`.
    pub(crate) async fn open(
        address: &str,
        unit_id: u8,
        patience: Duration,
    ) -> Result<Self, SessionError> {
        let connecting = timeout(patience, TcpStream::connect(address)).await;
        let stream = connecting.map_err(|_| SessionError::TimedOut)??;
        // Requests are small, and each waits for its answer.
        stream.set_nodelay(true)?;
        Ok(Self { context: attach_slave(stream, Slave(unit_id)), patience })
    }

    /// Closes the connection. A device that does not answer any more is left to itself.
    pub(crate) async fn close(mut self) {
        let _ = timeout(self.patience, self.context.disconnect()).await;
    }

    async fn call(&mut self, request: Request<'_>) -> Result<Response, SessionError> {
        let called = timeout(self.patience, self.context.call(request)).await;
        match called.map_err(|_| SessionError::TimedOut)? {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(
                code @ (ExceptionCode::GatewayPathUnavailable | ExceptionCode::GatewayTargetDevice),
            )) => Err(SessionError::BehindGateway(code)),
            Ok(Err(code)) => Err(SessionError::Refused(code)),
            Err(tokio_modbus::Error::Transport(error)) => Err(SessionError::Lost(error)),
            Err(tokio_modbus::Error::Protocol(_)) => Err(SessionError::Malformed),
        }
    }

    /// Reads holding registers.
    async fn read(&mut self, address: u16, count: u16) -> Result<Vec<u16>, SessionError> {
        match self.call(Request::ReadHoldingRegisters(address, count)).await? {
            Response::ReadHoldingRegisters(values) if values.len() == usize::from(count) => {
                Ok(values)
            }
            _ => Err(SessionError::Malformed),
        }
    }

    async fn read_pair(&mut self, address: u16) -> Result<[u16; 2], SessionError> {
        let values = self.read(address, 2).await?;
        values.try_into().map_err(|_| SessionError::Malformed)
    }

    /// Places of the models of a device.
    pub(crate) async fn find_models(&mut self) -> Result<BTreeMap<u16, Place>, SessionError> {
        for base in BASES {
            match self.read_pair(base).await {
                Ok(MARKER) => {
                    let mut walk = Walk::begin(base);
                    while walk.take_header(self.read_pair(walk.header_address()).await?)? {}
                    return Ok(walk.into_places());
                }
                // Devices refuse addresses that they do not have.
                Ok(_) | Err(SessionError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(ChainError::NoMarker.into())
    }

    /// Points of the models that facts are read from.
    pub(crate) async fn read_models(
        &mut self,
        places: &BTreeMap<u16, Place>,
    ) -> Result<BTreeMap<u16, Points>, SessionError> {
        let mut models = BTreeMap::new();
        for (&id, &place) in places.iter().filter(|(id, _)| is_read(**id)) {
            let mut registers = Vec::new();
            for (address, count) in place.list_reads() {
                registers.extend(self.read(address, count).await?);
            }
            models.insert(id, Points::new(registers));
        }
        Ok(models)
    }

    /// Writes registers of a model.
    pub(crate) async fn write(&mut self, place: Place, write: &Write) -> Result<(), SessionError> {
        let address = place.address.checked_add(write.offset).ok_or(SessionError::Malformed)?;
        let request = Request::WriteMultipleRegisters(address, Cow::Borrowed(&write.values));
        match self.call(request).await? {
            Response::WriteMultipleRegisters(start, count)
                if (start, usize::from(count)) == (address, write.values.len()) =>
            {
                Ok(())
            }
            _ => Err(SessionError::Malformed),
        }
    }

    /// Returns true if the timer of storage control has a time. A device may count it down, or round
    /// it.
    pub(crate) async fn holds_timer(&mut self, place: Place) -> Result<bool, SessionError> {
        let address = place.address.checked_add(REVERT_SECONDS).ok_or(SessionError::Malformed)?;
        let seconds = self.read(address, 1).await?;
        Ok(!matches!(seconds[..], [0 | 0xFFFF]))
    }
}

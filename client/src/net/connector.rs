//! The port through which connections are made.

use std::io;

use tidemill_base::ports::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A connection's bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// Makes connections.
pub trait Connector: Send + Sync + 'static {
    /// A new connection to `host` (a name or an address, without brackets) at `port`.
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Box<dyn Stream>>>;
}

/// TCP without Nagle's delay: requests are written whole.
#[derive(Clone, Copy, Debug)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

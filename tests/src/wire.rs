//! One connection to a broker, blocking, with nothing hidden: frames go out as they are given.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tidemill_kafka::{KString, Request, Response, decode_response, encode_request};

/// The largest answer that is read.
const FRAME_BYTES_MAX: usize = 256 << 20;
/// How long a connection may take to be made, and an answer to come, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A connection to a broker.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    correlation_id: i32,
}

/// How a connection answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A frame, without its length.
    Frame(Bytes),
    /// The other side ended the connection.
    Closed,
    /// Nothing within the time.
    Silence,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT).context("connect")?;
        stream.set_nodelay(true).context("prepare the connection")?;
        let wire = Self { stream, correlation_id: 0 };
        wire.wait_for_answers(TIMEOUT)?;
        wire.stream.set_write_timeout(Some(TIMEOUT)).context("prepare the connection")?;
        Ok(wire)
    }

    /// Sets how long an answer may take.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait_for_answers(&self, timeout: Duration) -> Result<()> {
        self.stream.set_read_timeout(Some(timeout)).context("prepare the connection")
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// What the system says: mostly that the other side has closed.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends bytes with their length in front.
    ///
    /// # Errors
    /// Those of [`Self::send_bytes`].
    pub fn send_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        self.send_bytes(&[&length.to_be_bytes(), frame].concat())
    }

    /// Sends a request and answers its correlation id.
    ///
    /// # Errors
    /// The request has no such version, or the connection is lost.
    pub fn send<R: Request>(&mut self, request: &R, version: i16) -> Result<i32> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let client_id = KString::from("tidemill-tests");
        let parts = encode_request(self.correlation_id, Some(&client_id), request, version)?;
        self.send_bytes(&parts.to_bytes()).context("send a request")?;
        Ok(self.correlation_id)
    }

    /// Ends this side: nothing more will be sent.
    pub fn end(&self) {
        // If the other side was faster, it knows.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Waits for what comes.
    ///
    /// # Errors
    /// The answer is no frame.
    pub fn hear(&mut self) -> Result<Heard> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if is_timeout(&error) => return Ok(Heard::Silence),
            Err(_) => return Ok(Heard::Closed),
        }
        let length = u32::from_be_bytes(length) as usize;
        if length > FRAME_BYTES_MAX {
            bail!("an answer of {length} bytes was announced");
        }
        let mut frame = vec![0; length];
        match self.stream.read_exact(&mut frame) {
            Ok(()) => Ok(Heard::Frame(frame.into())),
            Err(error) if is_timeout(&error) => bail!("an answer stopped in its middle"),
            Err(_) => Ok(Heard::Closed),
        }
    }

    /// Waits for the next answer, with its correlation id.
    ///
    /// # Errors
    /// The connection was closed, nothing came in time, or the answer is not one.
    pub fn receive<R: Response>(&mut self, version: i16) -> Result<(i32, R)> {
        match self.hear()? {
            Heard::Frame(frame) => decode_response(frame, version).context("decode an answer"),
            Heard::Closed => bail!("the connection was closed"),
            Heard::Silence => bail!("no answer in time"),
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// Those of [`Self::send`] and [`Self::receive`], and an answer to another request.
    pub fn call<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response> {
        let sent = self.send(request, version)?;
        let (answered, response) = self.receive(version)?;
        if answered != sent {
            bail!("request {sent} was answered by {answered}");
        }
        Ok(response)
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

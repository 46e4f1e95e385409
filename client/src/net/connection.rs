//! One connection to a broker: one task, pipelined requests, answers in order.
//!
//! - A request takes a *place* first; there are `in_flight_max` of them, and a place is free again
//!   when the answer has come, not when the caller loses interest.
//! - Requests are written in the order in which they were sent from one task.
//! - When the connection ends, a request whose writing had begun fails as `Ambiguous`, any other
//!   as `Retry`. A request that is not answered in time ends the connection.
//! - Dropping the last handle ends the connection.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tidemill_base::ErrorKind;
use tidemill_kafka::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use tidemill_kafka::{
    ApiKey, KString, Parts, Request, decode_response, encode_request, peek_correlation_id,
};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use crate::config::ClientConfig;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::net::connector::Stream;
use crate::net::frame::{read_frame, write_frame};
use crate::net::in_flight::InFlight;
use crate::net::versions::{Handshake, Versions};

/// How many bytes are read from the socket at once for small answers.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// A handle on a connection; all handles share it.
#[derive(Clone)]
pub(crate) struct Connection {
    outbox: mpsc::Sender<Outgoing>,
    line: Arc<Line>,
}

/// What handles and task share.
struct Line {
    peer: String,
    versions: Versions,
    client_id: KString,
    request_timeout: Duration,
    correlation_ids: AtomicI32,
    places: Arc<Semaphore>,
    state: Mutex<State>,
    ended: Notify,
}

struct State {
    in_flight: InFlight<Waiter>,
    /// Why the connection ended.
    ended: Option<Error>,
}

struct Waiter {
    reply: oneshot::Sender<Result<Bytes>>,
    _place: Place,
}

struct Outgoing {
    correlation_id: i32,
    frame: Parts,
    waiter: Waiter,
    is_answered: bool,
}

/// The right to have one request in flight.
#[derive(Debug)]
pub(crate) struct Place(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

/// What a request waits for.
pub(crate) struct Answer<R> {
    connection: Connection,
    reply: oneshot::Receiver<Result<Bytes>>,
    deadline: Instant,
    version: i16,
    is_answered: bool,
    _response: std::marker::PhantomData<fn() -> R>,
}

impl Connection {
    /// Connects to `host` and learns what the broker speaks. `peer` names it in errors.
    ///
    /// # Errors
    /// `Retry` if the broker cannot be reached or answers with garbage, `Invalid` if it refuses
    /// to say what it speaks.
    pub(crate) async fn open(
        environment: &Environment,
        config: &ClientConfig,
        host: &str,
        port: u16,
        peer: String,
    ) -> Result<Self> {
        let timeout = Duration::from_millis(config.connect_timeout_ms);
        let opening = async {
            let mut stream = environment.connector.connect(host, port).await?;
            let versions = shake_hands(&mut stream, config).await?;
            Ok((stream, versions))
        };
        let opened = match tokio::time::timeout(timeout, opening).await {
            Ok(opened) => opened.map_err(|error: OpenError| error.about(&peer))?,
            Err(_) => {
                let message = format!("{peer} did not answer within {timeout:?}");
                return Err(Error::new(ErrorKind::Retry, message));
            }
        };
        Ok(Self::start(environment, config, opened.0, opened.1, peer))
    }

    fn start(
        environment: &Environment,
        config: &ClientConfig,
        stream: Box<dyn Stream>,
        versions: Versions,
        peer: String,
    ) -> Self {
        let (outbox, requests) = mpsc::channel(config.in_flight_max);
        let line = Arc::new(Line {
            peer,
            versions,
            client_id: KString::from(&config.client_id),
            request_timeout: Duration::from_millis(config.request_timeout_ms),
            correlation_ids: AtomicI32::new(0),
            places: Arc::new(Semaphore::new(config.in_flight_max)),
            state: Mutex::new(State { in_flight: InFlight::new(), ended: None }),
            ended: Notify::new(),
        });
        let task = run(stream, requests, line.clone(), config.frame_bytes_max);
        environment.spawn.task("client connection", Box::pin(task));
        Self { outbox, line }
    }

    /// Whether requests can still be sent.
    pub(crate) fn is_alive(&self) -> bool {
        self.line.state.lock().ended.is_none()
    }

    /// The newest common version of `api`, at most `limit`.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    pub(crate) fn version(&self, api: ApiKey, limit: i16) -> Result<i16> {
        self.line.versions.pick(api, limit).map_err(|error| error.during(&self.line.peer))
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// `Retry` if the connection has ended.
    pub(crate) async fn place(&self) -> Result<Place> {
        let places = self.line.places.clone();
        places.acquire_owned().await.map(Place).map_err(|_| self.not_sent())
    }

    /// A place, if there is one at once.
    pub(crate) fn free_place(&self) -> Option<Place> {
        self.line.places.clone().try_acquire_owned().ok().map(Place)
    }

    /// Sends a request in this version. The broker may take `extra` longer than usual.
    ///
    /// # Errors
    /// `Invalid` if the request has no such form, `Retry` if the connection has ended.
    pub(crate) fn send<R: Request>(
        &self,
        place: Place,
        request: &R,
        version: i16,
        extra: Duration,
    ) -> Result<Answer<R::Response>> {
        self.enqueue(place, request, version, extra, true)
    }

    /// Sends a request that the broker does not answer; the answer is made up once it is written.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub(crate) fn send_unanswered<R: Request>(
        &self,
        place: Place,
        request: &R,
        version: i16,
    ) -> Result<Answer<R::Response>> {
        self.enqueue(place, request, version, Duration::ZERO, false)
    }

    /// Sends a request in the newest version up to `limit` and waits for its answer.
    ///
    /// # Errors
    /// Those of [`Self::send`] and [`Answer::wait`].
    pub(crate) async fn call<R: Request>(
        &self,
        request: &R,
        limit: i16,
        extra: Duration,
    ) -> Result<R::Response> {
        let version = self.version(R::API, limit)?;
        let place = self.place().await?;
        self.send(place, request, version, extra)?.wait().await
    }

    fn enqueue<R: Request>(
        &self,
        place: Place,
        request: &R,
        version: i16,
        extra: Duration,
        is_answered: bool,
    ) -> Result<Answer<R::Response>> {
        let line = &self.line;
        let correlation_id = line.correlation_ids.fetch_add(1, Ordering::Relaxed);
        let frame = encode_request(correlation_id, Some(&line.client_id), request, version)
            .map_err(|error| Error::caused(error.kind(), format!("{}: {error}", R::NAME), error))?;
        let (reply, answer) = oneshot::channel();
        let waiter = Waiter { reply, _place: place };
        let outgoing = Outgoing { correlation_id, frame, waiter, is_answered };
        self.outbox.try_send(outgoing).map_err(|_| self.not_sent())?;
        Ok(Answer {
            connection: self.clone(),
            reply: answer,
            deadline: Instant::now() + line.request_timeout + extra,
            version,
            is_answered,
            _response: std::marker::PhantomData,
        })
    }

    fn not_sent(&self) -> Error {
        let reason = self.line.state.lock().ended.as_ref().map(ToString::to_string);
        let reason =
            reason.unwrap_or_else(|| format!("{}: the connection has ended", self.line.peer));
        Error::new(ErrorKind::Retry, format!("{reason}; the request was not sent"))
    }
}

impl<R: tidemill_kafka::Response> Answer<R> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// `Ambiguous` if the connection ended or the time was up after sending, `Retry` if before,
    /// `Corrupt` if the answer cannot be read.
    pub(crate) async fn wait(mut self) -> Result<R> {
        let line = &self.connection.line;
        let reply = match tokio::time::timeout_at(self.deadline, &mut self.reply).await {
            Ok(reply) => reply,
            Err(_) => {
                let message = format!("{}: no answer to {} in time", line.peer, R::NAME);
                line.end(Error::new(ErrorKind::Retry, message));
                (&mut self.reply).await
            }
        };
        let frame = match reply {
            Ok(frame) => frame?,
            Err(_) => return Err(self.connection.not_sent()),
        };
        if !self.is_answered {
            return Ok(R::default());
        }
        let decoded = decode_response(frame, self.version);
        decoded.map(|(_, response)| response).map_err(|error| {
            let message = format!("{}: unreadable {}: {error}", line.peer, R::NAME);
            Error::caused(error.kind(), message, error)
        })
    }
}

impl Line {
    /// Ends the connection, if it has not ended; all who wait are told.
    fn end(&self, reason: Error) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            let message = format!("{reason}; the request may have taken effect");
            let error = Error::new(ErrorKind::Ambiguous, message);
            for waiter in state.in_flight.drain() {
                let _ = waiter.reply.send(Err(error.clone()));
            }
            state.ended = Some(reason);
        }
        drop(state);
        self.places.close();
        self.ended.notify_one();
    }

    /// Registers a request that is about to be written; false if the connection has ended.
    fn register(&self, correlation_id: i32, waiter: Waiter) -> bool {
        let mut state = self.state.lock();
        let is_alive = state.ended.is_none();
        if is_alive {
            state.in_flight.sent(correlation_id, waiter);
        }
        is_alive
    }
}

async fn run(
    stream: Box<dyn Stream>,
    mut requests: mpsc::Receiver<Outgoing>,
    line: Arc<Line>,
    frame_bytes_max: usize,
) {
    let (reading, writing) = tokio::io::split(stream);
    let ended = tokio::select! {
        error = read_answers(reading, &line, frame_bytes_max) => error,
        error = write_requests(writing, &mut requests, &line) => error,
        () = line.ended.notified() => None,
    };
    let reason = match ended {
        Some(error) => format!("{}: {error}", line.peer),
        None => format!("{}: the connection was closed", line.peer),
    };
    tracing::debug!(peer = line.peer, reason, "connection ended");
    line.end(Error::new(ErrorKind::Retry, reason));
}

async fn write_requests(
    mut stream: impl AsyncWrite + Unpin,
    requests: &mut mpsc::Receiver<Outgoing>,
    line: &Line,
) -> Option<io::Error> {
    while let Some(Outgoing { correlation_id, frame, waiter, is_answered }) = requests.recv().await
    {
        if !line.register(correlation_id, waiter) {
            return None;
        }
        if let Err(error) = write_frame(&mut stream, frame).await {
            return Some(error);
        }
        if !is_answered {
            hand_over(line, correlation_id, Bytes::new());
        }
    }
    None
}

async fn read_answers(
    stream: impl AsyncRead + Unpin,
    line: &Line,
    frame_bytes_max: usize,
) -> Option<io::Error> {
    let mut stream = BufReader::with_capacity(READ_BUFFER_BYTES, stream);
    loop {
        let frame = match read_frame(&mut stream, frame_bytes_max).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Some(io::ErrorKind::ConnectionReset.into()),
            Err(error) => return Some(error),
        };
        let correlation_id = peek_correlation_id(&frame)?;
        if !hand_over(line, correlation_id, frame) {
            let message = format!("the answer {correlation_id} is not the next one");
            return Some(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    }
}

/// Hands an answer to its request; false if it is not the next one.
fn hand_over(line: &Line, correlation_id: i32, frame: Bytes) -> bool {
    let waiter = line.state.lock().in_flight.answered(correlation_id);
    let is_next = waiter.is_some();
    if let Some(waiter) = waiter {
        // Who waited may have given up.
        let _ = waiter.reply.send(Ok(frame));
    }
    is_next
}

/// Learns which versions the broker speaks, before anything else is sent.
async fn shake_hands(
    stream: &mut Box<dyn Stream>,
    config: &ClientConfig,
) -> Result<Versions, OpenError> {
    let client_id = KString::from(&config.client_id);
    let request = ApiVersionsRequest {
        client_software_name: KString::from_static("tidemill"),
        client_software_version: KString::from_static(env!("CARGO_PKG_VERSION")),
    };
    let mut version = ApiKey::ApiVersions.range().version_max;
    loop {
        let frame = encode_request(0, Some(&client_id), &request, version)
            .map_err(|error| OpenError::Garbage(error.to_string()))?;
        write_frame(stream, frame).await?;
        let frame = read_frame(stream, config.frame_bytes_max).await?;
        let frame = frame.ok_or(io::Error::from(io::ErrorKind::ConnectionReset))?;
        let (_, response) = decode_response::<ApiVersionsResponse>(frame, version)
            .map_err(|error| OpenError::Garbage(error.to_string()))?;
        match Versions::judge(&response, version) {
            Handshake::Done(versions) => return Ok(versions),
            Handshake::AskAgain(lower) => version = lower,
            Handshake::Refused(code) => return Err(OpenError::Refused(code)),
        }
    }
}

enum OpenError {
    Io(io::Error),
    Garbage(String),
    Refused(tidemill_kafka::ErrorCode),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl OpenError {
    fn about(self, peer: &str) -> Error {
        match self {
            Self::Io(error) => {
                let message = format!("connect to {peer}: {error}");
                Error::caused(ErrorKind::Retry, message, error)
            }
            Self::Garbage(what) => {
                let message = format!("connect to {peer}: it does not speak Kafka: {what}");
                Error::new(ErrorKind::Retry, message)
            }
            Self::Refused(code) => Error::answered(format!("connect to {peer}"), code),
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.line.peer).finish()
    }
}

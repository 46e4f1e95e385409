//! The way clients reach the node: frames into the present life, answers back unless it ended.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tidemill_base::ports::BoxFuture;
use tidemill_broker_server::service::{Dispatched, Service, ServiceConnection};
use tidemill_kafka::{Request, decode_response, encode_request};

use super::chance::Chance;
use super::lives::Lives;

/// How long a client waits for an answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);

/// Why a client has no answer. What it asked may have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost;

/// A client's way to the node.
pub struct Gateway {
    lives: Lives,
    chance: Chance,
    connection: Option<(u64, Box<dyn ServiceConnection>)>,
}

/// An answer under way.
pub type Answer<R> = BoxFuture<'static, Result<R, Lost>>;

impl Gateway {
    /// A way into the present life, whatever it is.
    #[must_use]
    pub fn new(lives: Lives, chance: Chance) -> Self {
        Self { lives, chance, connection: None }
    }

    /// Waits until the node is up, or gives up after a while.
    pub async fn wait_until_up(&self) {
        for _ in 0..400 {
            if self.lives.current().is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends a request in the order of the calls, and returns what waits for its answer.
    pub fn send<R: Request + 'static>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<Answer<R::Response>, Lost>
    where
        R::Response: Send,
    {
        let life = self.lives.current().ok_or(Lost)?;
        if self.connection.as_ref().is_none_or(|(number, _)| *number != life.number) {
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            self.connection = Some((life.number, life.node.service().connect(peer)));
        }
        let (_, connection) = self.connection.as_mut().ok_or(Lost)?;
        let mut frame = encode_request(7, None, request, version).map_err(|_| Lost)?.to_bytes();
        frame.advance(4);
        let dispatched = connection.dispatch(frame);
        let answer: BoxFuture<'static, Result<Bytes, Lost>> = match dispatched {
            Dispatched::Ready(parts) => Box::pin(async move { Ok(parts.to_bytes()) }),
            Dispatched::Later(parts) => Box::pin(async move { Ok(parts.await.to_bytes()) }),
            // Workloads send nothing that takes a while to judge.
            Dispatched::Pending(_) | Dispatched::Silent(_) | Dispatched::Close(_) => {
                self.connection = None;
                return Err(Lost);
            }
        };
        let ended = Arc::clone(&life.ended);
        let loses = self.chance.hits(2_000);
        Ok(Box::pin(async move {
            let answer = tokio::select! {
                biased;
                () = ended.wait() => return Err(Lost),
                answer = tokio::time::timeout(REQUEST_TIMEOUT, answer) => answer,
            };
            let mut frame = answer.map_err(|_| Lost)??;
            if loses || frame.len() < 4 {
                return Err(Lost);
            }
            frame.advance(4);
            let (_, response) = decode_response::<R::Response>(frame, version).map_err(|_| Lost)?;
            Ok(response)
        }))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// [`Lost`]: there is no answer.
    pub async fn call<R: Request + 'static>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<R::Response, Lost>
    where
        R::Response: Send,
    {
        self.send(request, version)?.await
    }
}

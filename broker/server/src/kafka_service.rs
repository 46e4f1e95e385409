//! Kafka requests from frames, and who handles which.
//!
//! Produce is admitted at once, in the order of the frames; every other handler is a future that
//! starts when its answer is at the head of the connection.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tidemill_kafka::messages::ApiVersionsResponse;
use tidemill_kafka::{
    ApiKey, DECODED_BYTES_MAX, ErrorCode, KString, Parts, Reader, Request, RequestHeader, Response,
    decode_request, encode_response,
};
use tokio::time::Instant;

use crate::authorization::Principal;
use crate::broker::Broker;
use crate::budget::Held;
use crate::handlers;
use crate::handlers::produce::Call;
use crate::holdings::Holdings;
use crate::service::{Dispatched, Service, ServiceConnection};

/// The number of ApiVersions, which is answered in any version.
const API_VERSIONS: i16 = ApiKey::ApiVersions as i16;

/// What the lists of a request may take beyond its frame at any time, in bytes: those of a client that
/// asks for hundreds of partitions. So whoever uses up the budget keeps only the like from being served.
const DECODED_BYTES_FREE: usize = 32 << 10;

/// What a handler knows about a request beside the request.
#[derive(Clone, Debug)]
pub struct Context {
    /// The request's version.
    pub version: i16,
    /// What the client calls itself. Keeps the request's frame alive.
    pub client_id: Option<KString>,
    /// Where it connects from.
    pub peer: SocketAddr,
    /// Who it is.
    pub principal: Arc<Principal>,
    pub(crate) holdings: Holdings,
}

impl Context {
    /// To be called by handlers whose answers may be long however short the request is, after all else
    /// that they wait for: so many such answers are in memory without a share of a budget and no more.
    pub(crate) async fn take_turn(&self, broker: &Broker) {
        self.holdings.take_turn(&broker.turns).await;
    }
}

/// Serves Kafka to connections.
pub struct KafkaService {
    broker: Arc<Broker>,
    connections: std::sync::atomic::AtomicUsize,
}

/// One connection.
struct KafkaConnection {
    broker: Arc<Broker>,
    peer: SocketAddr,
    principal: Arc<Principal>,
    /// The lane that its produce requests go to: one, so that they keep their order.
    lane: usize,
}

impl KafkaService {
    /// A service of `broker`.
    #[must_use]
    pub fn new(broker: Arc<Broker>) -> Self {
        Self { broker, connections: std::sync::atomic::AtomicUsize::new(0) }
    }
}

impl Service for KafkaService {
    fn connect(&self, peer: SocketAddr) -> Box<dyn ServiceConnection> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        Box::new(KafkaConnection {
            broker: Arc::clone(&self.broker),
            peer,
            principal: Arc::default(),
            lane: number % self.broker.lanes.len().max(1),
        })
    }
}

impl ServiceConnection for KafkaConnection {
    fn dispatch(&mut self, frame: Bytes) -> Dispatched {
        let frame_bytes = frame.len();
        let available = self.broker.decoded.available() as usize;
        let memory_max = frame_bytes.saturating_add(available.max(DECODED_BYTES_FREE));
        let mut reader = Reader::with_memory_max(frame, memory_max.min(DECODED_BYTES_MAX));
        let header = match RequestHeader::decode(&mut reader) {
            Ok(header) => header,
            Err(error) => return self.malformed(&error.to_string()),
        };
        match header.api() {
            Some(ApiKey::Produce) => self.produce(&header, reader, frame_bytes),
            Some(api) => self.handle(api, header, reader),
            None if header.api_key == API_VERSIONS => unsupported_api_versions(&header),
            None => {
                self.broker.request_metrics.unsupported.fetch_add(1, Ordering::Relaxed);
                Dispatched::Close(format!(
                    "request {} version {} is not served",
                    header.api_key, header.api_version
                ))
            }
        }
    }
}

impl KafkaConnection {
    /// Decodes a request whose header is read, and holds the memory that it takes beyond its frame.
    fn decode<R: Request>(
        &self,
        header: &RequestHeader,
        mut reader: Reader,
    ) -> Result<(R, Option<Held>), Dispatched> {
        let request = decode_request(&mut reader, header)
            .map_err(|error| self.malformed(&error.to_string()))?;
        let beyond = reader.memory_used().saturating_sub(reader.position());
        if beyond <= DECODED_BYTES_FREE {
            return Ok((request, None));
        }
        match u32::try_from(beyond).ok().and_then(|bytes| self.broker.decoded.try_hold(bytes)) {
            Some(held) => Ok((request, Some(held))),
            None => Err(self.malformed(&format!(
                "a {} request with lists that take {beyond} bytes: requests under way leave no room \
                 for that; ask for less at once",
                R::API.name()
            ))),
        }
    }

    fn malformed(&self, reason: &str) -> Dispatched {
        self.broker.request_metrics.malformed.fetch_add(1, Ordering::Relaxed);
        Dispatched::Close(reason.to_owned())
    }

    fn handle(&self, api: ApiKey, header: RequestHeader, reader: Reader) -> Dispatched {
        use handlers as h;
        match api {
            ApiKey::Fetch => self.later(header, reader, h::fetch::handle),
            ApiKey::ListOffsets => self.later(header, reader, h::list_offsets::handle),
            ApiKey::Metadata => self.later(header, reader, h::metadata::handle),
            ApiKey::ApiVersions => self.later(header, reader, h::api_versions::handle),
            ApiKey::CreateTopics => self.later(header, reader, h::create_topics::handle),
            ApiKey::InitProducerId => self.later(header, reader, h::init_producer_id::handle),
            _ => self.handle_group(api, header, reader),
        }
    }

    fn handle_group(&self, api: ApiKey, header: RequestHeader, reader: Reader) -> Dispatched {
        use handlers as h;
        match api {
            ApiKey::FindCoordinator => self.later(header, reader, h::find_coordinator::handle),
            ApiKey::JoinGroup => self.later(header, reader, h::join_group::handle),
            ApiKey::SyncGroup => self.later(header, reader, h::sync_group::handle),
            ApiKey::Heartbeat => self.later(header, reader, h::heartbeat::handle),
            ApiKey::LeaveGroup => self.later(header, reader, h::leave_group::handle),
            ApiKey::OffsetCommit => self.later(header, reader, h::offset_commit::handle),
            ApiKey::OffsetFetch => self.later(header, reader, h::offset_fetch::handle),
            ApiKey::OffsetDelete => self.later(header, reader, h::offset_delete::handle),
            ApiKey::DescribeGroups => self.later(header, reader, h::describe_groups::handle),
            ApiKey::ListGroups => self.later(header, reader, h::list_groups::handle),
            ApiKey::DeleteGroups => self.later(header, reader, h::delete_groups::handle),
            _ => self.handle_admin(api, header, reader),
        }
    }

    fn handle_admin(&self, api: ApiKey, header: RequestHeader, reader: Reader) -> Dispatched {
        use handlers as h;
        match api {
            ApiKey::DeleteTopics => self.later(header, reader, h::delete_topics::handle),
            ApiKey::DeleteRecords => self.later(header, reader, h::delete_records::handle),
            ApiKey::OffsetForLeaderEpoch => {
                self.later(header, reader, h::offset_for_leader_epoch::handle)
            }
            ApiKey::DescribeConfigs => self.later(header, reader, h::describe_configs::handle),
            ApiKey::AlterConfigs => self.later(header, reader, h::alter_configs::handle),
            ApiKey::IncrementalAlterConfigs => {
                self.later(header, reader, h::incremental_alter_configs::handle)
            }
            ApiKey::CreatePartitions => self.later(header, reader, h::create_partitions::handle),
            ApiKey::DescribeCluster => self.later(header, reader, h::describe_cluster::handle),
            ApiKey::DescribeTopicPartitions => {
                self.later(header, reader, h::describe_topic_partitions::handle)
            }
            _ => Dispatched::Close(format!("{} is not served yet", api.name())),
        }
    }

    fn produce(&self, header: &RequestHeader, reader: Reader, frame_bytes: usize) -> Dispatched {
        let since = Instant::now();
        let (request, held) = match self.decode(header, reader) {
            Ok(decoded) => decoded,
            Err(refused) => return refused,
        };
        let call = Call {
            broker: Arc::clone(&self.broker),
            context: self.context(header, Holdings::default()),
            lane: self.lane,
            frame_bytes,
            correlation_id: header.correlation_id,
            since,
        };
        kept_until_answered(call.dispatch(request), held)
    }

    /// Decodes now, and handles when the answer is awaited.
    fn later<R, H>(
        &self,
        header: RequestHeader,
        reader: Reader,
        handler: fn(Arc<Broker>, Context, R) -> H,
    ) -> Dispatched
    where
        R: Request + Send + 'static,
        R::Response: Response + Send,
        H: Future<Output = R::Response> + Send + 'static,
    {
        let since = Instant::now();
        let (request, held) = match self.decode::<R>(&header, reader) {
            Ok(decoded) => decoded,
            Err(refused) => return refused,
        };
        let (broker, holdings) = (Arc::clone(&self.broker), Holdings::new(held));
        let context = self.context(&header, holdings.clone());
        Dispatched::Later(Box::pin(async move {
            let response = handler(Arc::clone(&broker), context, request).await;
            broker.request_metrics.answered(R::API, since);
            let mut answer = encoded(header.correlation_id, &response, header.api_version);
            drop(response);
            let bytes = u32::try_from(answer.own_bytes()).unwrap_or(u32::MAX);
            let share = broker.answer_frames.hold_by_size(bytes).await;
            answer.keep_own(Arc::new(share));
            holdings.end();
            answer
        }))
    }

    fn context(&self, header: &RequestHeader, holdings: Holdings) -> Context {
        Context {
            version: header.api_version,
            client_id: header.client_id.clone(),
            peer: self.peer,
            principal: Arc::clone(&self.principal),
            holdings,
        }
    }
}

/// Holds memory until an answer is known.
fn kept_until_answered(dispatched: Dispatched, held: Option<Held>) -> Dispatched {
    let Some(held) = held else { return dispatched };
    match dispatched {
        Dispatched::Later(answer) => Dispatched::Later(Box::pin(async move {
            let answer = answer.await;
            drop(held);
            answer
        })),
        Dispatched::Silent(end) => Dispatched::Silent(Box::pin(async move {
            end.await;
            drop(held);
        })),
        Dispatched::Pending(dispatched) => Dispatched::Pending(Box::pin(async move {
            kept_until_answered(dispatched.await, Some(held))
        })),
        Dispatched::Ready(_) | Dispatched::Close(_) => dispatched,
    }
}

/// A response that has no form in the request's version would be a mistake of a handler; the client
/// is left without an answer rather than with a wrong one.
pub(crate) fn encoded<R: Response>(correlation_id: i32, response: &R, version: i16) -> Parts {
    encode_response(correlation_id, response, version).unwrap_or_else(|error| {
        tracing::error!(%error, api = R::API.name(), version, "response cannot be encoded");
        Parts::default()
    })
}

/// KIP-511: whatever the version asked, the answer has the shape of version 0 and lists what is
/// served, so that the client can ask again.
fn unsupported_api_versions(header: &RequestHeader) -> Dispatched {
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        ..ApiVersionsResponse::served()
    };
    Dispatched::Ready(encoded(header.correlation_id, &response, 0))
}

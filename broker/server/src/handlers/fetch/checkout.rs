//! The partitions of a fetch, noted from its request, and its place among the fetch sessions.
//!
//! The lock of all sessions is held for nothing that grows with partitions. A place is taken before
//! partitions are noted, so that what is under way is bounded too.

use std::sync::Arc;

use tidemill_broker_logic::fetch::{
    Begun, FetchSessions, FetchTarget, Place, Session, SessionError, TopicRef,
};
use tidemill_kafka::KString;
use tidemill_kafka::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic};

use crate::broker::Broker;
use crate::handlers::pace::{Pace, STRIDE};
use crate::kafka_service::Context;

/// A session on loan, or the partitions of a request without one. When it is dropped before it is
/// checked in, its place is given up, and with it the session.
pub(super) struct Checkout {
    broker: Arc<Broker>,
    place: Option<Place>,
    /// How much the session may weigh in this place.
    weight_max: usize,
    /// Whether the answer names only what changed.
    pub(super) is_incremental: bool,
    /// The partitions.
    pub(super) session: Session,
}

/// Begins a fetch.
pub(super) async fn check_out(
    broker: &Arc<Broker>,
    context: &Context,
    request: FetchRequest,
) -> Result<Checkout, SessionError> {
    let now_ms = broker.clock.now().0;
    let id = request.session_id;
    let by_id = context.version >= 13;
    let mut checkout = Checkout {
        broker: Arc::clone(broker),
        place: None,
        weight_max: 0,
        is_incremental: false,
        session: Session::default(),
    };
    match with_sessions(broker, |sessions| sessions.begin(now_ms, id, request.session_epoch))? {
        Begun::Next(session) => {
            checkout.place = Some(Place::Session(id));
            checkout.is_incremental = true;
            checkout.weight_max = session.weight();
            checkout.session = session;
            checkout.forget(by_id, request.forgotten_topics_data).await;
        }
        Begun::Full { wants_session } => {
            let weight = request.topics.iter().map(|topic| weight(by_id, topic)).sum();
            checkout.weight_max = weight;
            let place =
                |sessions: &mut FetchSessions| sessions.place(now_ms, wants_session, weight);
            checkout.place = Some(with_sessions(broker, place)?);
        }
    }
    checkout.update(now_ms, by_id, request.topics).await?;
    Ok(checkout)
}

impl Checkout {
    /// The session's id, or 0 if there is none.
    pub(super) fn id(&self) -> i32 {
        match self.place {
            Some(Place::Session(id)) => id,
            Some(Place::Partitions(_)) | None => 0,
        }
    }

    /// Ends the fetch: its session, if it has one, waits for the next.
    pub(super) fn check_in(mut self) {
        if let Some(Place::Session(id)) = self.place {
            self.place = None;
            let session = std::mem::take(&mut self.session);
            with_sessions(&self.broker, |sessions| sessions.check_in(id, session));
        }
    }

    async fn forget(&mut self, by_id: bool, topics: Vec<ForgottenTopic>) {
        let mut pace = Pace::default();
        for topic in topics {
            let name = reference(by_id, &topic.topic, topic.topic_id);
            for partition in topic.partitions {
                self.session.forget(&name, partition);
                pace.step().await;
            }
        }
    }

    async fn update(
        &mut self,
        now_ms: i64,
        by_id: bool,
        topics: Vec<FetchTopic>,
    ) -> Result<(), SessionError> {
        let mut pace = Pace::default();
        for topic in topics.into_iter().filter(|topic| !topic.partitions.is_empty()) {
            let name = reference(by_id, &topic.topic, topic.topic_id);
            for partition in topic.partitions {
                self.session.update(target(&name, &partition));
                if self.session.weight() > self.weight_max {
                    self.grow(now_ms)?;
                }
                pace.step().await;
            }
        }
        self.session.settle();
        self.resize(now_ms, self.session.weight())
    }

    /// A session takes place for what it has become, and for some more if there is.
    fn grow(&mut self, now_ms: i64) -> Result<(), SessionError> {
        let weight = self.session.weight();
        self.resize(now_ms, weight + STRIDE).or_else(|_| self.resize(now_ms, weight))
    }

    /// A session takes so much place; partitions without one take no more than that.
    fn resize(&mut self, now_ms: i64, weight: usize) -> Result<(), SessionError> {
        if let Some(place) = self.place {
            let resize = |sessions: &mut FetchSessions| sessions.resize(now_ms, place, weight);
            self.place = Some(with_sessions(&self.broker, resize)?);
            self.weight_max = weight;
        }
        Ok(())
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            with_sessions(&self.broker, |sessions| sessions.give_up(place));
        }
    }
}

/// Drops sessions that are gone when the lock is free again.
fn with_sessions<T>(broker: &Broker, work: impl FnOnce(&mut FetchSessions) -> T) -> T {
    let mut sessions = broker.fetch_sessions.lock();
    let result = work(&mut sessions);
    let ended = sessions.take_ended();
    drop(sessions);
    drop(ended);
    result
}

/// What the partitions of a topic weigh at most: some may be named twice.
fn weight(by_id: bool, topic: &FetchTopic) -> usize {
    match topic.partitions.len() {
        0 => 0,
        count if by_id => count,
        count => count + TopicRef::Name(topic.topic.clone()).weight(),
    }
}

fn reference(by_id: bool, name: &KString, id: tidemill_base::ids::Uuid) -> TopicRef {
    if by_id { TopicRef::Id(id) } else { TopicRef::Name(name.detached()) }
}

fn target(topic: &TopicRef, asked: &FetchPartition) -> FetchTarget {
    FetchTarget {
        topic: topic.clone(),
        partition: asked.partition,
        current_leader_epoch: asked.current_leader_epoch,
        fetch_offset: asked.fetch_offset,
        last_fetched_epoch: asked.last_fetched_epoch,
        partition_max_bytes: asked.partition_max_bytes,
    }
}

//! The task of a member: it does what the membership says, and hands partitions over to the
//! consumer and back.
//!
//! Heartbeats go on whatever the application does; when it has not polled for too long, the member
//! leaves, and joins again once it polls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_kafka::Request;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::cluster::{Cluster, Role, Topics};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::group::membership::{Membership, MembershipConfig, Step};
use crate::group::offsets::Committer;
use crate::net::versions::ANY;
use crate::topic_partition::TopicPartition;

/// How long the coordinator may be later than the rebalance timeout with its answer to joining.
const JOIN_GRACE: Duration = Duration::from_secs(5);
/// How many events may wait for the consumer; it is never more than one of each kind.
const EVENTS_MAX: usize = 4;

/// What the consumer is told while it polls.
#[derive(Debug)]
pub(crate) enum GroupEvent {
    /// Give up all partitions, and say when that is done.
    GiveUp {
        /// Whether they may be someone else's already.
        lost: bool,
        /// Told when they are given up.
        done: Option<oneshot::Sender<()>>,
    },
    /// These partitions are yours.
    Take(Vec<TopicPartition>),
    /// The membership is over.
    Failed(Error),
}

/// What the consumer wants.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Wish {
    Topics(Vec<Arc<str>>),
    Leave,
}

#[derive(Debug)]
struct Shared {
    committer: Mutex<Committer>,
    begun: Instant,
    polled_at_ms: AtomicU64,
}

/// The consumer's end of a membership. Dropping it leaves the group.
#[derive(Debug)]
pub(crate) struct MemberHandle {
    pub(crate) events: mpsc::Receiver<GroupEvent>,
    wish: watch::Sender<Wish>,
    shared: Arc<Shared>,
}

impl MemberHandle {
    /// Starts being a member that wants these topics.
    pub(crate) fn start(
        cluster: Cluster,
        environment: &Environment,
        config: MembershipConfig,
        topics: Vec<Arc<str>>,
    ) -> Self {
        let (tell, events) = mpsc::channel(EVENTS_MAX);
        let (wish, wishes) = watch::channel(Wish::Topics(topics.clone()));
        let seed = cluster.prng().lock().next();
        let group = config.group.clone();
        let poll_interval = config.rebalance_timeout_ms;
        let heartbeat_interval = Duration::from_millis(config.heartbeat_interval_ms);
        let membership = Membership::new(config, topics, seed);
        let shared = Arc::new(Shared {
            committer: Mutex::new(membership.committer()),
            begun: Instant::now(),
            polled_at_ms: AtomicU64::new(0),
        });
        let task = Task {
            cluster,
            group,
            poll_interval_ms_max: poll_interval,
            heartbeat_interval,
            membership,
            tell,
            wishes,
            shared: shared.clone(),
        };
        environment.spawn.task("client group member", Box::pin(task.run()));
        Self { events, wish, shared }
    }

    /// Wants other topics.
    pub(crate) fn subscribe(&self, topics: Vec<Arc<str>>) {
        self.wish.send_replace(Wish::Topics(topics));
    }

    /// Wants to leave; the end of the events says that it is done.
    pub(crate) fn leave(&self) {
        self.wish.send_replace(Wish::Leave);
    }

    /// The application polls.
    pub(crate) fn polled(&self) {
        self.shared.polled_at_ms.store(self.shared.now_ms(), Ordering::Relaxed);
    }

    /// As whom offsets are committed now.
    pub(crate) fn committer(&self) -> Committer {
        self.shared.committer.lock().clone()
    }
}

impl Shared {
    fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    fn at(&self, at_ms: u64) -> Instant {
        self.begun + Duration::from_millis(at_ms)
    }
}

struct Task {
    cluster: Cluster,
    group: String,
    poll_interval_ms_max: u64,
    heartbeat_interval: Duration,
    membership: Membership,
    tell: mpsc::Sender<GroupEvent>,
    wishes: watch::Receiver<Wish>,
    shared: Arc<Shared>,
}

impl Task {
    async fn run(mut self) {
        loop {
            let mut wishes = self.wishes.clone();
            let is_over = tokio::select! {
                biased;
                _ = wishes.wait_for(|wish| *wish == Wish::Leave) => true,
                is_over = self.step() => is_over,
            };
            *self.shared.committer.lock() = self.membership.committer();
            if is_over {
                break;
            }
            let wish = self.wishes.borrow_and_update().clone();
            if let Wish::Topics(topics) = wish {
                self.membership.resubscribe(topics);
            }
        }
        self.leave().await;
    }

    fn now_ms(&self) -> u64 {
        self.shared.now_ms()
    }

    /// Does the next thing; whether it was the last.
    async fn step(&mut self) -> bool {
        let now_ms = self.now_ms();
        match self.membership.next(now_ms) {
            Step::Wait(until_ms) => tokio::time::sleep_until(self.shared.at(until_ms)).await,
            Step::FindCoordinator => self.find_coordinator().await,
            Step::GiveUp { lost } => self.give_up(lost).await,
            Step::Join => self.join().await,
            Step::CountPartitions(topics) => self.count_partitions(topics).await,
            Step::Sync => self.sync().await,
            Step::Take(partitions) => {
                *self.shared.committer.lock() = self.membership.committer();
                if self.tell.send(GroupEvent::Take(partitions)).await.is_err() {
                    return true;
                }
                self.membership.taken();
            }
            Step::Heartbeat(at_ms) => self.heartbeat(at_ms).await,
            Step::Fail(error) => {
                let _ = self.tell.send(GroupEvent::Failed(error)).await;
                return true;
            }
        }
        self.tell.is_closed()
    }

    async fn find_coordinator(&mut self) {
        self.cluster.forget_coordinator(&self.group);
        match self.cluster.coordinator(&self.group).await {
            Ok(_) => self.membership.coordinator_found(),
            Err(error) => {
                tracing::debug!(%error, "no coordinator");
                self.membership.unreachable(self.now_ms(), &error);
            }
        }
    }

    async fn call<R: Request + Sync>(&self, request: &R, extra: Duration) -> Result<R::Response>
    where
        R::Response: Send,
    {
        call(&self.cluster, &self.group, Role::Coordinator, request, extra).await
    }

    async fn join(&mut self) {
        let extra = Duration::from_millis(self.poll_interval_ms_max) + JOIN_GRACE;
        let answer = match self.membership.join_request() {
            Ok(request) => self.call(&request, extra).await,
            Err(error) => Err(error),
        };
        let now_ms = self.now_ms();
        match answer {
            Ok(response) => self.membership.joined(now_ms, &response),
            Err(error) => self.membership.unreachable(now_ms, &error),
        }
    }

    async fn sync(&mut self) {
        let extra = Duration::from_millis(self.poll_interval_ms_max) + JOIN_GRACE;
        let answer = match self.membership.sync_request() {
            Ok(request) => self.call(&request, extra).await,
            Err(error) => Err(error),
        };
        let now_ms = self.now_ms();
        match answer {
            Ok(response) => self.membership.synced(now_ms, &response),
            Err(error) => self.membership.unreachable(now_ms, &error),
        }
    }

    async fn count_partitions(&mut self, topics: Vec<Arc<str>>) {
        match self.cluster.refresh(Topics::Named(&topics), false).await {
            Ok(metadata) => {
                let mut counts = BTreeMap::new();
                for topic in topics {
                    let known = metadata.topics.get(&topic).filter(|known| known.error.is_ok());
                    let count = known.map(|known| known.partition_count() as i32);
                    // A topic that does not exist is counted as none, so that its coming is seen.
                    counts.insert(topic, count.unwrap_or(0));
                }
                self.membership.assign(counts);
            }
            Err(error) => {
                tracing::debug!(%error, "cannot count partitions");
                tokio::time::sleep(self.heartbeat_interval.min(Duration::from_secs(1))).await;
            }
        }
    }

    async fn heartbeat(&mut self, at_ms: u64) {
        let mut wishes = self.wishes.clone();
        tokio::select! {
            () = tokio::time::sleep_until(self.shared.at(at_ms)) => {}
            _ = wishes.changed() => return,
        }
        let idle_ms =
            self.now_ms().saturating_sub(self.shared.polled_at_ms.load(Ordering::Relaxed));
        if idle_ms > self.poll_interval_ms_max {
            tracing::warn!(
                group = self.group,
                idle_ms,
                "leaving the group: not polled for too long"
            );
            self.leave().await;
            self.membership.left();
            return;
        }
        let metadata = self.cluster.metadata();
        self.membership.recount(|topic| {
            let known = metadata.topics.get(topic)?;
            known.error.is_ok().then(|| known.partition_count() as i32)
        });
        let request = self.membership.heartbeat_request();
        let answer = self.call(&request, Duration::ZERO).await;
        let now_ms = self.now_ms();
        match answer {
            Ok(response) => self.membership.beaten(now_ms, response.error_code),
            Err(error) => self.membership.unreachable(now_ms, &error),
        }
    }

    /// Waits until the consumer has given up its partitions; the group goes on hearing of us.
    async fn give_up(&mut self, lost: bool) {
        let (done, mut given_up) = oneshot::channel();
        if self.tell.send(GroupEvent::GiveUp { lost, done: Some(done) }).await.is_err() {
            return;
        }
        let request = self.membership.heartbeat_request();
        loop {
            tokio::select! {
                _ = &mut given_up => break,
                () = tokio::time::sleep(self.heartbeat_interval) => {}
            }
            if !lost && let Err(error) = self.call(&request, Duration::ZERO).await {
                tracing::debug!(%error, "heartbeat while giving up partitions");
            }
        }
        self.membership.given_up();
    }

    /// Tells the group that the member is gone, so that it need not wait for its session to end.
    async fn leave(&self) {
        let Some(request) = self.membership.leave_request() else { return };
        // A connection on which joining may wait would make the others wait, too.
        let left = call(&self.cluster, &self.group, Role::Control, &request, Duration::ZERO).await;
        if let Err(error) = left {
            tracing::debug!(%error, group = self.group, "the group was not told of leaving");
        }
    }
}

async fn call<R: Request + Sync>(
    cluster: &Cluster,
    group: &str,
    role: Role,
    request: &R,
    extra: Duration,
) -> Result<R::Response>
where
    R::Response: Send,
{
    let node = cluster.coordinator(group).await?;
    let peer = format!("coordinator {} ({}) of group {group}", node.id, node.endpoint);
    let connection = cluster.connect(&node.endpoint, role, peer).await?;
    connection.call(request, ANY, extra).await
}

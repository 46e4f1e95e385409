//! From files to a member: saved state, then the log behind it.
//!
//! The rules, in this order:
//! 1. The saved state is loaded, or an empty one made.
//! 2. The log is read; entries known committed that the state does not cover are applied at once.
//! 3. State and log must fit: the log begins at or below the state's position and reaches it. A state
//!    that is ahead of its log, or of another term, is right only if it was just installed from a
//!    snapshot; then the log begins anew behind it. Everything else is damage, and is refused.

use std::collections::VecDeque;
use std::sync::Arc;

use raft::eraftpb::{Entry, EntryType, HardState};
use tidemill_base::{AppliedIndex, ErrorKind};
use tidemill_metadata_state::{Command, MetadataState};
use tracing::info;

use crate::error::OpenError;
use crate::log::log_view::LogView;
use crate::log::raft_log::RaftLog;
use crate::log::record::LogIdentity;
use crate::log::recovery::{Recovered, Recovery};
use crate::log::terms::Terms;
use crate::log::{LogPosition, Membership};
use crate::metrics::{self, RaftMetrics};
use crate::node::shared::Shared;
use crate::node::{NewCluster, Ports};
use crate::options::RaftOptions;
use crate::save::state_store::{CHUNK_BYTES, SavedPosition, StateStore};

/// A member that is ready to take part.
pub(crate) struct RecoveredMember {
    pub(crate) shared: Arc<Shared>,
    pub(crate) log: RaftLog,
    pub(crate) view: LogView,
    /// The last entry that was applied, whatever its kind.
    pub(crate) applied: u64,
    /// The last entry that the saved state covers.
    pub(crate) saved: u64,
}

/// Recovers what an earlier life left, or begins a new cluster.
pub(crate) async fn recover(
    options: &RaftOptions,
    new_cluster: Option<NewCluster>,
    ports: &Ports,
) -> Result<RecoveredMember, OpenError> {
    let metrics = Arc::new(RaftMetrics::default());
    let recovery = Recovery::begin(Arc::clone(&ports.disk)).await?;
    let saved = load(&*ports.store).await?;
    let identity = identity(options, new_cluster, &recovery, saved.is_some()).await?;
    let (position, mut state) = match saved {
        Some((position, state)) => (position, state),
        None => {
            let state = MetadataState::new(identity.cluster_id, identity.incarnation);
            (SavedPosition::default(), state)
        }
    };
    if state.cluster_id() != identity.cluster_id {
        let message = "the saved metadata state belongs to another cluster than the log";
        return Err(OpenError::new(ErrorKind::Denied, message.to_owned()));
    }
    let mut replay =
        Replay { state: &mut state, after: position.applied.index, entries: 0, bytes: 0 };
    let recovered = recovery.read(position.applied.index, |entry| replay.take(entry)).await?;
    let (entries, bytes) = (replay.entries, replay.bytes);
    let mut recovered = match recovered {
        Some(recovered) => recovered,
        None => unborn(options),
    };
    metrics::add(&metrics.torn_tails_cut, recovered.torn_tails);
    metrics::add(&metrics.entries_replayed, entries);
    metrics::add(&metrics.commands_applied, entries);
    let fits = check_fit(&position, &recovered)?;
    let disk = Arc::clone(&ports.disk);
    let log_options = options.log.clone();
    let log_metrics = Arc::clone(&metrics);
    let mut log = if recovered.segments.is_empty() {
        let membership = recovered.membership.clone();
        RaftLog::create(disk, log_options, log_metrics, identity, membership)
    } else {
        RaftLog::resume(disk, log_options, log_metrics, identity, &mut recovered)
    };
    if !fits {
        info!(index = position.applied.index, "completing the install of a metadata snapshot");
        log.start_anew(position.applied, position.membership.clone())
            .await
            .map_err(OpenError::disk)?;
        recovered.begin_at(&position);
    }
    let applied = position.applied.index.max(recovered.hard_state.commit);
    if entries > 0 || applied > 0 {
        info!(applied, replayed = entries, saved = position.applied.index, "metadata recovered");
    }
    let view = recovered.into_view(applied);
    let shared = Shared::new(state, options, Arc::clone(&ports.clock), metrics);
    metrics::set(&shared.applied_bytes, bytes);
    let shared = Arc::new(shared);
    Ok(RecoveredMember { shared, log, view, applied, saved: position.applied.index })
}

/// Whose data this is.
async fn identity(
    options: &RaftOptions,
    new_cluster: Option<NewCluster>,
    recovery: &Recovery,
    has_state: bool,
) -> Result<LogIdentity, OpenError> {
    match recovery.identity() {
        Some(identity) if identity.node_id == options.node_id => Ok(identity),
        Some(identity) => {
            let message = format!(
                "the metadata log belongs to member {}, not to {}",
                identity.node_id, options.node_id
            );
            Err(OpenError::new(ErrorKind::Denied, message))
        }
        None if has_state => {
            let message = "there is saved metadata state, but its log is missing".to_owned();
            Err(OpenError::new(ErrorKind::Corrupt, message))
        }
        None => {
            let Some(NewCluster { cluster_id, incarnation }) = new_cluster else {
                let message =
                    "the metadata log is missing, but there are records of a cluster".to_owned();
                return Err(OpenError::new(ErrorKind::Corrupt, message));
            };
            recovery.remove_unstarted().await?;
            Ok(LogIdentity { cluster_id, incarnation, node_id: options.node_id })
        }
    }
}

/// Loads the saved state.
pub(crate) async fn load(
    store: &dyn StateStore,
) -> Result<Option<(SavedPosition, MetadataState)>, OpenError> {
    let Some(mut snapshot) = store.snapshot().await.map_err(OpenError::store)? else {
        return Ok(None);
    };
    let mut records = Vec::new();
    loop {
        let chunk = snapshot.next_chunk(CHUNK_BYTES).await.map_err(OpenError::store)?;
        if chunk.is_empty() {
            break;
        }
        records.extend(chunk);
    }
    let position = snapshot.position().clone();
    let state = MetadataState::restore(records).map_err(|error| {
        OpenError::new(ErrorKind::Corrupt, format!("saved metadata state: {error}"))
    })?;
    Ok(Some((position, state)))
}

/// A log that does not exist yet.
fn unborn(options: &RaftOptions) -> Recovered {
    Recovered {
        hard_state: HardState::default(),
        membership: Membership::of_voters(vec![options.node_id]),
        terms: Terms::new(LogPosition::default()),
        tail: VecDeque::new(),
        proven: LogPosition::default(),
        unproven: Vec::new(),
        segments: VecDeque::new(),
        void: Vec::new(),
        next_number: 1,
        torn_tails: 0,
    }
}

/// Whether state and log fit. If not, the log has to begin anew behind an installed snapshot.
fn check_fit(saved: &SavedPosition, log: &Recovered) -> Result<bool, OpenError> {
    let index = saved.applied.index;
    let corrupt = |reason: &str| {
        let message = format!("metadata state at entry {index}, log {reason}");
        Err(OpenError::new(ErrorKind::Corrupt, message))
    };
    match log.terms.term(index) {
        Some(term) if index == 0 || term == saved.applied.term => Ok(true),
        _ if saved.installed => Ok(false),
        Some(term) => corrupt(&format!("has term {term} there, not {}", saved.applied.term)),
        None if index < log.terms.previous().index => {
            corrupt(&format!("begins only after entry {}", log.terms.previous().index))
        }
        None => corrupt(&format!("ends at entry {}", log.terms.last().index)),
    }
}

impl Recovered {
    /// What is left when the log begins anew behind a snapshot.
    fn begin_at(&mut self, position: &SavedPosition) {
        self.terms = Terms::new(position.applied);
        self.tail.clear();
        self.membership = position.membership.clone();
        self.hard_state.commit = position.applied.index;
        self.hard_state.term = self.hard_state.term.max(position.applied.term);
    }

    /// The Raft library's view of the log, where everything up to `applied` is applied.
    fn into_view(self, applied: u64) -> LogView {
        let hard_state = HardState { commit: applied, ..self.hard_state };
        let mut view = LogView::new(self.terms, self.tail, hard_state, self.membership.members);
        view.release(applied);
        view
    }
}

/// Applies entries known committed while the log is being read.
struct Replay<'a> {
    state: &'a mut MetadataState,
    /// Entries up to here are in the state.
    after: u64,
    entries: u64,
    bytes: u64,
}

impl Replay<'_> {
    fn take(&mut self, entry: &Entry) -> Result<(), OpenError> {
        if entry.index <= self.after || !is_command(entry) {
            return Ok(());
        }
        let (proposed, command) = decode(entry)?;
        self.state.apply(AppliedIndex(entry.index), proposed, &command);
        self.entries += 1;
        self.bytes += entry.data.len() as u64;
        Ok(())
    }
}

/// Whether an entry holds a command; others are the Raft library's own.
pub(crate) fn is_command(entry: &Entry) -> bool {
    entry.entry_type == EntryType::EntryNormal && !entry.data.is_empty()
}

/// The command of an entry.
pub(crate) fn decode(entry: &Entry) -> Result<(tidemill_base::TimestampMs, Command), OpenError> {
    Command::decode(&entry.data).map_err(|error| {
        let message = format!("metadata log entry {}: {error}", entry.index);
        OpenError::new(ErrorKind::Corrupt, message)
    })
}

//! A member of a group, as its coordinator knows it.

use bytes::Bytes;
use tidemill_kafka::KString;

use super::action::Ticket;

/// The protocols (assignors) that a member offers, best first, each with the member's metadata.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Protocols(Vec<(KString, Bytes)>);

impl Protocols {
    /// A copy that keeps no frame alive.
    pub(super) fn detached(offered: &[(KString, Bytes)]) -> Self {
        let copy = |(name, metadata): &(KString, Bytes)| {
            (name.detached(), Bytes::copy_from_slice(metadata))
        };
        Self(offered.iter().map(copy).collect())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &KString> {
        self.0.iter().map(|(name, _)| name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The metadata under a protocol; empty if the member does not offer it.
    pub(super) fn metadata(&self, name: &str) -> Bytes {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, metadata)| metadata.clone()).unwrap_or_default()
    }

    /// Whether a request offers the same.
    pub(super) fn matches(&self, offered: &[(KString, Bytes)]) -> bool {
        self.0 == offered
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(name, metadata)| 64 + name.len() + metadata.len()).sum()
    }
}

/// A member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) id: KString,
    pub(super) instance_id: Option<KString>,
    pub(super) client_id: KString,
    pub(super) client_host: KString,
    pub(super) rebalance_timeout_ms: u64,
    pub(super) session_timeout_ms: u64,
    pub(super) protocols: Protocols,
    pub(super) assignment: Bytes,
    /// Its first JoinGroup has not been answered yet.
    pub(super) is_new: bool,
    /// When its session ends, in milliseconds, unless it [`is_waiting`](Self::is_waiting).
    pub(super) expires_at_ms: u64,
    /// Its JoinGroup request that waits.
    pub(super) joining: Option<Ticket>,
    /// Its SyncGroup request that waits.
    pub(super) syncing: Option<Ticket>,
    /// It has asked for its assignment since the generation began.
    pub(super) has_synced: bool,
}

impl Member {
    /// Whether a request of it waits, during which it cannot be expected to send heartbeats. A new
    /// member's session ends all the same, as nothing else would find out that it is gone.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_new && (self.joining.is_some() || self.syncing.is_some())
    }

    /// Begins its session anew.
    pub(super) fn restart_session(&mut self, now_ms: u64) {
        self.expires_at_ms = now_ms.saturating_add(self.session_timeout_ms);
    }

    /// At most how long its part of a generation's record is, without its assignment.
    pub(super) fn recorded_bytes(&self, protocol: &str) -> usize {
        64 + self.id.len()
            + self.instance_id.as_ref().map_or(0, KString::len)
            + self.client_id.len()
            + self.client_host.len()
            + self.protocols.metadata(protocol).len()
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + 2 * self.id.len()
            + 2 * self.instance_id.as_ref().map_or(0, KString::len)
            + self.client_id.len()
            + self.client_host.len()
            + self.protocols.bytes()
            + self.assignment.len()
    }
}

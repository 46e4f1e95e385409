//! The cluster's defaults as a broker sees them: altered, else given at the start, else built in.

use tidemill_broker_logic::groups::GroupLimits;
use tidemill_metadata_state::configs::ClusterConfig;
use tidemill_metadata_state::offsets;

use crate::broker::Broker;

impl Broker {
    /// Whether topics are created when a client asks for them.
    pub(crate) fn auto_creates_topics(&self) -> bool {
        self.altered(|cluster| cluster.auto_create_topics)
            .or_else(|| self.config.startup_flag("auto.create.topics.enable"))
            .unwrap_or(false)
    }

    /// How many partitions a topic gets that is created without saying.
    pub(crate) fn partitions_default(&self) -> u32 {
        let given = || self.config.startup_number("num.partitions")?.try_into().ok();
        self.altered(|cluster| cluster.partitions_default).or_else(given).unwrap_or(1)
    }

    /// The replication factor echoed for topics created without one.
    pub(crate) fn replication_factor_default(&self) -> i16 {
        let given = || self.config.startup_number("default.replication.factor")?.try_into().ok();
        self.altered(|cluster| cluster.replication_factor_default).or_else(given).unwrap_or(1)
    }

    /// How long committed offsets are kept once a group has no members, in milliseconds.
    pub(crate) fn offsets_retention_ms(&self) -> i64 {
        let given = || Some(self.config.startup_number("offsets.retention.minutes")? * 60_000);
        self.altered(|cluster| cluster.offsets_retention_ms)
            .or_else(given)
            .unwrap_or(offsets::RETENTION_MS)
    }

    /// The limits of groups. A group has no more members than a record of its generation holds,
    /// whatever `group.max.size` says.
    pub(crate) fn group_limits(&self) -> GroupLimits {
        let built_in = GroupLimits::default();
        let int = |altered: Option<i32>, name, built_in| {
            let given = || self.config.startup_number(name)?.try_into().ok();
            altered.or_else(given).unwrap_or(built_in)
        };
        let projection = self.view.projection();
        let cluster = projection.cluster_config();
        let members_max = cluster.group_members_max.map(u64::from).or_else(|| {
            self.config.startup_number("group.max.size").and_then(|max| max.try_into().ok())
        });
        GroupLimits {
            session_timeout_min_ms: int(
                cluster.group_session_timeout_min_ms,
                "group.min.session.timeout.ms",
                built_in.session_timeout_min_ms,
            ),
            session_timeout_max_ms: int(
                cluster.group_session_timeout_max_ms,
                "group.max.session.timeout.ms",
                built_in.session_timeout_max_ms,
            ),
            initial_rebalance_delay_ms: int(
                cluster.group_initial_rebalance_delay_ms,
                "group.initial.rebalance.delay.ms",
                built_in.initial_rebalance_delay_ms,
            ),
            members_max: members_max
                .and_then(|max| usize::try_from(max).ok())
                .map_or(built_in.members_max, |max| max.min(built_in.members_max)),
            ..built_in
        }
    }

    /// The cluster's id as Kafka writes it: URL-safe base64 of its 16 bytes, without padding.
    pub(crate) fn cluster_id_text(&self) -> String {
        base64_url(self.cluster_id.as_bytes())
    }

    fn altered<T>(&self, config: impl Fn(&ClusterConfig) -> Option<T>) -> Option<T> {
        config(self.view.projection().cluster_config())
    }
}

fn base64_url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(DIGITS[(group >> (18 - 6 * digit)) as usize & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64_url;

    #[test]
    fn ids_are_written_as_kafka_writes_them() {
        assert_eq!(base64_url(&[0; 16]), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(base64_url(&[0xff; 16]), "_____________________w");
        assert_eq!(base64_url(b"Man"), "TWFu");
    }
}

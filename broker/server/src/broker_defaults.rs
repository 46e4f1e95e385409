//! The cluster's defaults as a broker sees them: altered, else given at the start, else built in.

use tidemill_metadata_state::configs::ClusterConfig;

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

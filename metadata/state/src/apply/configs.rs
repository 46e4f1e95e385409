//! `AlterConfigs`.

use super::Change;
use crate::command::{AlterConfigs, ConfigResource};
use crate::configs::{ClusterConfig, broker_config, changed, topic_config};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn alter_configs(
        &mut self,
        command: &AlterConfigs,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let AlterConfigs { resource, replace_all, changes } = command;
        match resource {
            ConfigResource::Topic(id) => {
                let topic = self.topics.get_mut(*id).ok_or(Refusal::UnknownTopic)?;
                let configs = changed(&topic.configs, *replace_all, changes, topic_config)?;
                topic.configs.clone_from(&configs);
                self.changed.topics.insert(*id);
                change.events.push(Event::TopicConfigured { topic: *id, configs });
            }
            ConfigResource::Cluster => {
                let current = &self.cluster_configs;
                let configs = changed(current, *replace_all, changes, broker_config)?;
                self.cluster_configs.clone_from(&configs);
                self.cluster_config = ClusterConfig::of(&configs);
                self.changed.cluster_configs = true;
                change.events.push(Event::ClusterConfigured { configs });
            }
        }
        Ok(Outcome::Done)
    }
}

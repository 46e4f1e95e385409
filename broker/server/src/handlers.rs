//! The handlers, one file for each API.
//!
//! A handler takes the broker, the request's context and the request, and returns the response:
//! `async fn handle(broker: Arc<Broker>, context: Context, request: XRequest) -> XResponse`. It asks
//! `broker.is_allowed` before it does anything, and never panics on what a client sent. One whose answer
//! may be long however short the request is [takes a turn](crate::holdings), and answers what is asked
//! twice once.

pub(crate) mod alter_configs;
pub(crate) mod api_versions;
pub(crate) mod create_partitions;
pub(crate) mod create_topics;
pub(crate) mod delete_groups;
pub(crate) mod delete_records;
pub(crate) mod delete_topics;
pub(crate) mod describe_cluster;
pub(crate) mod describe_configs;
pub(crate) mod describe_groups;
pub(crate) mod describe_topic_partitions;
pub(crate) mod fetch;
pub(crate) mod find_coordinator;
pub(crate) mod heartbeat;
pub(crate) mod incremental_alter_configs;
pub(crate) mod init_producer_id;
pub(crate) mod join_group;
pub(crate) mod leave_group;
pub(crate) mod list_groups;
pub(crate) mod list_offsets;
pub(crate) mod metadata;
pub(crate) mod offset_commit;
pub(crate) mod offset_delete;
pub(crate) mod offset_fetch;
pub(crate) mod offset_for_leader_epoch;
pub(crate) mod produce;
pub(crate) mod sync_group;

mod config_resource;
mod distinct;
mod group_requests;
mod pace;
mod topic_creation;

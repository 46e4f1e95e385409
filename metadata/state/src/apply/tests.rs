//! Exact outcomes and events of every command.

mod commit_test;
mod config_test;
mod file_test;
mod fold_test;
mod group_test;
mod incarnation_test;
mod lane_test;
mod producer_test;
mod topic_test;

//! Replication of the metadata state machine by Raft, its log, its saved state and its watches.

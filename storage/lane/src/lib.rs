//! What a lane of flushes decides: sealing, sequences, skips, failover, answers (pure).

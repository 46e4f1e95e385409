//! Hands what the Raft library logs to `tracing`, one level lower: its "info" is our "debug".

use std::fmt::Write as _;

use slog::{Drain, KV, Level, Logger, OwnedKVList, Record, Serializer, o};

/// A logger for the Raft library.
pub(crate) fn raft_logger() -> Logger {
    Logger::root(Tracing, o!())
}

struct Tracing;

impl Drain for Tracing {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, _values: &OwnedKVList) -> Result<(), slog::Never> {
        match record.level() {
            Level::Critical | Level::Error => tracing::error!(target: "raft", "{}", text(record)),
            Level::Warning => tracing::warn!(target: "raft", "{}", text(record)),
            Level::Info => tracing::debug!(target: "raft", "{}", text(record)),
            Level::Debug | Level::Trace => {}
        }
        Ok(())
    }
}

fn text(record: &Record<'_>) -> String {
    let mut line = Line(record.msg().to_string());
    // A value that cannot be written leaves the line shorter; the message itself is there.
    let _ = record.kv().serialize(record, &mut line);
    line.0
}

struct Line(String);

impl Serializer for Line {
    fn emit_arguments(&mut self, key: slog::Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        write!(self.0, " {key}={value}").map_err(slog::Error::from)
    }
}

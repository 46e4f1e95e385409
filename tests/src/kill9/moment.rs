//! When the server is killed.

use std::fmt;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::chance::Chance;
use crate::server::Server;

/// What is not seen by then is not waited for any longer.
const WATCH_TIMEOUT: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_micros(300);

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At any time.
    AnyTime,
    /// When a log file was just begun, so another just sealed.
    FileBegun,
    /// When state was just saved or is being saved.
    StateSaved,
    /// When a segment of the metadata log was just deleted.
    MetadataLogCut,
    /// While it drains after SIGTERM.
    Draining,
}

/// Every moment.
pub(crate) const MOMENTS: &[Moment] = &[
    Moment::AnyTime,
    Moment::FileBegun,
    Moment::StateSaved,
    Moment::MetadataLogCut,
    Moment::Draining,
];

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnyTime => "under load",
            Self::FileBegun => "file sealed and begun",
            Self::StateSaved => "state saved",
            Self::MetadataLogCut => "metadata log cut",
            Self::Draining => "draining",
        })
    }
}

impl Moment {
    /// Waits for the moment. False if it did not come.
    pub(crate) fn wait(self, server: &Server, data: &Path, chance: &mut Chance) -> bool {
        // Load first, so that there is something to lose.
        thread::sleep(Duration::from_millis(chance.between(200, 1500)));
        let came = match self {
            Self::AnyTime => true,
            Self::FileBegun => {
                let before = names(&data.join("log"));
                watch(|| names(&data.join("log")).iter().any(|name| !before.contains(name)))
            }
            Self::StateSaved => {
                let path = data.join("meta/state.redb");
                let before = changed_at(&path);
                watch(|| changed_at(&path) != before)
            }
            Self::MetadataLogCut => {
                let before = names(&data.join("meta/raft"));
                watch(|| {
                    let now = names(&data.join("meta/raft"));
                    before.iter().any(|name| !now.contains(name))
                })
            }
            Self::Draining => server.ask_to_stop().is_ok(),
        };
        thread::sleep(Duration::from_micros(chance.between(0, 4_000)));
        came
    }
}

fn watch(mut came: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < WATCH_TIMEOUT {
        if came() {
            return true;
        }
        thread::sleep(LOOK);
    }
    false
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

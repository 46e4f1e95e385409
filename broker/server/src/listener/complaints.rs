//! Complaints about clients that do not speak as agreed: told, but not in a flood.

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Complaints told in one [`PERIOD`]; of the rest only the number is told, with the next.
const TOLD_MAX: u64 = 10;
/// What a client does a hundred thousand times a second fills no disk.
const PERIOD: Duration = Duration::from_secs(1);

/// What has been told lately.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    lately: Mutex<Lately>,
}

#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    told: u64,
    left_out: u64,
}

impl Complaints {
    /// Whether one more may be told now, and then how many were left out before it.
    pub(crate) fn tell(&self) -> Option<u64> {
        let (now, mut lately) = (Instant::now(), self.lately.lock());
        if lately.since.is_none_or(|since| now >= since + PERIOD) {
            (lately.since, lately.told) = (Some(now), 0);
        }
        if lately.told == TOLD_MAX {
            lately.left_out += 1;
            return None;
        }
        lately.told += 1;
        Some(std::mem::take(&mut lately.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_counted_and_not_told() {
        let complaints = Complaints::default();
        let told = (0..1_000).filter(|_| complaints.tell().is_some()).count();
        assert_eq!(told as u64, TOLD_MAX);
        tokio::time::advance(PERIOD).await;
        assert_eq!(complaints.tell(), Some(1_000 - TOLD_MAX));
        assert_eq!(complaints.tell(), Some(0));
    }
}

//! Goal: what an append acknowledged is found again, whatever the disk does; nothing is found that
//! was never appended. Method: random appends over a disk that tears, fails and dies at every call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::FutureExt as _;
use raft::eraftpb::{Entry, HardState};
use tidemill_appendfile::twin::{Dice, FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};
use tidemill_base::Incarnation;
use tidemill_base::ids::Uuid;

use super::*;
use crate::doomed_disk::DoomedDisk;
use crate::error::OpenError;
use crate::log::recovery::Recovery;
use crate::metrics::RaftMetrics;

fn identity() -> LogIdentity {
    LogIdentity { cluster_id: Uuid::from_u128(7), incarnation: Incarnation(1), node_id: 1 }
}

fn options() -> LogOptions {
    LogOptions { segment_bytes: 700, log_kept_bytes: 1000 }
}

fn entry(index: u64, term: u64) -> Entry {
    let data = Bytes::from(format!("entry {index} of term {term}, with some more bytes"));
    Entry { index, term, data, ..Entry::default() }
}

fn hard_state(term: u64, commit: u64) -> HardState {
    HardState { term, vote: 1, commit, ..HardState::default() }
}

/// What one life found and goes on with.
struct Life {
    log: RaftLog,
    entries: Vec<Entry>,
    /// The position before the first entry found.
    base: LogPosition,
    hard_state: HardState,
    torn_tails: u64,
}

async fn open(disk: SharedDisk) -> Result<Life, OpenError> {
    open_behind(disk, 0).await
}

/// Opens the log of a state that covers the entry at `saved_index`.
async fn open_behind(disk: SharedDisk, saved_index: u64) -> Result<Life, OpenError> {
    let metrics = Arc::new(RaftMetrics::default());
    let recovery = Recovery::begin(Arc::clone(&disk)).await?;
    let mut entries = Vec::new();
    if recovery.identity().is_none() {
        recovery.remove_unstarted().await?;
    }
    let recovered = recovery.read(saved_index, |entry| {
        entries.push(entry.clone());
        Ok(())
    });
    let Some(mut recovered) = recovered.await? else {
        let membership = Membership::of_voters(vec![1]);
        let log = RaftLog::create(disk, options(), metrics, identity(), membership);
        let (base, hard_state) = (LogPosition::default(), HardState::default());
        return Ok(Life { log, entries, base, hard_state, torn_tails: 0 });
    };
    assert!(entries.iter().all(|entry| entry.index <= recovered.hard_state.commit));
    entries.extend(recovered.tail.iter().cloned());
    let base = recovered.terms.previous();
    entries.retain(|entry| entry.index > base.index);
    for (place, entry) in entries.iter().enumerate() {
        assert_eq!(entry.index, base.index + 1 + place as u64, "no gap");
        assert_eq!(recovered.terms.term(entry.index), Some(entry.term));
    }
    let hard_state = recovered.hard_state.clone();
    let torn_tails = recovered.torn_tails;
    let log = RaftLog::resume(disk, options(), metrics, identity(), &mut recovered);
    Ok(Life { log, entries, base, hard_state, torn_tails })
}

/// What must be found: acknowledged entries, then perhaps some of those attempted.
#[derive(Default)]
struct Expected {
    acknowledged: Vec<Entry>,
    /// The append under way when the process died, and what was found but not yet written again.
    attempted: Vec<Entry>,
    term: u64,
}

impl Expected {
    fn check(&mut self, life: &Life, seed: u64) {
        let last_acknowledged = self.acknowledged.last().map_or(0, |entry| entry.index);
        let last_found = life.entries.last().map_or(life.base.index, |entry| entry.index);
        assert!(last_found >= last_acknowledged, "seed {seed}: acknowledged entries are gone");
        assert!(life.hard_state.term >= self.term, "seed {seed}: the term fell");
        for found in &life.entries {
            let acknowledged = self.acknowledged.iter().find(|entry| entry.index == found.index);
            let attempted = self.attempted.iter().find(|entry| entry.index == found.index);
            assert_eq!(Some(found), acknowledged.or(attempted), "seed {seed}");
        }
        self.attempted.retain(|entry| entry.index <= last_found);
    }
}

/// One life: appends until the process dies or ten appends are done.
async fn live(life: &mut Life, expected: &mut Expected, dice: &mut Dice) {
    let term = expected.term.max(life.hard_state.term) + 1;
    for _ in 0..10 {
        let last = expected.attempted.last().or(expected.acknowledged.last());
        let next = last.map_or(1, |entry| entry.index + 1);
        let entries: Vec<Entry> =
            (next..next + dice.below(4)).map(|index| entry(index, term)).collect();
        let committed = expected.acknowledged.last().map_or(0, |entry| entry.index);
        expected.attempted.extend(entries.iter().cloned());
        let hard_state = hard_state(term, committed);
        while life.log.append(&hard_state, &entries).await.is_err() {}
        expected.acknowledged.extend(std::mem::take(&mut expected.attempted));
        expected.term = term;
        if dice.below(4) == 0 {
            // Some of what is acknowledged was saved.
            let base = life.log.truncate_front(dice.below(next)).await;
            assert!(base < next);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn acknowledged_entries_survive_whatever_the_disk_does() {
    let (mut torn, mut died, mut failed) = (0, 0, 0);
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let memory = MemoryDisk::new();
        let toxics = Toxics::new(seed);
        let faulty: SharedDisk = Arc::new(FaultyDisk::over_memory(memory.clone(), toxics.clone()));
        let mut expected = Expected::default();
        for _ in 0..6 {
            toxics.clear();
            let (disk, doom) =
                DoomedDisk::new(Arc::clone(&faulty), 1 + dice.below(60), dice.below(2) == 0);
            let life = open(disk).now_or_never();
            let Some(life) = life else {
                crash(&memory, &mut dice);
                continue;
            };
            let mut life = life.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            torn += life.torn_tails;
            expected.check(&life, seed);
            if dice.below(2) == 0 {
                let drop_dirty = dice.below(2) == 0;
                toxics.add(
                    Toxic::always("sync", ToxicKind::FailSync { drop_dirty }).at_rate(200_000),
                );
                toxics.add(Toxic::always("write", ToxicKind::FailWrite).at_rate(100_000));
                toxics.add(Toxic::always("create", ToxicKind::FailCreate).at_rate(100_000));
                toxics.add(Toxic::always("lost", ToxicKind::LoseSyncAnswer).at_rate(100_000));
            }
            let ended = live(&mut life, &mut expected, &mut dice).now_or_never();
            died += u64::from(ended.is_none() && doom.has_struck());
            failed += life.log.metrics.append_failures.load(Ordering::Relaxed);
            drop(life);
            crash(&memory, &mut dice);
        }
        let life = open(faulty).now_or_never().unwrap().unwrap();
        expected.check(&life, seed);
    }
    assert!(torn > 50 && died > 200 && failed > 200, "{torn} {died} {failed}");
}

fn crash(memory: &MemoryDisk, dice: &mut Dice) {
    if dice.below(2) == 0 {
        memory.kill();
    }
    if dice.below(2) == 0 {
        memory.crash(dice.roll());
    }
}

#[tokio::test]
async fn what_a_killed_life_left_is_durable_before_it_counts() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    // Everything up to the sync of the second append, which never happens.
    let (doomed, _) = DoomedDisk::new(Arc::clone(&disk), 5, false);
    let mut life = open(doomed).await.unwrap();
    life.log.append(&hard_state(1, 0), &[entry(1, 1)]).await.unwrap();
    let second = [entry(2, 1)];
    assert!(life.log.append(&hard_state(1, 1), &second).now_or_never().is_none());
    memory.kill();
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    assert_eq!(life.entries.len(), 2, "the kernel still has the second one");
    life.log.append(&hard_state(2, 1), &[entry(3, 2)]).await.unwrap();
    for seed in 0..20 {
        memory.crash(seed);
    }
    let life = open(disk).await.unwrap();
    assert_eq!(life.entries, [entry(1, 1), entry(2, 1), entry(3, 2)]);
}

#[tokio::test]
async fn a_failed_segment_is_never_synced_again() {
    let memory = MemoryDisk::new();
    let toxics = Toxics::new(1);
    let disk: SharedDisk = Arc::new(FaultyDisk::over_memory(memory.clone(), toxics.clone()));
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    life.log.append(&hard_state(1, 0), &[entry(1, 1)]).await.unwrap();
    toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }));
    for _ in 0..3 {
        life.log.append(&hard_state(1, 1), &[entry(2, 1)]).await.unwrap_err();
    }
    assert!(memory.paths().len() <= 3, "void segments do not pile up: {:?}", memory.paths());
    toxics.clear();
    life.log.append(&hard_state(1, 1), &[entry(2, 1)]).await.unwrap();
    assert_eq!(memory.paths().len(), 2);
    memory.crash(3);
    let life = open(disk).await.unwrap();
    assert_eq!(life.entries, [entry(1, 1), entry(2, 1)]);
}

#[tokio::test]
async fn a_replaced_suffix_never_comes_back() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    let old: Vec<Entry> = (1..=5).map(|index| entry(index, 1)).collect();
    life.log.append(&hard_state(1, 0), &old).await.unwrap();
    life.log.append(&hard_state(2, 1), &[entry(3, 2)]).await.unwrap();
    let life = open(Arc::clone(&disk)).await.unwrap();
    assert_eq!(life.entries, [entry(1, 1), entry(2, 1), entry(3, 2)]);
    let mut life = life;
    life.log.append(&hard_state(3, 1), &[entry(4, 3)]).await.unwrap();
    let life = open(disk).await.unwrap();
    assert_eq!(life.entries, [entry(1, 1), entry(2, 1), entry(3, 2), entry(4, 3)]);
}

#[tokio::test]
async fn segments_behind_the_saved_state_go_and_enough_log_stays() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    for index in 1..=60 {
        life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
    }
    let before = memory.paths().len();
    assert!(before > 6, "{before}");
    assert_eq!(life.log.truncate_front(0).await, 0);
    assert_eq!(memory.paths().len(), before, "nothing is saved yet");
    let base = life.log.truncate_front(60).await;
    let kept: u64 = life.log.segments.iter().map(|segment| segment.bytes).sum();
    assert!(kept >= options().log_kept_bytes && kept < 3 * options().log_kept_bytes, "{kept}");
    let life = open(disk).await.unwrap();
    assert_eq!(life.base.index, base);
    assert_eq!(life.entries.last().unwrap().index, 60);
}

#[tokio::test]
async fn a_missing_segment_is_refused_as_damage() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    for index in 1..=30 {
        life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
    }
    disk.remove(&segment::path(2)).await.unwrap();
    let error = open(disk).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn damage_before_the_end_is_refused_and_not_taken_for_a_torn_tail() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    for index in 1..=4 {
        life.log.append(&hard_state(1, 0), &[entry(index, 1)]).await.unwrap();
    }
    let end = life.log.current.as_ref().unwrap().position();
    drop(life);
    memory.damage(&segment::path(1), end - 150, 1);
    let error = open(Arc::clone(&disk)).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    memory.damage(&segment::path(1), end - 150, 1);
    memory.damage(&segment::path(1), end - 3, 1);
    let life = open(disk).await.unwrap();
    assert_eq!((life.entries.len(), life.torn_tails), (3, 1));
}

#[tokio::test]
async fn a_full_disk_refuses_until_there_is_room_again() {
    let memory = MemoryDisk::with_capacity(3000);
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    let mut index = 1;
    while life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.is_ok() {
        index += 1;
    }
    for _ in 0..5 {
        let refused = life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await;
        assert!(refused.unwrap_err().full);
    }
    memory.set_capacity(10_000);
    life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
    memory.crash(5);
    let life = open(disk).await.unwrap();
    assert_eq!(life.entries.last(), Some(&entry(index, 1)));
}

#[tokio::test]
async fn a_membership_survives_truncation_and_restart() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    life.log.append(&hard_state(1, 0), &[entry(1, 1)]).await.unwrap();
    let mut membership = Membership::of_voters(vec![1, 2]);
    membership.index = 1;
    life.log.set_membership(membership.clone()).await.unwrap();
    for index in 2..=30 {
        life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
    }
    life.log.truncate_front(30).await;
    assert!(life.log.segments.front().unwrap().number > 1);
    let life = open(disk).await.unwrap();
    assert_eq!(life.log.membership, membership);
}

#[tokio::test]
async fn a_log_begun_anew_voids_what_was_before_it() {
    for calls in 0..12 {
        let memory = MemoryDisk::new();
        let disk: SharedDisk = Arc::new(memory.clone());
        let mut life = open(Arc::clone(&disk)).await.unwrap();
        for index in 1..=20 {
            life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
        }
        let (doomed, _) = DoomedDisk::new(Arc::clone(&disk), calls, calls % 2 == 0);
        let mut life = open(doomed).await.unwrap();
        let position = LogPosition { index: 90, term: 4 };
        let membership = Membership::of_voters(vec![1]);
        let done = life.log.start_anew(position, membership).now_or_never();
        memory.crash(calls);
        let life = open(disk).await.unwrap();
        if life.base == position {
            assert!(life.entries.is_empty());
            assert_eq!((life.hard_state.term, life.hard_state.commit), (4, 90));
        } else {
            assert!(done.is_none(), "it said that it was done");
            assert_eq!(life.entries.last(), Some(&entry(20, 1)));
        }
    }
}

#[tokio::test]
async fn segments_older_than_the_saved_state_are_not_read() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    let mut life = open(Arc::clone(&disk)).await.unwrap();
    for index in 1..=60 {
        life.log.append(&hard_state(1, index - 1), &[entry(index, 1)]).await.unwrap();
    }
    drop(life);
    let mut life = open_behind(Arc::clone(&disk), 40).await.unwrap();
    assert!((30..=40).contains(&life.base.index), "{:?}", life.base);
    assert_eq!(life.entries.last(), Some(&entry(60, 1)));
    life.log.append(&hard_state(2, 60), &[entry(61, 2)]).await.unwrap();
    life.log.truncate_front(40).await;
    assert!(life.log.segments.front().unwrap().number > 1, "they are truncated all the same");
    let life = open_behind(disk, 40).await.unwrap();
    assert_eq!(life.entries.last(), Some(&entry(61, 2)));
}

#[tokio::test]
async fn many_short_lives_leave_few_files_and_no_reserved_space() {
    let memory = MemoryDisk::new();
    let disk: SharedDisk = Arc::new(memory.clone());
    for index in 1..=100 {
        let mut life = open_behind(Arc::clone(&disk), index - 1).await.unwrap();
        life.log.append(&hard_state(index, index - 1), &[entry(index, index)]).await.unwrap();
        life.log.options.log_kept_bytes = 1 << 20;
        life.log.truncate_front(index - 1).await;
        memory.kill();
    }
    assert!(memory.paths().len() <= SEGMENTS_MAX + 1, "{}", memory.paths().len());
    let entries = disk.list(segment::DIRECTORY).await.unwrap();
    let reserved: u64 = entries.iter().map(|entry| entry.length).sum();
    assert!(reserved < 40_000, "{reserved}");
}

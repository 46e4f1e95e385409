//! Goal: what a running member promises its callers. Method: one member, one situation each.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_appendfile::twin::{Toxic, ToxicKind};
use tidemill_base::{AppliedIndex, ErrorKind, Incarnation};

use super::world::{CLUSTER, World, check_projection, outcome, topic, topics_applied};
use crate::error::ProposeError;

#[tokio::test(start_paused = true)]
async fn an_empty_directory_serves_at_once() {
    let world = World::new(1);
    let began = tokio::time::Instant::now();
    let life = world.open().await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO, "no election is waited for");
    life.handle.with_state(|state| {
        assert_eq!((state.cluster_id(), state.incarnation()), (CLUSTER, Incarnation(1)));
    });
    assert_eq!(life.handle.propose(topic(1)).await, Ok(outcome(1)));
}

#[tokio::test(start_paused = true)]
async fn many_proposals_share_one_sync() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    let metrics = life.handle.metrics();
    let before = metrics.syncs.load(Ordering::Relaxed);
    let proposed: Vec<_> =
        (1..=500).map(|number| life.handle.propose_ordered(topic(number)).unwrap()).collect();
    for (number, proposed) in (1..).zip(proposed) {
        assert_eq!(proposed.await, Ok(outcome(number)));
    }
    assert!(metrics.syncs.load(Ordering::Relaxed) - before <= 3);
    assert_eq!(metrics.batch_entries_max.load(Ordering::Relaxed), 500);
    check_projection(&life);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_refuses_keeps_proposals_waiting_and_then_applies_them() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    for kind in [ToxicKind::FailSync { drop_dirty: true }, ToxicKind::FailWrite] {
        let number = life.handle.with_state(topics_applied) + 1;
        world.toxics.add(Toxic::always("refuse", kind));
        let mut proposed = life.handle.propose_ordered(topic(number)).unwrap();
        let waited = tokio::time::timeout(Duration::from_secs(20), &mut proposed).await;
        assert!(waited.is_err(), "it is neither done nor failed");
        life.handle.with_state(|state| assert_eq!(topics_applied(state), number - 1));
        world.toxics.clear();
        assert_eq!(proposed.await, Ok(outcome(number)));
    }
    assert!(world.memory.paths().len() < 10, "{:?}", world.memory.paths());
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_throttles_and_nothing_more() {
    let mut world = World::new(1);
    world.options.proposals_pending_max = 10;
    let life = world.open().await.unwrap();
    world.toxics.add(Toxic::always("refuse", ToxicKind::FailSync { drop_dirty: false }));
    let waiting: Vec<_> =
        (1..=10).map(|number| life.handle.propose_ordered(topic(number)).unwrap()).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = life.handle.propose(topic(11)).await.unwrap_err();
    assert_eq!((refused, refused.kind()), (ProposeError::Throttled, ErrorKind::Throttled));
    world.toxics.clear();
    for (number, proposed) in (1..).zip(waiting) {
        assert_eq!(proposed.await, Ok(outcome(number)));
    }
    assert_eq!(life.handle.propose(topic(11)).await, Ok(outcome(11)));
}

#[tokio::test(start_paused = true)]
async fn a_command_beyond_one_mebibyte_is_refused() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    let mut large = topic(1);
    large.configs = vec![("retention.ms".to_owned(), "9".repeat(1 << 20))];
    assert_eq!(life.handle.propose(large).await, Err(ProposeError::TooLarge));
}

#[tokio::test(start_paused = true)]
async fn a_read_index_covers_what_was_acknowledged() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    let mut watched = life.handle.watch_applied();
    for number in 1..=5 {
        life.handle.propose(topic(number)).await.unwrap();
        let index = life.handle.read_index().await.unwrap();
        assert_eq!(index, life.handle.applied_index());
        assert_eq!(index, life.sink.0.lock().applied_index());
        assert_eq!(*watched.borrow_and_update(), index);
    }
    // The way of a larger quorum gives the same answer.
    life.handle.forget_that_it_leads_alone();
    let index = life.handle.read_index().await.unwrap();
    assert_eq!(index, life.handle.applied_index());
}

#[tokio::test(start_paused = true)]
async fn watchers_get_a_snapshot_and_then_every_range() {
    let mut world = World::new(1);
    world.options.watch_messages_max = 4;
    let life = world.open().await.unwrap();
    life.handle.propose(topic(1)).await.unwrap();
    let mut watcher = life.handle.subscribe().unwrap();
    let slow = life.handle.subscribe().unwrap();
    assert_eq!(watcher.at, life.handle.applied_index());
    assert!(!watcher.snapshot.is_empty());
    let mut stands_at = watcher.at;
    for number in 2..=20 {
        life.handle.propose(topic(number)).await.unwrap();
        let message = watcher.next().await.unwrap();
        assert_eq!(message.from, stands_at);
        assert_eq!(message.events.len(), 1);
        stands_at = message.to;
    }
    assert_eq!(stands_at, life.handle.applied_index());
    assert_eq!(life.handle.watchers(), 1, "the slow one was cut off");
    drop(slow);
}

#[tokio::test(start_paused = true)]
async fn closing_saves_and_refuses_what_follows() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    for number in 1..=30 {
        life.handle.propose(topic(number)).await.unwrap();
    }
    life.handle.close().await;
    assert_eq!(life.handle.propose(topic(31)).await, Err(ProposeError::Closed));
    assert_eq!(life.handle.read_index().await, Err(ProposeError::Closed));
    world.crash(Some(life), Some(1)).await;
    let life = world.open().await.unwrap();
    assert_eq!(life.handle.with_state(topics_applied), 30);
    let metrics = life.handle.metrics();
    assert_eq!(metrics.entries_replayed.load(Ordering::Relaxed), 0, "all was saved");
    check_projection(&life);
}

#[tokio::test(start_paused = true)]
async fn closing_while_the_disk_refuses_leaves_proposals_ambiguous() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    world.toxics.add(Toxic::always("refuse", ToxicKind::FailSync { drop_dirty: false }));
    let proposed = life.handle.propose_ordered(topic(1)).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    life.handle.close().await;
    assert_eq!(proposed.await, Err(ProposeError::Ambiguous));
}

#[tokio::test(start_paused = true)]
async fn time_in_commands_stands_still_while_the_wall_clock_is_wrong() {
    let world = World::new(1);
    let life = world.open().await.unwrap();
    life.handle.propose(topic(1)).await.unwrap();
    let before = life.handle.with_state(|state| state.time());
    world.clock.0.fetch_add(3_600_000, Ordering::Relaxed);
    assert!(life.handle.time_stands_still());
    life.handle.propose(topic(2)).await.unwrap();
    assert_eq!(life.handle.with_state(|state| state.time()), before);
    world.clock.0.fetch_sub(3_599_000, Ordering::Relaxed);
    life.handle.propose(topic(3)).await.unwrap();
    assert!(!life.handle.time_stands_still());
    assert!(life.handle.with_state(|state| state.time()) > before);
}

#[tokio::test(start_paused = true)]
async fn the_data_of_another_member_is_refused() {
    let mut world = World::new(1);
    let life = world.open().await.unwrap();
    world.crash(Some(life), None).await;
    world.options.node_id = 2;
    assert_eq!(world.open().await.err().unwrap().kind(), ErrorKind::Denied);
    world.options.node_id = 0;
    assert_eq!(world.open().await.err().unwrap().kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_proposals_are_applied() {
    let mut world = World::new(1);
    world.options.log.segment_bytes = 1 << 20;
    let life = world.open().await.unwrap();
    let mut last = AppliedIndex(0);
    for round in 0..100 {
        let proposed: Vec<_> = (0..1000)
            .map(|_| life.handle.propose_ordered(tidemill_metadata_state::command::Tick {}))
            .collect();
        for proposed in proposed {
            proposed.unwrap().await.unwrap();
        }
        let applied = life.handle.applied_index();
        assert_eq!(applied.0 - last.0, if round == 0 { applied.0 } else { 1000 });
        last = applied;
    }
}

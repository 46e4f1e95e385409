//! Goal: saved state and log together always give the whole history. Method: one member, one situation
//! each; the crash suite does the rest.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_base::ErrorKind;

use super::world::{World, check_projection, topic, topics_applied};
use crate::log::segment;
use crate::save::state_store::StateStore as _;

async fn with_topics(world: &World, numbers: std::ops::RangeInclusive<u32>) -> super::world::Life {
    let life = world.open().await.unwrap();
    for number in numbers {
        life.handle.propose(topic(number)).await.unwrap();
    }
    life
}

#[tokio::test(start_paused = true)]
async fn state_is_saved_behind_the_log_which_is_then_truncated() {
    let world = World::new(1);
    let life = with_topics(&world, 1..=200).await;
    assert!(world.memory.paths().len() > 8);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.store.saves(), 1);
    let kept = world.memory.paths().len();
    assert!((2..=4).contains(&kept), "{kept} segments are kept");
    life.handle.propose(topic(201)).await.unwrap();
    world.crash(Some(life), Some(9)).await;
    let life = world.open().await.unwrap();
    assert_eq!(life.handle.with_state(topics_applied), 201);
    let replayed = life.handle.metrics().entries_replayed.load(Ordering::Relaxed);
    assert!(replayed <= 1, "{replayed}");
    check_projection(&life);
}

#[tokio::test(start_paused = true)]
async fn an_idle_member_saves_nothing() {
    let world = World::new(1);
    let _life = with_topics(&world, 1..=3).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.store.saves(), 1);
}

#[tokio::test(start_paused = true)]
async fn saves_held_back_leave_everything_to_the_log() {
    let mut world = World::new(1);
    world.options.state_saves_held_back = true;
    let life = with_topics(&world, 1..=100).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.store.saves(), 0);
    let memory = life.handle.memory();
    assert!(memory.unsaved_bytes > 100 * 10, "{memory:?}");
    assert_eq!(memory.unsaved_bytes_max, world.options.state_save_bytes);
    world.crash(Some(life), None).await;
    let life = world.open().await.unwrap();
    assert_eq!(life.handle.with_state(topics_applied), 100);
    assert!(life.handle.memory().unsaved_bytes > 100 * 10, "what is replayed is not saved");
    life.handle.hold_back_saves(false);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(world.store.saves(), 1);
    let memory = life.handle.memory();
    assert_eq!((memory.unsaved_bytes, memory.proposal_bytes), (0, 0), "{memory:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_save_is_done_again_with_the_same_changes() {
    let world = World::new(1);
    world.store.set_failing(true);
    let life = with_topics(&world, 1..=10).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    for number in 11..=20 {
        life.handle.propose(topic(number)).await.unwrap();
    }
    assert!(life.handle.metrics().save_failures.load(Ordering::Relaxed) > 3);
    world.store.set_failing(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let position = world.store.position().await.unwrap().unwrap();
    assert_eq!(position.applied.index, life.handle.applied_index().0);
    world.crash(Some(life), Some(2)).await;
    let life = world.open().await.unwrap();
    assert_eq!(life.handle.with_state(topics_applied), 20);
}

#[tokio::test(start_paused = true)]
async fn state_without_its_log_is_refused() {
    let world = World::new(1);
    let life = with_topics(&world, 1..=10).await;
    life.handle.close().await;
    world.crash(Some(life), None).await;
    for path in world.memory.paths() {
        tidemill_appendfile::Disk::remove(&world.memory, &path).await.unwrap();
    }
    assert_eq!(world.open().await.err().unwrap().kind(), ErrorKind::Corrupt);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_ends_before_the_state_is_refused() {
    let world = World::new(1);
    let life = with_topics(&world, 1..=3).await;
    life.handle.close().await;
    world.crash(Some(life), None).await;
    // Everything after the first commits goes.
    tidemill_appendfile::Disk::truncate(&world.memory, &segment::path(1), 400).await.unwrap();
    assert_eq!(world.open().await.err().unwrap().kind(), ErrorKind::Corrupt);
}

//! Goal: an install is seen whole or not at all, whenever the process dies. Method: a member with a
//! history installs another one's snapshot over a disk and a store that die at every call.

use std::sync::Arc;

use futures::FutureExt as _;

use super::*;
use crate::doomed_disk::DoomedDisk;
use crate::node::opening;
use crate::node::tests::world::{Life, World, topic, topics_applied};

async fn with_topics(world: &World, first: u32, last: u32) -> Life {
    let life = world.open().await.unwrap();
    for number in first..=last {
        life.handle.propose(topic(number)).await.unwrap();
    }
    life
}

/// Installs `source`'s saved state on `target`; whether it said that it was done. `None` if the
/// process died before it began.
async fn install_doomed(
    source: &World,
    target: &World,
    calls: u64,
    carried_out: bool,
) -> Option<bool> {
    let (disk, _) = DoomedDisk::new(Arc::new(target.memory.clone()), calls, carried_out);
    let ports = target.ports(disk);
    let member = opening::recover(&target.options, Some(target.new_cluster()), &ports);
    let mut member = member.now_or_never()?.unwrap();
    let mut snapshot = source.store.snapshot().await.unwrap().unwrap();
    let installing = install(&mut *snapshot, &target.store, &mut member.log);
    Some(tokio::time::timeout(std::time::Duration::from_secs(5), installing).await.is_ok())
}

#[tokio::test(start_paused = true)]
async fn an_installed_snapshot_takes_the_place_of_state_and_log() {
    let mut finished = 0;
    for calls in 0..14 {
        let (source, target) = (World::new(1), World::new(2));
        let life = with_topics(&source, 1, 90).await;
        life.handle.close().await;
        let life = with_topics(&target, 1, 30).await;
        target.crash(Some(life), Some(calls)).await;
        let done = install_doomed(&source, &target, calls, calls % 2 == 0).await;
        target.crash(None, Some(calls)).await;
        let life = target.open().await.unwrap();
        let expected = if done.is_some() { 90 } else { 30 };
        assert_eq!(life.handle.with_state(topics_applied), expected, "{calls} calls: {done:?}");
        finished += u32::from(done == Some(true));
        life.handle.propose(topic(expected + 1)).await.unwrap();
        target.crash(Some(life), Some(calls)).await;
        let life = target.open().await.unwrap();
        assert_eq!(life.handle.with_state(topics_applied), expected + 1);
    }
    assert!((1..12).contains(&finished), "{finished}");
}

#[tokio::test(start_paused = true)]
async fn an_install_that_dies_before_its_end_changes_nothing() {
    let (source, target) = (World::new(1), World::new(2));
    let life = with_topics(&source, 1, 90).await;
    life.handle.close().await;
    let life = with_topics(&target, 1, 30).await;
    target.crash(Some(life), None).await;
    target.store.set_failing(true);
    let ports = target.ports(Arc::new(target.memory.clone()));
    let member = opening::recover(&target.options, Some(target.new_cluster()), &ports);
    let mut member = member.await.unwrap();
    let mut snapshot = source.store.snapshot().await.unwrap().unwrap();
    install(&mut *snapshot, &target.store, &mut member.log).await.unwrap_err();
    target.store.set_failing(false);
    target.crash(None, Some(1)).await;
    let life = target.open().await.unwrap();
    assert_eq!(life.handle.with_state(topics_applied), 30);
}

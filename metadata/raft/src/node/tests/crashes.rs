//! Goal: every acknowledged proposal is in the state after any restart, in order, exactly once; others
//! may be; nothing else is. Method: many lives on one disk, each killed at a chosen call of the disk or
//! a chosen moment, with failing writes, slow saves, tiny segments.

use std::collections::VecDeque;
use std::time::Duration;

use tidemill_appendfile::twin::{Dice, Toxic, ToxicKind};

use super::world::{Life, World, check_projection, outcome, topic, topics_applied};
use crate::error::ProposeError;
use crate::handle::Proposed;

/// What a run saw, to be compared with another run of the same seed.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Trace {
    pub(crate) lives: Vec<(u32, u32)>,
    pub(crate) saves: u64,
    pub(crate) died_opening: u32,
}

/// Proposes in order with some in flight until the time is over; returns the last acknowledged.
async fn propose_until(life: &Life, first: u32, until: Duration, dice: &mut Dice) -> u32 {
    let mut acknowledged = first - 1;
    let mut next = first;
    let mut in_flight: VecDeque<(u32, Proposed)> = VecDeque::new();
    let window = 1 + dice.below(8) as usize;
    let work = async {
        loop {
            while in_flight.len() < window {
                match life.handle.propose_ordered(topic(next)) {
                    Ok(proposed) => in_flight.push_back((next, proposed)),
                    Err(error) => assert_eq!(error, ProposeError::Throttled),
                }
                next += 1;
            }
            let Some((number, proposed)) = in_flight.pop_front() else { continue };
            match proposed.await {
                Ok(answer) => {
                    assert_eq!(answer, outcome(number));
                    acknowledged = number;
                    check_delivered(life, number);
                }
                Err(error) => assert_eq!(error, ProposeError::Ambiguous),
            }
            if number % 16 == 0 {
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
        }
    };
    // The work never ends by itself.
    let _ = tokio::time::timeout(until, work).await;
    acknowledged
}

/// Events come before outcomes.
fn check_delivered(life: &Life, number: u32) {
    assert!(life.sink.0.lock().topic(&topic(number).name).is_some());
}

pub(crate) async fn run(seed: u64, faults: bool) -> Trace {
    let mut dice = Dice::new(seed);
    let mut world = World::new(seed);
    world.options.state_save_interval = Duration::from_millis(100 + dice.below(400));
    world.store.set_save_takes(Duration::from_millis(dice.below(150)));
    let mut trace = Trace::default();
    let mut acknowledged = 0;
    for _ in 0..8 {
        world.toxics.clear();
        if dice.below(3) == 0 && faults {
            spoil(&world, &mut dice);
        }
        let calls = if dice.below(3) == 0 { 1 << 40 } else { 1 + dice.below(120) };
        let carried_out = dice.below(2) == 0;
        let Some((life, _)) = world.open_doomed(calls, carried_out).await else {
            trace.died_opening += 1;
            world.crash(None, power_cut(&mut dice)).await;
            continue;
        };
        let life = life.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = life.handle.with_state(topics_applied);
        assert!(found >= acknowledged, "seed {seed}: {found} found, {acknowledged} acknowledged");
        check_projection(&life);
        let until = Duration::from_millis(50 + dice.below(3000));
        acknowledged = propose_until(&life, found + 1, until, &mut dice).await;
        trace.lives.push((found, acknowledged));
        world.crash(Some(life), power_cut(&mut dice)).await;
    }
    world.toxics.clear();
    let life = world.open().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let found = life.handle.with_state(topics_applied);
    assert!(found >= acknowledged, "seed {seed}: {found} found, {acknowledged} acknowledged");
    trace.lives.push((found, acknowledged));
    trace.saves = world.store.saves();
    world.crash(Some(life), None).await;
    trace
}

fn power_cut(dice: &mut Dice) -> Option<u64> {
    (dice.below(3) > 0).then(|| dice.roll())
}

fn spoil(world: &World, dice: &mut Dice) {
    let drop_dirty = dice.below(2) == 0;
    let sync = Toxic::always("sync", ToxicKind::FailSync { drop_dirty });
    world.toxics.add(sync.at_rate(150_000));
    world.toxics.add(Toxic::always("write", ToxicKind::FailWrite).at_rate(100_000));
    world.toxics.add(Toxic::always("create", ToxicKind::FailCreate).at_rate(100_000));
    world.toxics.add(Toxic::always("lost", ToxicKind::LoseSyncAnswer).at_rate(50_000));
    let slow = Toxic::always("slow", ToxicKind::DelaySync { delay_ms: 30 });
    world.toxics.add(slow.at_rate(100_000));
}

#[tokio::test(start_paused = true)]
async fn acknowledged_proposals_survive_any_crash_in_order() {
    let (mut grew, mut saves, mut died_opening) = (0, 0, 0);
    for seed in 0..120 {
        let trace = run(seed, true).await;
        grew += trace.lives.last().map_or(0, |(found, _)| *found);
        saves += trace.saves;
        died_opening += trace.died_opening;
    }
    assert!(grew > 10_000 && saves > 300 && died_opening > 10, "{grew} {saves} {died_opening}");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_lives() {
    for seed in [3, 77] {
        assert_eq!(run(seed, true).await, run(seed, true).await);
    }
}

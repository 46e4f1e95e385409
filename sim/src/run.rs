//! One seed from start to verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_base::twins::{self, Twin};
use tidemill_kafka::ErrorCode;
use tokio::task::JoinSet;

use crate::history::{History, Place};
use crate::invariants::garbage_goes::{self, Garbage};
use crate::invariants::groups::GroupLedger;
use crate::invariants::{self, FinalLog, FinalPartition, bounds_hold};
use crate::rare_events::RareEvents;
use crate::workload::{
    Clients, FLEETING_TOPIC, LASTING_TOPICS, admin, consumer, groups, idempotent, low_on_space,
    orphans, plain, requests, zombie,
};
use crate::world::chance::Chance;
use crate::world::faults::{self, Fault};
use crate::world::lives::Lives;

/// What a run does at least.
const OPERATIONS_MIN: u64 = 2_000;
const FAULTS_MIN: u64 = 20;
/// Simulated time after which a run ends even so: something does not go on.
const WORK_MAX: Duration = Duration::from_secs(600);
/// Simulated time within which the node heals once the faults are over.
const HEAL_MAX: Duration = Duration::from_secs(60);
/// Simulated time in which garbage must go: the pause between two searches for orphans, the patience
/// with those of this life, the grace, a save, and some rounds of housekeeping.
const GARBAGE_MAX: Duration = Duration::from_secs(90);

/// The verdict on one seed.
#[derive(Debug)]
pub struct Verdict {
    /// The seed.
    pub seed: u64,
    /// What was violated; empty if all holds.
    pub violations: Vec<String>,
    /// Requests answered or lost.
    pub operations: u64,
    /// Faults that struck.
    pub faults: u64,
    /// A digest of everything observed, in order: the same for the same seed.
    pub digest: u64,
    /// How often rare things happened.
    pub rare_events: RareEvents,
}

/// Runs one seed, with a mistake switched on if one is named.
///
/// # Panics
/// If the runtime cannot be built, which needs only memory.
#[must_use]
pub fn run(seed: u64, twin: Option<Twin>) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing that can fail");
    let _guard = twin.map(twins::switch_on);
    runtime.block_on(simulate(seed))
}

async fn simulate(seed: u64) -> Verdict {
    let chance = Chance::new(seed);
    let rare_events = RareEvents::default();
    let clients = Clients {
        lives: Lives::new(chance.clone(), rare_events.clone()),
        history: History::default(),
        groups: GroupLedger::default(),
        chance,
        rare_events,
        ending: Arc::new(AtomicBool::new(false)),
    };
    let mut faults = 0;
    let worked = tokio::time::timeout(WORK_MAX, work(&clients, &mut faults)).await;
    if worked.is_err() {
        clients.history.violation("the run did not get its work done: something does not go on");
    } else if let Err(stuck) = heal_and_check(&clients).await {
        clients.history.violation(stuck);
    }
    clients.lives.end(false).await;
    Verdict {
        seed,
        violations: clients.history.violations(),
        operations: clients.history.operations(),
        faults,
        digest: clients.history.digest(),
        rare_events: clients.rare_events.clone(),
    }
}

/// Clients at work while faults strike.
#[expect(clippy::disallowed_methods, reason = "clients are tasks of the simulation itself")]
async fn work(clients: &Clients, faults: &mut u64) {
    clients.lives.start().await;
    let mut tasks = JoinSet::new();
    tasks.spawn(admin::run(clients.clone()));
    tasks.spawn(zombie::run(clients.clone()));
    tasks.spawn(groups::run(clients.clone()));
    let mut number = 0;
    for (topic, partitions) in LASTING_TOPICS.iter().chain([&FLEETING_TOPIC]) {
        for partition in 0..*partitions {
            number += 2;
            tasks.spawn(idempotent::run(clients.clone(), number, topic, partition));
            tasks.spawn(plain::run(clients.clone(), number + 1, topic, partition));
            tasks.spawn(consumer::run(clients.clone(), topic, partition));
        }
    }
    let sampling = tokio::spawn(sample(clients.clone()));
    while *faults < FAULTS_MIN || clients.history.operations() < OPERATIONS_MIN {
        let pause = clients.chance.between(20, 700);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let fault = faults::draw(&clients.chance);
        match fault {
            Fault::SpaceLow => low_on_space::endure(clients).await,
            _ => faults::strike(&clients.lives, &clients.chance, fault).await,
        }
        clients.history.operation("fault", fault as u64);
        *faults += 1;
        if !clients.history.violations().is_empty() {
            break;
        }
    }
    clients.lives.disks.heal();
    clients.lives.loss.set(0, 0, 0);
    clients.ending.store(true, Ordering::Relaxed);
    while tasks.join_next().await.is_some() {}
    sampling.abort();
}

/// Looks at bounds and files while the run goes on.
async fn sample(clients: Clients) {
    let mut garbage = Garbage::default();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let Some(life) = clients.lives.current() else { continue };
        let paths = clients.lives.disks.memory.paths();
        let early = garbage.sample(&life, &clients.lives.disks, &paths);
        for violation in bounds_hold::check(&life).into_iter().chain(early) {
            clients.history.violation(violation);
        }
    }
}

/// The faults are over: the node must serve, and everything must add up. `Err`: it does not serve.
async fn heal_and_check(clients: &Clients) -> Result<(), String> {
    if clients.lives.current().is_none() {
        let started = tokio::time::timeout(HEAL_MAX, clients.lives.start()).await;
        started.map_err(|_| "the node did not come up after the faults".to_owned())?;
    }
    let log = tokio::time::timeout(HEAL_MAX, read_all(clients)).await;
    let log = log.map_err(|_| "the node does not serve after the faults".to_owned())??;
    check(clients, &log);
    // And once more from what is on the disk.
    clients.lives.end(true).await;
    clients.lives.start().await;
    let again = tokio::time::timeout(HEAL_MAX, read_all(clients)).await;
    check(clients, &again.map_err(|_| "the node does not serve after a restart".to_owned())??);
    let orphans = orphans::leave(clients).await;
    tokio::time::sleep(GARBAGE_MAX).await;
    if let Some(life) = clients.lives.current() {
        let paths = clients.lives.disks.memory.paths();
        for left in garbage_goes::left_over(&life, &paths) {
            clients.history.violation(left);
        }
    }
    if let Some(left) = orphans {
        orphans::must_be_gone(clients, &left).await;
    }
    Ok(())
}

fn check(clients: &Clients, log: &FinalLog) {
    let violations = clients.history.with(|observed| invariants::check(observed, log));
    violations.into_iter().for_each(|violation| clients.history.violation(violation));
}

/// Everything that is in the topics that exist.
async fn read_all(clients: &Clients) -> Result<FinalLog, String> {
    let mut gateway = clients.gateway();
    let mut log = FinalLog::default();
    groups::check(clients, &mut gateway).await;
    for (topic, partitions) in LASTING_TOPICS.iter().chain([&FLEETING_TOPIC]) {
        let id = loop {
            if let Ok(metadata) = gateway.call(&requests::metadata(topic), 12).await {
                let answer = &metadata.topics[0];
                if answer.error_code.is_error() {
                    return Err(format!("topic {topic} is gone: {:?}", answer.error_code));
                }
                break answer.topic_id;
            }
        };
        for partition in 0..*partitions {
            let place = (id, partition);
            log.partitions.insert(place, read_partition(clients, &mut gateway, place).await?);
        }
    }
    Ok(log)
}

async fn read_partition(
    clients: &Clients,
    gateway: &mut crate::world::gateway::Gateway,
    place: Place,
) -> Result<FinalPartition, String> {
    let mut partition = FinalPartition::default();
    let mut offset = 0;
    let mut tries = 0;
    loop {
        let Ok(mut response) = gateway.call(&requests::fetch(place, offset, 0), 13).await else {
            continue;
        };
        let data = response.responses.remove(0).partitions.remove(0);
        partition.log_start = data.log_start_offset.max(0);
        partition.high_watermark = data.high_watermark;
        match data.error_code {
            ErrorCode::NONE => {}
            ErrorCode::OFFSET_OUT_OF_RANGE if offset < data.log_start_offset => {
                offset = data.log_start_offset;
                continue;
            }
            code if tries > 50 => {
                return Err(format!("P1: offset {offset} of {place:?} cannot be read: {code:?}"));
            }
            _ => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        }
        let records = requests::read(&data.records.unwrap_or_default().to_bytes())
            .map_err(|error| format!("P1: {place:?} at {offset} brought {error}"))?;
        for (at, value) in records.into_iter().filter(|(at, _)| at.0 >= offset) {
            clients.history.saw(place, at.0, value);
            partition.records.insert(at.0, value);
        }
        let next = partition.records.last_key_value().map_or(offset, |(at, _)| at + 1);
        if next == offset || next >= partition.high_watermark {
            return Ok(partition);
        }
        offset = next;
    }
}

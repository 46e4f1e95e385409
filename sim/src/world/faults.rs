//! Faults: which happen, when, and for how long. All follow from the run's chance.

use std::time::Duration;

use tidemill_appendfile::twin::{Toxic, ToxicKind};

use super::chance::Chance;
use super::lives::Lives;

/// One fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Power is lost; unsynced bytes may be.
    PowerLoss,
    /// The process is killed.
    Kill,
    /// Killed, and again while it starts.
    KillWhileStarting,
    /// Syncs fail and drop what was not synced.
    SyncsFail,
    /// Syncs do their work and say they failed.
    SyncAnswersLost,
    /// Writes fail half-way.
    WritesFail,
    /// Files cannot be created.
    CreatesFail,
    /// Syncs take long.
    SyncsSlow,
    /// The disk is full.
    DiskFull,
    /// Room on the disk is low, or there is none, for as long as the node needs to notice. Its clients
    /// look meanwhile what becomes of them: [`crate::workload::low_on_space`].
    SpaceLow,
    /// The metadata's state cannot be saved.
    SavesFail,
    /// Messages between lanes and metadata are lost or late.
    MessagesLost,
    /// Reads fail, or bring fewer bytes.
    ReadsFail,
    /// The wall clock jumps.
    ClockJump,
}

/// All faults, by rate of choice.
const CHOICES: &[Fault] = &[
    Fault::PowerLoss,
    Fault::PowerLoss,
    Fault::PowerLoss,
    Fault::Kill,
    Fault::Kill,
    Fault::KillWhileStarting,
    Fault::SyncsFail,
    Fault::SyncsFail,
    Fault::SyncsFail,
    Fault::SyncAnswersLost,
    Fault::WritesFail,
    Fault::CreatesFail,
    Fault::SyncsSlow,
    Fault::SyncsSlow,
    Fault::DiskFull,
    Fault::SpaceLow,
    Fault::SpaceLow,
    Fault::SavesFail,
    Fault::MessagesLost,
    Fault::MessagesLost,
    Fault::MessagesLost,
    Fault::ReadsFail,
    Fault::ClockJump,
];

/// Which files a disk fault concerns.
const TARGETS: &[&str] = &["", "log/", "meta"];

/// What happens next.
#[must_use]
pub fn draw(chance: &Chance) -> Fault {
    CHOICES[chance.below(CHOICES.len() as u64) as usize]
}

/// Makes a fault of the world alone happen, and ends it if it lasts.
pub async fn strike(lives: &Lives, chance: &Chance, fault: Fault) {
    let target = TARGETS[chance.below(TARGETS.len() as u64) as usize];
    let rate = [100_000, 400_000, 1_000_000][chance.below(3) as usize];
    let lasts = Duration::from_millis(chance.between(20, 1_500));
    match fault {
        Fault::PowerLoss => restart(lives, chance, true).await,
        Fault::Kill => restart(lives, chance, false).await,
        Fault::KillWhileStarting => restart_twice(lives, chance).await,
        Fault::SyncsFail => {
            let kind = ToxicKind::FailSync { drop_dirty: true };
            spoil(lives, "syncs fail", kind, target, rate, lasts).await;
        }
        Fault::SyncAnswersLost => {
            spoil(lives, "sync answers lost", ToxicKind::LoseSyncAnswer, target, rate, lasts).await;
        }
        Fault::WritesFail => {
            spoil(lives, "writes fail", ToxicKind::FailWrite, target, rate, lasts).await;
        }
        Fault::CreatesFail => {
            spoil(lives, "creates fail", ToxicKind::FailCreate, target, rate, lasts).await;
        }
        Fault::SyncsSlow => {
            let kind = ToxicKind::DelaySync { delay_ms: chance.between(20, 4_000) };
            spoil(lives, "syncs slow", kind, target, rate, lasts).await;
        }
        Fault::ReadsFail => {
            let kind = [ToxicKind::FailRead, ToxicKind::ShortRead][chance.below(2) as usize];
            spoil(lives, "reads fail", kind, "log/", rate, lasts).await;
        }
        Fault::DiskFull => {
            lives.disks.fill();
            tokio::time::sleep(lasts).await;
            lives.disks.give_room();
        }
        // Brought about by who looks at it.
        Fault::SpaceLow => {}
        Fault::SavesFail => {
            lives.disks.state.set_failing(true);
            tokio::time::sleep(lasts).await;
            lives.disks.state.set_failing(false);
        }
        Fault::MessagesLost => {
            lives.loss.set(rate / 3, rate / 6, rate / 3);
            tokio::time::sleep(lasts).await;
            lives.loss.set(0, 0, 0);
        }
        Fault::ClockJump => {
            let days = i64::try_from(chance.between(0, 40)).unwrap_or(0) - 20;
            lives.clock.set_skew_ms(days * 86_400_000);
            tokio::time::sleep(lasts).await;
            lives.clock.set_skew_ms(0);
        }
    }
}

async fn restart(lives: &Lives, chance: &Chance, loses_power: bool) {
    lives.end(loses_power).await;
    tokio::time::sleep(Duration::from_millis(chance.below(200))).await;
    lives.start().await;
}

async fn restart_twice(lives: &Lives, chance: &Chance) {
    lives.end(chance.hits(500_000)).await;
    let begun = tokio::time::timeout(Duration::from_millis(chance.below(8)), lives.start()).await;
    if begun.is_err() {
        lives.abandon_start(chance.hits(500_000)).await;
    } else {
        lives.end(chance.hits(500_000)).await;
    }
    lives.start().await;
}

async fn spoil(
    lives: &Lives,
    name: &'static str,
    kind: ToxicKind,
    target: &str,
    per_million: u32,
    lasts: Duration,
) {
    let toxic = Toxic::always(name, kind).at_rate(per_million).only_at(target);
    lives.disks.toxics.add(toxic);
    tokio::time::sleep(lasts).await;
    lives.disks.toxics.remove(name);
}

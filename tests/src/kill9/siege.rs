//! Rounds of killing, starting and auditing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tidemill_client::TopicPartition;

use super::ledger::{Ledger, digest};
use super::load::{Load, PRODUCERS};
use super::moment::{MOMENTS, Moment};
use super::progress::Progress;
use super::torn_tail::{forget, tear};
use super::whole_log;
use crate::calls;
use crate::chance::Chance;
use crate::report::{Report, say};
use crate::server::{Server, ServerPlan};
use crate::wire::Wire;

/// The topics of the load, and how many partitions each has.
const TOPICS: &[(&str, i32)] = &[("orders", 3), ("payments", 2), ("clicks", 1)];

/// Small files and short intervals: what happens rarely in real life happens in every round.
const SETTINGS: &[&str] = &[
    "log.file_bytes_max=16777216",
    "log.file_reserve_bytes=4194304",
    "log.flush_timeout_ms=2000",
    "log.gc_grace_ms=8000",
    "log.housekeeping_interval_ms=300",
    "metadata.state_save_interval_ms=40",
    "metadata.log_segment_bytes=1048576",
    "metadata.log_kept_bytes=0",
];

/// So long what is under way may take to be answered, and consumed.
const PATIENCE: Duration = Duration::from_secs(60);
/// On a forgetful disk producers and consumers are stuck, and that is not what is waited for.
const FORGETFUL_PATIENCE: Duration = Duration::from_secs(2);
const FORGOTTEN_FRAMES: usize = 20;
/// So long the server may take to tell the torn tail of a log file.
const LOG_TAIL_PATIENCE: Duration = Duration::from_secs(10);
/// The number of a round that waits for nothing, kills no start and tears nothing.
const ROUND_OF_ANY_TIME: u64 = 5;

const HEAD: &str = "| round | killed | starts killed | torn | ready ms | MB/s | acked | records | lost | dup | order | changed | other |\n\
                    | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

/// A server, its load, and what is known of both.
pub(crate) struct Siege {
    folder: PathBuf,
    plan: ServerPlan,
    server: Option<Server>,
    ledger: Arc<Ledger>,
    progress: Progress,
    load: Load,
    /// The disk forgets what it synced last, which the audit must notice.
    is_forgetful: bool,
}

/// What happened in a round.
struct Round {
    moment: Moment,
    came: bool,
    starts_killed: u64,
    torn: Vec<String>,
    ready_ms: u64,
    loaded: Duration,
}

impl Siege {
    /// Starts the server, takes over what an earlier run left in `folder`, and starts the load.
    pub(crate) fn begin(program: &Path, folder: &Path, seed: u64) -> Result<Self> {
        Self::begin_with(program, folder, seed, false)
    }

    /// One round on a disk that forgets what it synced last. Tells what the audit noticed.
    pub(crate) fn of_forgetful_disk(program: &Path, folder: &Path, seed: u64) -> Result<String> {
        let mut siege = Self::begin_with(program, folder, seed, true)?;
        siege.round(ROUND_OF_ANY_TIME)?;
        let violations = siege.ledger.violations();
        ensure!(violations.lost > 0, "nothing is missed, though commits were taken away");
        Ok(format!("{} lost records noticed", violations.lost))
    }

    fn begin_with(program: &Path, folder: &Path, seed: u64, is_forgetful: bool) -> Result<Self> {
        let mut plan = ServerPlan::new(program, folder)?;
        for setting in SETTINGS {
            plan = plan.set(setting);
        }
        if is_forgetful {
            // What is saved is not forgotten with the log.
            plan = plan.set("metadata.state_save_interval_ms=60000");
        }
        let progress = Progress::load(folder, seed)?;
        let server = plan.start()?;
        let mut wire = Wire::connect(plan.kafka())?;
        let mut partitions = Vec::new();
        for (topic, count) in TOPICS {
            calls::create_topic(&mut wire, topic, *count, &[])?;
            partitions.extend((0..*count).map(|index| TopicPartition::new(*topic, index)));
        }
        let ledger = Arc::new(Ledger::new(partitions));
        for (place, expected) in progress.logs.iter().enumerate() {
            let partition = &ledger.partitions()[place];
            let log = whole_log::read(plan.kafka(), partition)?;
            let known = usize::try_from(expected.records).unwrap_or(usize::MAX);
            ensure!(
                log.get(..known).is_some_and(|known| digest(known) == *expected),
                "{partition} is not what the last audit found ({} records)",
                expected.records
            );
            ledger.adopt(place, log);
        }
        // An interrupted round may have used the ids after the last audit.
        let first_producer = progress.next_producer + PRODUCERS;
        let patience = if is_forgetful { FORGETFUL_PATIENCE } else { PATIENCE };
        let load = Load::start(plan.kafka(), &ledger, first_producer, progress.seed, patience)?;
        let progress = Progress { next_producer: first_producer, ..progress };
        progress.save(folder)?;
        let folder = folder.to_owned();
        Ok(Self { folder, plan, server: Some(server), ledger, progress, load, is_forgetful })
    }

    /// Rounds until `rounds` are done, those of earlier runs included; ends with the first bad one.
    pub(crate) fn run(&mut self, rounds: u64) -> Result<Report> {
        let mut report = Report::default();
        let seed = self.progress.seed;
        say(format_args!("seed {seed}, round {} of {rounds} next", self.progress.rounds + 1));
        say(HEAD);
        while self.progress.rounds < rounds {
            let number = self.progress.rounds + 1;
            if let Err(error) = self.round(number) {
                self.ledger.other(format_args!("{error:#}"));
            }
            let violations = self.ledger.violations();
            if violations.count() > 0 {
                for words in violations.told() {
                    say(format_args!("    {words}"));
                }
                report.fail(
                    format_args!("round {number}"),
                    format_args!("{} violations", violations.count()),
                );
                say(format_args!("    replay: kill9 ci --seed {seed} --rounds {number}"));
                return Ok(report);
            }
            report.pass(format_args!("round {number}"));
            self.progress.rounds = number;
            self.progress.save(&self.folder)?;
        }
        let (median, max) = self.progress.ready_median_and_max();
        say(format_args!(
            "{} rounds, {} kills, {} records acknowledged, 0 lost, 0 duplicated, 0 reordered; \
             ready after a kill in {median} ms (median), {max} ms (worst)",
            self.progress.rounds, self.progress.kills, self.progress.acked
        ));
        Ok(report)
    }

    fn round(&mut self, number: u64) -> Result<()> {
        let mut chance = Chance::of(self.progress.seed, number);
        let acked_before = self.ledger.acked_in_all();
        let round = self.kill_and_start(number, &mut chance)?;
        self.load.rest();
        let acked = self.ledger.acked_in_all() - acked_before;
        let mut ends = Vec::new();
        for (place, partition) in self.ledger.partitions().iter().enumerate() {
            let log = whole_log::read(self.plan.kafka(), partition)?;
            ends.push(log.len() as u64);
            self.ledger.audit(place, log);
        }
        self.load.wait_for_consumer(&ends);
        self.load.go_on();
        self.progress.acked += acked;
        self.progress.logs = (0..ends.len()).map(|place| self.ledger.digest(place)).collect();
        self.tell(number, &round, acked, ends.iter().sum());
        Ok(())
    }

    /// The kill itself, kills while starting, torn tails, and a start that lasts.
    fn kill_and_start(&mut self, number: u64, chance: &mut Chance) -> Result<Round> {
        let begun = Instant::now();
        let moment = MOMENTS[number as usize % MOMENTS.len()];
        let server = self.server.take().context("there is no server")?;
        let came = moment.wait(&server, self.plan.data(), chance);
        let mut loaded = begun.elapsed();
        self.end(server, moment)?;
        let starts_killed = if number.is_multiple_of(2) { chance.between(1, 3) } else { 0 };
        for _ in 0..starts_killed {
            let server = self.plan.spawn()?;
            let usual_ms = self.progress.ready_ms.last().copied().unwrap_or(100);
            thread::sleep(Duration::from_micros(chance.between(0, usual_ms * 1_500)));
            server.kill().context("kill while starting")?;
            self.progress.kills += 1;
        }
        if self.is_forgetful {
            forget(&self.plan.data().join("meta/raft"), ".raft", FORGOTTEN_FRAMES)?;
        }
        let torn = if number.is_multiple_of(3) { self.tear(chance)? } else { Vec::new() };
        let server = self.plan.start()?;
        let ready_ms = server.ready_after().as_millis() as u64;
        self.progress.ready_ms.push(ready_ms);
        self.check_said(&server, &torn);
        self.server = Some(server);
        let again = Duration::from_millis(chance.between(300, 1_200));
        thread::sleep(again);
        loaded += again;
        Ok(Round { moment, came, starts_killed, torn, ready_ms, loaded })
    }

    fn end(&mut self, mut server: Server, moment: Moment) -> Result<()> {
        // A drain may be over before the kill comes.
        if moment == Moment::Draining && !server.is_alive() {
            let status = server.wait_end(Duration::ZERO)?;
            ensure!(status.success(), "the server ended with {status} after SIGTERM");
            return Ok(());
        }
        self.progress.kills += 1;
        server.kill()
    }

    fn tear(&self, chance: &mut Chance) -> Result<Vec<String>> {
        let data = self.plan.data();
        let torn = [
            tear(&data.join("meta/raft"), ".raft", chance)?,
            tear(&data.join("log"), ".log", chance)?,
        ];
        Ok(torn.into_iter().flatten().collect())
    }

    /// A torn tail must be told with the name of its file: one of the metadata log before the server
    /// is ready, one of a log file soon after, for those are looked at in the background.
    fn check_said(&self, server: &Server, torn: &[String]) {
        let is_told = |file: &String| {
            server.said().lines().any(|line| line.contains("torn tail") && line.contains(file))
        };
        let begun = Instant::now();
        for file in torn {
            let patience = if file.ends_with(".log") { LOG_TAIL_PATIENCE } else { Duration::ZERO };
            while !is_told(file) && begun.elapsed() < patience {
                thread::sleep(Duration::from_millis(20));
            }
            if !is_told(file) {
                self.ledger.other(format_args!("the server does not tell the torn tail of {file}"));
            }
        }
    }

    fn tell(&self, number: u64, round: &Round, acked: u64, records: u64) {
        let violations = self.ledger.violations();
        let rate = (acked as f64 * 1024.0 / 1e6) / round.loaded.as_secs_f64();
        let missed = if round.came { "" } else { " (not seen)" };
        say(format_args!(
            "| {number} | {}{missed} | {} | {} | {} | {rate:.1} | {acked} | {records} | {} | {} | {} | {} | {} |",
            round.moment,
            round.starts_killed,
            round.torn.join(" "),
            round.ready_ms,
            violations.lost,
            violations.duplicated,
            violations.reordered,
            violations.changed,
            violations.other,
        ));
    }
}

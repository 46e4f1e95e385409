//! A server under attack, with the healthy pair beside.

use std::net::SocketAddr;

use anyhow::{Result, bail, ensure};

use super::pair::{PARTITIONS, Pair};
use crate::calls;
use crate::memory::mib;
use crate::report::Report;
use crate::server::{Server, ServerPlan};
use crate::wire::Wire;

/// The default memory budgets in sum (`tidemill server --print-config`): requests 128, hot cache 192,
/// catch-up reads 64, proposals 32.
const BUDGETS_BYTES: u64 = 416 << 20;
/// What a debug build may take beside them.
const BESIDE_BYTES: u64 = 200 << 20;

/// A server under attack.
pub(super) struct Attacked {
    server: Server,
    pair: Pair,
}

impl Attacked {
    /// Starts server and pair.
    pub(super) fn start(plan: &ServerPlan) -> Result<Self> {
        let server = plan.start()?;
        let mut wire = Wire::connect(plan.kafka())?;
        calls::create_topic(&mut wire, "healthy", PARTITIONS, &[])?;
        let pair = Pair::start(plan.kafka())?;
        pair.check()?;
        Ok(Self { server, pair })
    }

    /// Where it listens.
    pub(super) fn kafka(&self) -> SocketAddr {
        self.server.kafka()
    }

    /// Bytes that the server holds now.
    pub(super) fn resident_bytes(&self) -> u64 {
        self.server.resident().now_bytes
    }

    /// Runs an attack and then checks that nobody else was harmed.
    pub(super) fn suffer(
        &mut self,
        name: &str,
        report: &mut Report,
        attack: impl FnOnce(&Self) -> Result<String>,
    ) {
        self.pair.take();
        let seen = attack(self);
        let unharmed = self.unharmed();
        let result = seen.and_then(|seen| Ok(format!("{seen}; {}", unharmed?)));
        report.check(name, result);
    }

    fn unharmed(&mut self) -> Result<String> {
        if !self.server.is_alive() {
            bail!("the server is gone:\n{}", self.server.said());
        }
        if let Some(line) = self.server.said().lines().find(|line| line.contains("panicked")) {
            bail!("the server panicked: {line}");
        }
        let done = self.pair.check()?;
        let resident = self.server.resident();
        ensure!(
            resident.peak_bytes <= BUDGETS_BYTES + BESIDE_BYTES,
            "the server held {} MiB, {} MiB are allowed",
            mib(resident.peak_bytes),
            mib(BUDGETS_BYTES + BESIDE_BYTES)
        );
        let (now, peak) = (mib(resident.now_bytes), mib(resident.peak_bytes));
        Ok(format!("others: {done}; server {now} MiB, peak {peak}"))
    }

    /// Ends the pair and checks its sums.
    pub(super) fn finish(self, report: &mut Report) {
        report.check("the healthy pair", self.pair.finish());
    }
}

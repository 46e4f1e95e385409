//! SIGTERM and a start again, while a producer and a consumer go on: neither sees an error.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::pair::{PARTITIONS, Pair};
use crate::calls;
use crate::report::Report;
use crate::server::ServerPlan;
use crate::wire::Wire;

const STOPS: u32 = 4;
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Stops and starts a server again and again.
pub(super) fn run(plan: &ServerPlan, report: &mut Report) -> Result<()> {
    let mut server = plan.start()?;
    calls::create_topic(&mut Wire::connect(plan.kafka())?, "healthy", PARTITIONS, &[])?;
    let pair = Pair::start(plan.kafka())?;
    pair.check()?;
    for stop in 1..=STOPS {
        let mut stopped = || -> Result<String> {
            thread::sleep(Duration::from_millis(300));
            server.ask_to_stop()?;
            let begun = Instant::now();
            let status = server.wait_end(END_TIMEOUT)?;
            let took = begun.elapsed();
            ensure!(status.success(), "it ended with {status}");
            server = plan.start()?;
            // What was counted before the stop does not show that the pair goes on.
            pair.check()?;
            let done = pair.check()?;
            Ok(format!("drained in {took:.0?}, ready in {:.0?}; {done}", server.ready_after()))
        };
        report.check(format_args!("stop {stop} of {STOPS}"), stopped());
    }
    report.check("the pair over all stops", pair.finish());
    Ok(())
}

//! What the demo tells while it goes on, and what it has shown at the end.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::demo::crew::GROUP;
use crate::demo::stage::{PARTITIONS, TOPIC};
use crate::demo::steady::Latencies;
use crate::demo::tally::Tally;
use crate::demo::tills::TILLS;
use crate::demo::{MEMBERS, steady};
use crate::output::print_page;

/// Tells the demo's story on standard output.
pub(super) struct Story {
    begun: Instant,
}

impl Story {
    /// The clock starts.
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    pub(super) fn title(&mut self) {
        tell("Tidemill demo: a shop's order events, with a crash in the middle.\n");
    }

    pub(super) fn started(&mut self, data: &Path, kafka: SocketAddr, took: Duration) {
        let data = data.display();
        step("start", &format!("a server on {kafka}, data in {data}, ready in {}", ms(took)));
    }

    pub(super) fn topic(&mut self) {
        step("topic", &format!("{TOPIC} with {PARTITIONS} partitions"));
    }

    pub(super) fn selling(&mut self, events: u64) {
        let events = grouped(events);
        step(
            "produce",
            &format!(
                "{TILLS} tills produce {events} events, keyed by customer, idempotent, acks=all"
            ),
        );
        step("consume", &format!("{MEMBERS} members of group {GROUP} read along"));
    }

    pub(super) fn left(&mut self, at: u64) {
        let at = grouped(at);
        step(
            "leave",
            &format!("after {at} events a member left; the others took over its partitions"),
        );
    }

    pub(super) fn killed(&mut self, at: u64, ready_in: Duration) {
        let (at, ready_in) = (grouped(at), ms(ready_in));
        step(
            "kill -9",
            &format!(
                "after {at} events the server was killed and started again, ready in {ready_in}"
            ),
        );
    }

    pub(super) fn sold(&mut self, events: u64, bytes: u64, took: Duration) {
        let seconds = took.as_secs_f64();
        let rate = grouped((events as f64 / seconds) as u64);
        let megabytes = bytes as f64 / 1e6 / seconds;
        let events = grouped(events);
        step(
            "acks",
            &format!(
                "all {events} events acknowledged in {seconds:.1} s, crash included: {rate} events/s, {megabytes:.1} MB/s"
            ),
        );
    }

    pub(super) fn read_along(&mut self, distinct: u64, again: u64) {
        let (distinct, again) = (grouped(distinct), grouped(again));
        step(
            "group",
            &format!(
                "saw all {distinct} events, each customer's in order; {again} of them again after the crash or a rebalance"
            ),
        );
    }

    pub(super) fn audited(&mut self, audit: &Tally, took: Duration) {
        let (events, customers) = (grouped(audit.distinct()), grouped(audit.customers() as u64));
        let rate = grouped((audit.distinct() as f64 / took.as_secs_f64()) as u64);
        step(
            "audit",
            &format!(
                "read back {events} events of {customers} customers at {rate} events/s: none lost, none doubled, every customer's 1, 2, 3 ... in order, no hole in the offsets"
            ),
        );
    }

    pub(super) fn steady(&mut self, steady: Latencies) {
        let (half, most) = steady.acknowledged;
        let (half_received, most_received) = steady.received;
        let rate = grouped(steady::events_per_second());
        step(
            "latency",
            &format!(
                "at {rate} events/s: acknowledged in {} (half) and {} (99 %), received in {} and {}",
                ms(half),
                ms(most),
                ms(half_received),
                ms(most_received)
            ),
        );
    }

    pub(super) fn end(&mut self, kept: Option<&Path>) {
        let seconds = self.begun.elapsed().as_secs_f64();
        tell(&format!("\n{SHOWN}\ndone in {seconds:.1} s"));
        if let Some(folder) = kept {
            tell(&format!("the data is still in {}", folder.display()));
        }
    }
}

const SHOWN: &str = "What this showed:
- An acknowledged event is durable: the server was killed without warning and nothing was lost.
- Idempotent producers went on through the crash by themselves, and no event is in the log twice.
- Events of one key stay in order, whichever producer, partition or member of the group handles them.
- A group hands its partitions over when a member leaves, and goes on after the crash.";

fn step(name: &str, text: &str) {
    tell(&format!("  {name:<8} {text}"));
}

fn tell(text: &str) {
    // Whoever does not read the story still gets the exit code.
    let _ = print_page(&format!("{text}\n"));
}

fn ms(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_groups_of_three() {
        let told = [0, 999, 1_000, 123_456_789].map(grouped);
        assert_eq!(told, ["0", "999", "1,000", "123,456,789"]);
    }
}

//! Tables in Markdown from raw results. Nothing is measured or decided here.

mod cost;
mod floors;
mod latency;
mod memory;
mod selection;
mod start_up;
mod sustained;
mod table;

use std::fmt::Write as _;

use crate::render::selection::Selection;
use crate::results::Results;

/// All tables of some results, which count as one.
#[must_use]
pub fn render(results: &[Results]) -> String {
    let selection = Selection::new(results);
    let mut out = String::new();
    for result in results {
        head(&mut out, result);
    }
    let tables = [
        floors::render(results),
        cost::render(&selection),
        sustained::render(&selection),
        latency::render(&selection),
        memory::render(&selection),
        start_up::render(&selection),
        selection.invalid_runs(),
    ];
    for table in tables.iter().filter(|table| !table.is_empty()) {
        out.push('\n');
        out.push_str(table);
    }
    out
}

fn head(out: &mut String, result: &Results) {
    let machine = &result.machine;
    let memory_gib = machine.memory_bytes >> 30;
    let dirty = if machine.dirty { " with changes" } else { "" };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "Commit {}{dirty}, {} x {}, {memory_gib} GiB, Linux {}; {} s of warm-up, {} s measured.",
        machine.commit.get(..12).unwrap_or(&machine.commit),
        machine.cores,
        machine.cpu,
        machine.kernel,
        result.warm_up_seconds,
        result.measure_seconds,
    );
    if let (Some(kafka), Some(java)) = (&machine.kafka_version, &machine.java_version) {
        let _ = writeln!(out, "Apache Kafka {kafka}, {java}.");
    }
}

#[cfg(test)]
mod render_test;

//! The floors, beside which the rest is read.

use crate::floor::disk::DiskFloor;
use crate::floor::loopback::CpuFloor;
use crate::render::table::{Row, mb_per_s, number, table};
use crate::results::Results;

pub(super) fn render(results: &[Results]) -> String {
    let disk: Vec<Row> = results.iter().flat_map(|r| &r.disk_floors).map(disk_row).collect();
    let cpu: Vec<Row> = results.iter().flat_map(|r| &r.cpu_floors).map(cpu_row).collect();
    let disk_columns = ["chunk", "file", "B, MB/s", "sync p50, ms", "sync p99 (S), ms", "max, ms"];
    let cpu_columns =
        ["bare program", "chunk", "MB/s", "user", "system", "CPU s/GiB", "driver busy, %"];
    let disk = table("Disk floor: append and fdatasync", &disk_columns, &disk);
    let cpu = table("CPU floor: a bare program on one core", &cpu_columns, &cpu);
    if cpu.is_empty() { disk } else { [disk, cpu].join("\n") }
}

fn disk_row(floor: &DiskFloor) -> Row {
    vec![
        format!("{} KiB", floor.chunk_bytes >> 10),
        format!("{:?}", floor.preparation).to_lowercase(),
        mb_per_s(Some(floor.bytes_per_second)),
        number(Some(floor.sync.p50_ms), 2),
        number(Some(floor.sync.p99_ms), 2),
        number(Some(floor.sync.max_ms), 2),
    ]
}

fn cpu_row(floor: &CpuFloor) -> Row {
    let (user, system) = (floor.user_seconds_per_gib, floor.system_seconds_per_gib);
    vec![
        format!("{:?}", floor.task),
        format!("{} KiB", floor.chunk_bytes >> 10),
        mb_per_s(Some(floor.bytes_per_second)),
        number(Some(user), 3),
        number(Some(system), 3),
        number(Some(user + system), 3),
        number(Some(floor.driver_busy * 100.0), 0),
    ]
}

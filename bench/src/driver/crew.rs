//! Making the connections of a run: who produces and consumes which partitions.

use crate::driver::consumer::{Consumer, Course};
use crate::driver::load::{FetchLoad, Load, Pacing};
use crate::driver::producer::Producer;
use crate::driver::schedule::Schedule;
use crate::driver::socket::FramedSocket;
use crate::wire::fetch::FetchSettings;
use crate::wire::produce::ProduceHead;

/// Room for answers to produce requests.
const ACK_BYTES: usize = 16 * 1024;

/// The producers that a load asks for.
pub fn producers(load: &Load) -> anyhow::Result<Vec<Producer>> {
    let Some(produce) = load.produce else { return Ok(Vec::new()) };
    let batch_bytes = load.batch.bytes.len();
    let connections = produce.connections.min(load.partitions);
    (0..connections)
        .map(|connection| {
            let partitions = share(load.partitions, connection, connections).collect();
            let schedule = match produce.pacing {
                Pacing::ClosedLoop => None,
                Pacing::OpenLoop { bytes_per_second } => Some(Schedule::new(
                    0,
                    batch_bytes as u64,
                    bytes_per_second,
                    connection,
                    connections,
                )),
            };
            let socket = FramedSocket::connect(load.broker, ACK_BYTES)?;
            let head = ProduceHead::new(&load.topic, batch_bytes);
            Ok(Producer::new(socket, head, partitions, produce.in_flight_max, schedule))
        })
        .collect()
}

/// The consumers that follow the producers.
pub fn tail_consumers(load: &Load) -> anyhow::Result<Vec<Consumer>> {
    let Some(tail) = &load.tail else { return Ok(Vec::new()) };
    consumers(load, &tail.fetch, |partition| Course {
        from: tail.from_offsets.get(partition).copied().unwrap_or(0),
        wraps_at: None,
    })
}

/// The consumers of what was there before.
pub fn backlog_consumers(load: &Load) -> anyhow::Result<Vec<Consumer>> {
    let Some(backlog) = &load.backlog else { return Ok(Vec::new()) };
    consumers(load, &backlog.fetch, |partition| Course {
        from: 0,
        wraps_at: backlog.end_offsets.get(partition).copied(),
    })
}

fn consumers(
    load: &Load,
    fetch: &FetchLoad,
    course_of: impl Fn(usize) -> Course,
) -> anyhow::Result<Vec<Consumer>> {
    let connections = fetch.connections.min(load.partitions);
    (0..connections)
        .map(|connection| {
            let courses: Vec<Course> = share(load.partitions, connection, connections)
                .map(|partition| course_of(partition as usize))
                .collect();
            let settings = FetchSettings {
                topic: load.topic.clone(),
                wait_ms_max: fetch.wait_ms_max,
                bytes_max: fetch.bytes_max,
            };
            let (first, stride) = (i32::try_from(connection)?, i32::try_from(connections)?);
            Consumer::new(load.broker, settings, first, stride, &courses)
        })
        .collect()
}

/// The partitions of one connection.
fn share(partitions: u32, connection: u32, connections: u32) -> impl Iterator<Item = i32> {
    (connection..partitions).step_by(connections as usize).map(|partition| partition as i32)
}

//! The floor under consuming: answers of 1 MiB sent from a file's pages, nothing else.
//!
//! Sixteen connections, each with one request of one byte on its way, are answered in turn by one
//! thread. An answer is made of ranges of the file, apart from one another as the ranges of a
//! partition are in objects that mix partitions; one range of 1 MiB is what a file per partition
//! gives. The other side throws away what it gets, as consumers of a run do.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::ensure;
use rustix::net::RecvFlags;
use rustix::net::sockopt::set_socket_send_buffer_size;

use crate::clock::Clock;
use crate::driver::flow::GIB;

/// Bytes of an answer.
const ANSWER_BYTES: usize = 1 << 20;

/// Connections.
const CONNECTIONS: usize = 16;

/// The send buffer that both brokers give a connection by default, in bytes.
const SEND_BUFFER_BYTES: usize = 200 << 10;

/// The file is begun again after so many bytes.
const FILE_BYTES: u64 = GIB as u64;

/// Asks and throws away for `measure_ns`; answers how many bytes came.
pub fn drive(first: TcpStream, address: SocketAddr, measure_ns: u64) -> anyhow::Result<u64> {
    let mut streams = vec![first];
    for _ in 1..CONNECTIONS {
        streams.push(TcpStream::connect(address)?);
    }
    for stream in &mut streams {
        stream.set_nodelay(true)?;
        stream.write_all(&[0])?;
    }
    let mut sink = vec![0; ANSWER_BYTES];
    let (clock, mut bytes) = (Clock::start(), 0);
    while clock.now_ns() < measure_ns {
        for stream in &mut streams {
            let mut left = ANSWER_BYTES;
            while left > 0 {
                let (_, got) = rustix::net::recv(&*stream, &mut sink[..left], RecvFlags::TRUNC)?;
                ensure!(got > 0, "the bare program closed the connection");
                left -= got;
            }
            bytes += ANSWER_BYTES as u64;
            stream.write_all(&[0])?;
        }
    }
    Ok(bytes)
}

/// Answers the requests of all connections in turn, until they close.
pub fn serve(
    listener: &TcpListener,
    first: TcpStream,
    file: &File,
    range_bytes: usize,
) -> anyhow::Result<()> {
    let mut streams = vec![first];
    for _ in 1..CONNECTIONS {
        streams.push(listener.accept()?.0);
    }
    for stream in &streams {
        stream.set_nodelay(true)?;
        set_socket_send_buffer_size(stream, SEND_BUFFER_BYTES)?;
    }
    // A run of ranges that lie as far from each other as `CONNECTIONS` partitions put them.
    let apart = if range_bytes < ANSWER_BYTES { range_bytes * CONNECTIONS } else { range_bytes };
    let mut position = 0;
    loop {
        for stream in &mut streams {
            stream.read_exact(&mut [0])?;
            let mut left = ANSWER_BYTES;
            while left > 0 {
                let length = left.min(range_bytes);
                send_range(stream, file, position, length)?;
                left -= length;
                position = (position + apart as u64) % (FILE_BYTES - ANSWER_BYTES as u64);
            }
        }
    }
}

fn send_range(stream: &TcpStream, file: &File, from: u64, length: usize) -> anyhow::Result<()> {
    let (mut position, mut left) = (from, length);
    while left > 0 {
        let sent = rustix::fs::sendfile(stream, file, Some(&mut position), left)?;
        ensure!(sent > 0, "the file is shorter than it was");
        left -= sent;
    }
    Ok(())
}

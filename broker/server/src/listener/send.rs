//! Sending without a copy through this process, where the system can.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use tidemill_base::FileRange;
use tokio::net::TcpStream;

/// Sends from memory. `more` tells the system that something follows at once, so that it may wait to
/// fill a packet.
pub(super) fn slices(stream: &TcpStream, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::MORE, more);
    Ok(sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags)?)
}

/// Sends a range of a file.
pub(super) fn range(stream: &TcpStream, range: &FileRange) -> io::Result<usize> {
    match range.file().descriptor() {
        Some(file) => from_pages(stream, file, range),
        None => from_memory(stream, range),
    }
}

/// Sends a file's pages as they lie in the page cache.
#[cfg(target_os = "linux")]
fn from_pages(stream: &TcpStream, file: BorrowedFd<'_>, range: &FileRange) -> io::Result<usize> {
    let mut position = range.position();
    match rustix::fs::sendfile(stream, file, Some(&mut position), range.len())? {
        0 => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file ends before the records that are to be sent",
        )),
        sent => Ok(sent),
    }
}

/// Other systems have no call for it that takes any file.
#[cfg(not(target_os = "linux"))]
fn from_pages(stream: &TcpStream, _: BorrowedFd<'_>, range: &FileRange) -> io::Result<usize> {
    from_memory(stream, range)
}

fn from_memory(stream: &TcpStream, range: &FileRange) -> io::Result<usize> {
    const READ_BYTES: usize = 256 * 1024;
    let length = range.len().min(READ_BYTES);
    let bytes = range.file().read_exact_at(range.position(), length)?;
    slices(stream, &[IoSlice::new(&bytes)], length < range.len())
}

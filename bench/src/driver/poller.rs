//! epoll, level-triggered, for a handful of sockets.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::clock::SECOND_NS;

/// Events taken per wait.
const EVENTS_MAX: usize = 256;

/// Waits for sockets to be ready.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// One socket's readiness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The number under which the socket was added.
    pub token: u64,
    /// Whether a write would make progress.
    pub writable: bool,
    /// Whether a read would: data, an end, or an error.
    pub readable: bool,
}

impl Poller {
    /// An empty poller.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
        })
    }

    /// Watches a socket for reading.
    pub fn add(&self, socket: BorrowedFd<'_>, token: u64) -> std::io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), EventFlags::IN)?)
    }

    /// Watches a socket for writing too, or no longer.
    pub fn want_write(
        &self,
        socket: BorrowedFd<'_>,
        token: u64,
        wanted: bool,
    ) -> std::io::Result<()> {
        let flags = if wanted { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    /// Waits at most `timeout_ns` and puts what is ready into `ready`, which is cleared first.
    pub fn wait(&mut self, timeout_ns: u64, ready: &mut Vec<Ready>) -> std::io::Result<()> {
        let timeout = Timespec {
            tv_sec: (timeout_ns / SECOND_NS) as i64,
            tv_nsec: (timeout_ns % SECOND_NS) as i64,
        };
        self.events.clear();
        ready.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| {
            // The fields of the kernel's packed struct are copied before use.
            let (flags, data) = (event.flags, event.data);
            Ready {
                token: data.u64(),
                writable: flags.contains(EventFlags::OUT),
                readable: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
            }
        }));
        Ok(())
    }
}

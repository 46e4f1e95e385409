//! Answers that lie in files: they come whole and in order, from the system's pages and without.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use tidemill_base::{FileRange, LendingFile};
use tidemill_kafka::Part;

use super::*;

/// More than the system takes in for a peer that does not read.
const FILE_BYTES: usize = 12 << 20;

/// A file whose byte at each position tells the position.
struct Lent {
    file: File,
    /// Whether the system may know it: otherwise it is read.
    has_descriptor: bool,
}

impl LendingFile for Lent {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.has_descriptor.then(|| self.file.as_fd())
    }

    fn read_exact_at(&self, position: u64, length: usize) -> io::Result<Bytes> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, position)?;
        Ok(bytes.into())
    }
}

fn pattern(position: usize) -> u8 {
    (position % 251) as u8 ^ (position / 65_536) as u8
}

/// Answers each frame with the parts its first byte names.
struct Library {
    known: Arc<dyn LendingFile>,
    unknown: Arc<dyn LendingFile>,
}

impl Library {
    fn new() -> Self {
        let bytes: Vec<u8> = (0..FILE_BYTES).map(pattern).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let unknown = Lent { file: file.try_clone().unwrap(), has_descriptor: false };
        Self { known: Arc::new(Lent { file, has_descriptor: true }), unknown: Arc::new(unknown) }
    }

    fn answer(&self, kind: u8) -> Parts {
        let lent = |file: &Arc<dyn LendingFile>, position: usize, length: usize| {
            Part::Lent(FileRange::new(Arc::clone(file), position as u64, length))
        };
        let shared = |byte: u8, length: usize| Part::Shared(vec![byte; length].into());
        match kind {
            b'l' => [lent(&self.known, 5, FILE_BYTES - 5)].into_iter().collect(),
            // Few bytes between ranges, a page, more than a page; ranges of all lengths.
            _ => [
                shared(1, 7),
                lent(&self.known, 1, 1),
                lent(&self.known, 4095, 80_000),
                shared(2, 4096),
                lent(&self.unknown, 77, 600_000),
                shared(3, 4097),
                lent(&self.known, 99_999, 2_000_001),
                lent(&self.known, 8192, 4096),
                shared(4, 300_000),
                lent(&self.known, 3, 16_001),
                shared(5, 11),
            ]
            .into_iter()
            .collect(),
        }
    }
}

impl Service for Arc<Library> {
    fn connect(&self, _: SocketAddr) -> Box<dyn ServiceConnection> {
        Box::new(Arc::clone(self))
    }
}

impl ServiceConnection for Arc<Library> {
    fn dispatch(&mut self, frame: Bytes) -> Dispatched {
        Dispatched::Ready(self.answer(frame[0]))
    }
}

struct Lending {
    address: SocketAddr,
    library: Arc<Library>,
    _close: watch::Sender<bool>,
}

fn start_lending() -> Lending {
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let library = Arc::new(Library::new());
    let (close, closing) = watch::channel(false);
    let shared = Arc::new(Shared {
        service: Arc::new(Arc::clone(&library)),
        limits: ListenerLimits::default(),
        memory: Budget::new(1 << 20),
        partial: Budget::new(1 << 20),
        answers: Budget::new(1),
        answer_frames: Budget::new(16 << 20),
        counters: Arc::default(),
        closing,
        complaints: Complaints::default(),
    });
    let serving = serve_shared(listener, shared, Arc::new(TokioSpawn));
    TokioSpawn.task("listener", Box::pin(serving));
    Lending { address, library, _close: close }
}

async fn read_answer(stream: &mut TcpStream, expected: &Bytes) {
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer).await.unwrap();
    assert!(answer == *expected, "an answer differs from what lies in memory and files");
}

#[tokio::test]
async fn lent_answers_come_whole_and_in_order() {
    let lending = start_lending();
    let mut stream = TcpStream::connect(lending.address).await.unwrap();
    let kinds = b"mmlmmmmlm";
    for kind in kinds {
        send(&mut stream, &[*kind]).await;
    }
    for kind in kinds {
        read_answer(&mut stream, &lending.library.answer(*kind).to_bytes()).await;
    }
}

#[tokio::test]
async fn those_who_leave_their_answers_lying_keep_nobody_from_reading() {
    let lending = start_lending();
    let mut slow = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(lending.address).await.unwrap();
        send(&mut stream, b"l").await;
        assert_eq!(stream.read_u8().await.unwrap(), pattern(5));
        slow.push(stream);
    }
    slow.truncate(20);
    let mut stream = TcpStream::connect(lending.address).await.unwrap();
    send(&mut stream, b"m").await;
    read_answer(&mut stream, &lending.library.answer(b'm').to_bytes()).await;
    let whole = lending.library.answer(b'l').to_bytes();
    for mut stream in slow {
        read_answer(&mut stream, &whole.slice(1..)).await;
    }
}

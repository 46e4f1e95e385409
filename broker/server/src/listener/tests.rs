//! The listener over real sockets, with a service that echoes.

mod lent;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use bytes::Bytes;
use tidemill_base::Spawn;
use tidemill_base::ports::BoxFuture;
use tidemill_kafka::Parts;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

use super::*;
use crate::service::{Dispatched, ServiceConnection};

/// Answers each frame with itself. A frame that starts with `w` is answered only when told, and what
/// becomes of one that starts with `p` is known only when told.
#[derive(Clone, Default)]
struct Echo {
    held_back: Arc<Mutex<Vec<oneshot::Sender<()>>>>,
    dispatched: Arc<Mutex<Vec<u8>>>,
}

impl Service for Echo {
    fn connect(&self, _: SocketAddr) -> Box<dyn ServiceConnection> {
        Box::new(self.clone())
    }
}

fn framed(bytes: &[u8]) -> Parts {
    let length = Bytes::copy_from_slice(&(bytes.len() as u32).to_be_bytes());
    Parts::new(vec![length, Bytes::copy_from_slice(bytes)])
}

impl ServiceConnection for Echo {
    fn dispatch(&mut self, frame: Bytes) -> Dispatched {
        self.dispatched.lock().unwrap().extend(frame.first());
        match frame.first() {
            Some(b'p') => {
                let (tell, told) = oneshot::channel();
                self.held_back.lock().unwrap().push(tell);
                Dispatched::Pending(Box::pin(async move {
                    match told.await {
                        Ok(()) => Dispatched::Ready(framed(&frame)),
                        Err(_) => Dispatched::Close("untold".to_owned()),
                    }
                }))
            }
            Some(b'w') => {
                let (tell, told) = oneshot::channel();
                self.held_back.lock().unwrap().push(tell);
                Dispatched::Later(Box::pin(async move {
                    told.await.unwrap();
                    framed(&frame)
                }))
            }
            Some(b's') => Dispatched::Silent(Box::pin(async {})),
            Some(b'x') => Dispatched::Close("x".to_owned()),
            _ => Dispatched::Ready(framed(&frame)),
        }
    }
}

struct TokioSpawn;

#[expect(clippy::disallowed_methods, reason = "this is the test's adapter of the port")]
impl Spawn for TokioSpawn {
    fn task(&self, _: &'static str, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn dedicated(&self, _: &'static str, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

struct Running {
    address: SocketAddr,
    echo: Echo,
    memory: Budget,
    partial: Budget,
    answers: Budget,
    answer_frames: Budget,
    counters: Arc<ListenerCounters>,
    close: watch::Sender<bool>,
}

fn start(limits: ListenerLimits, memory: u32) -> Running {
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let (echo, counters) = (Echo::default(), Arc::new(ListenerCounters::default()));
    let (close, closing) = watch::channel(false);
    let (answers, answer_frames) = (Budget::new(1), Budget::new(64 << 20));
    let (memory, partial) = (Budget::new(memory), Budget::new(limits.partial_bytes_max));
    let shared = Shared {
        service: Arc::new(echo.clone()),
        limits,
        memory: memory.clone(),
        partial: partial.clone(),
        answers: answers.clone(),
        answer_frames: answer_frames.clone(),
        counters: Arc::clone(&counters),
        closing,
        complaints: Complaints::default(),
    };
    let serving = serve_shared(listener, Arc::new(shared), Arc::new(TokioSpawn));
    TokioSpawn.task("listener", Box::pin(serving));
    Running { address, echo, memory, partial, answers, answer_frames, counters, close }
}

async fn send(stream: &mut TcpStream, frame: &[u8]) {
    stream.write_all(&(frame.len() as u32).to_be_bytes()).await.unwrap();
    stream.write_all(frame).await.unwrap();
}

async fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.unwrap();
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await.unwrap();
    frame
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    matches!(stream.read_to_end(&mut rest).await, Ok(0) | Err(_))
}

#[tokio::test]
async fn answers_keep_the_order_of_their_requests() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    for frame in [&b"a"[..], b"wait", b"s", b"b", b""] {
        send(&mut stream, frame).await;
    }
    assert_eq!(receive(&mut stream).await, b"a");
    while running.echo.held_back.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    running.echo.held_back.lock().unwrap().remove(0).send(()).unwrap();
    for expected in [&b"wait"[..], b"b", b""] {
        assert_eq!(receive(&mut stream).await, expected);
    }
}

#[tokio::test]
async fn nothing_is_dispatched_before_the_fate_of_the_request_before_is_known() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    for frame in [&b"wait"[..], b"pending", b"b", b"pending too", b"c"] {
        send(&mut stream, frame).await;
    }
    let tell = async |dispatched: &[u8]| {
        // Others are served meanwhile.
        assert_eq!(exchange(running.address, b"other").await, b"other");
        let mut seen = running.echo.dispatched.lock().unwrap().clone();
        seen.retain(|first| *first != b'o');
        assert_eq!(seen, dispatched);
        let tell = running.echo.held_back.lock().unwrap().pop().unwrap();
        tell.send(()).unwrap();
    };
    while running.echo.held_back.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    tell(b"wp").await;
    while running.echo.held_back.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    tell(b"wpbp").await;
    while running.echo.dispatched.lock().unwrap().last() != Some(&b'c') {
        tokio::task::yield_now().await;
    }
    tell(b"wpbpc").await;
    for expected in [&b"wait"[..], b"pending", b"b", b"pending too", b"c"] {
        assert_eq!(receive(&mut stream).await, expected);
    }
    assert_eq!(running.memory.held(), 0);
}

#[tokio::test]
async fn a_request_whose_fate_is_never_known_closes_its_own_connection() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    send(&mut stream, b"pending").await;
    while running.echo.held_back.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    running.echo.held_back.lock().unwrap().clear();
    assert!(is_closed(&mut stream).await);
    assert_eq!(running.memory.held(), 0);
}

#[tokio::test]
async fn a_large_frame_comes_back_whole_and_memory_is_given_back() {
    let running = start(ListenerLimits::default(), 8 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let large: Vec<u8> = (0..5_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (mut reading, mut writing) = stream.split();
    let sent = async {
        writing.write_all(&(large.len() as u32).to_be_bytes()).await.unwrap();
        writing.write_all(&large).await.unwrap();
    };
    let received = async {
        let length = reading.read_u32().await.unwrap();
        let mut frame = vec![0; length as usize];
        reading.read_exact(&mut frame).await.unwrap();
        frame
    };
    let ((), frame) = tokio::join!(sent, received);
    assert!(frame == large);
    send(&mut stream, b"a").await;
    receive(&mut stream).await;
    assert_eq!(running.memory.held(), 0);
}

#[tokio::test]
async fn giant_lengths_and_other_protocols_close_only_their_own_connection() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut good = TcpStream::connect(running.address).await.unwrap();
    for garbage in [&b"\xff\xff\xff\xff"[..], b"GET / HTTP/1.1\r\n", b"\0\0\0\x01x"] {
        let mut bad = TcpStream::connect(running.address).await.unwrap();
        bad.write_all(garbage).await.unwrap();
        assert!(is_closed(&mut bad).await);
    }
    assert_eq!(running.counters.protocol_errors.load(Ordering::Relaxed), 3);
    send(&mut good, b"a").await;
    assert_eq!(receive(&mut good).await, b"a");
}

#[tokio::test]
async fn a_connection_waits_for_memory_and_still_sends_what_is_due() {
    let running = start(ListenerLimits::default(), 1000);
    let mut first = TcpStream::connect(running.address).await.unwrap();
    let mut second = TcpStream::connect(running.address).await.unwrap();
    let waiting = [b'w'; 900];
    send(&mut first, &waiting).await;
    while running.echo.held_back.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    send(&mut second, b"tiny").await;
    assert_eq!(receive(&mut second).await, b"tiny");
    send(&mut second, &[b'a'; 800]).await;
    send(&mut first, &[b'b'; 700]).await;
    running.echo.held_back.lock().unwrap().remove(0).send(()).unwrap();
    assert_eq!(receive(&mut first).await, waiting);
    assert_eq!(receive(&mut second).await, [b'a'; 800]);
    assert_eq!(receive(&mut first).await, [b'b'; 700]);
}

#[tokio::test]
async fn too_many_connections_are_turned_away() {
    let limits = ListenerLimits { connections_max: 1, ..ListenerLimits::default() };
    let running = start(limits, 1 << 20);
    let mut first = TcpStream::connect(running.address).await.unwrap();
    send(&mut first, b"a").await;
    receive(&mut first).await;
    let mut second = TcpStream::connect(running.address).await.unwrap();
    assert!(is_closed(&mut second).await);
    assert_eq!(running.counters.refused.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_stalled_frame_and_an_idle_connection_are_closed() {
    let limits = ListenerLimits {
        stall_timeout: Duration::from_millis(20),
        idle_timeout: Duration::from_millis(40),
        ..ListenerLimits::default()
    };
    let running = start(limits, 1 << 20);
    let mut stalled = TcpStream::connect(running.address).await.unwrap();
    stalled.write_all(b"\0\0\0\x09abc").await.unwrap();
    assert!(is_closed(&mut stalled).await);
    let mut idle = TcpStream::connect(running.address).await.unwrap();
    assert!(is_closed(&mut idle).await);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_taken_too_slowly_is_given_up_while_others_wait_for_its_memory() {
    let patient = Duration::from_secs(100_000);
    let limits = ListenerLimits {
        stall_timeout: patient,
        idle_timeout: patient,
        frame_timeout: patient,
        ..ListenerLimits::default()
    };
    let running = start(limits, 256 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    // Far more than the system takes in for a peer that does not read.
    send(&mut stream, &vec![b'a'; 32 << 20]).await;
    while running.echo.dispatched.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let is_open = || running.counters.open.load(Ordering::Relaxed) == 1;
    tokio::time::sleep(Duration::from_secs(5_000)).await;
    assert!(is_open(), "nobody waits for its memory");
    let _all = running.answers.hold(1).await;
    let waiting = running.answers.hold_contending(1);
    let ended = async {
        while is_open() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        _ = waiting => panic!("there is none to be had"),
        () = ended => {}
    }
}

/// Answers that nobody takes hold up others only until they are given up.
#[tokio::test(start_paused = true)]
async fn answers_that_are_not_taken_are_given_up_once_they_keep_others_waiting() {
    let patient = Duration::from_secs(100_000);
    let limits = ListenerLimits {
        stall_timeout: patient,
        idle_timeout: patient,
        frame_timeout: patient,
        ..ListenerLimits::default()
    };
    let running = start(limits, 512 << 20);
    let mut lazy = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        send(&mut stream, &vec![b'a'; 28 << 20]).await;
        lazy.push(stream);
    }
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let long = vec![b'b'; 40 << 20];
    send(&mut stream, &long).await;
    send(&mut stream, b"c").await;
    assert!(receive(&mut stream).await == long);
    assert_eq!(receive(&mut stream).await, b"c");
    assert!(running.counters.open.load(Ordering::Relaxed) < 4, "some were given up");
    drop((stream, lazy));
    while running.counters.open.load(Ordering::Relaxed) > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(running.answer_frames.held(), 0);
}

#[tokio::test]
async fn closing_answers_what_was_taken_in_and_then_ends() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    send(&mut stream, b"wait").await;
    while running.echo.held_back.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    running.close.send(true).unwrap();
    tokio::task::yield_now().await;
    running.echo.held_back.lock().unwrap().remove(0).send(()).unwrap();
    assert_eq!(receive(&mut stream).await, b"wait");
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn half_frames_do_not_keep_small_requests_waiting() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut halves = Vec::new();
    for _ in 0..8 {
        let mut half = TcpStream::connect(running.address).await.unwrap();
        half.write_all(&(200_u32 << 10).to_be_bytes()).await.unwrap();
        half.write_all(&[0; 100 << 10]).await.unwrap();
        halves.push(half);
    }
    while running.memory.held() < 3 * (200 << 10) {
        tokio::task::yield_now().await;
    }
    let mut good = TcpStream::connect(running.address).await.unwrap();
    send(&mut good, b"good").await;
    assert_eq!(receive(&mut good).await, b"good");
}

/// Sends a frame while its answer is received, and answers that.
async fn exchange(address: SocketAddr, frame: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let sent = async {
        writing.write_all(&(frame.len() as u32).to_be_bytes()).await.unwrap();
        writing.write_all(frame).await.unwrap();
    };
    let received = async {
        let length = reading.read_u32().await.unwrap();
        let mut answer = vec![0; length as usize];
        reading.read_exact(&mut answer).await.unwrap();
        answer
    };
    tokio::join!(sent, received).1
}

#[tokio::test]
async fn large_frames_that_exceed_the_memory_together_all_come_whole() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let large = vec![b'l'; 700 << 10];
    let answers = (0..4).map(|_| exchange(running.address, &large));
    assert!(futures::future::join_all(answers).await.iter().all(|answer| *answer == large));
}

#[tokio::test]
async fn frames_come_whole_however_little_is_left_for_those_that_arrive() {
    for partial_bytes_max in [1, 70_000, 200_000] {
        let limits = ListenerLimits { partial_bytes_max, ..ListenerLimits::default() };
        let running = start(limits, 1 << 20);
        let frames: Vec<_> = [10, 900, 1_020, 1_021, 5_000, 60_000, 65_536, 65_537, 300_000]
            .iter()
            .map(|length| vec![b'f'; *length])
            .collect();
        let answers = frames.iter().chain(&frames).map(|frame| exchange(running.address, frame));
        let answers = futures::future::join_all(answers).await;
        assert!(answers.iter().zip(frames.iter().chain(&frames)).all(|(a, b)| a == b));
        assert_eq!(running.partial.held(), 0);
    }
}

#[tokio::test]
async fn begun_frames_are_taken_in_within_their_memory_and_keep_nobody_waiting() {
    const DAWDLERS: u64 = 12;
    const ANNOUNCED: u64 = 60_000;
    let limits = ListenerLimits { partial_bytes_max: 150_000, ..ListenerLimits::default() };
    let running = start(limits, 8 << 20);
    let mut begun = vec![1; 50_000];
    begun[..4].copy_from_slice(&(ANNOUNCED as u32).to_be_bytes());
    let mut dawdlers = Vec::new();
    for _ in 0..DAWDLERS {
        let mut dawdler = TcpStream::connect(running.address).await.unwrap();
        dawdler.write_all(&begun).await.unwrap();
        dawdlers.push(dawdler);
    }
    let mut good = TcpStream::connect(running.address).await.unwrap();
    good.set_nodelay(true).unwrap();
    let mut was_contended = false;
    for _ in 0..100 {
        was_contended |= running.partial.is_contended();
        // Small frames are not kept waiting.
        send(&mut good, b"good").await;
        assert_eq!(receive(&mut good).await, b"good");
        let open = running.counters.open.load(Ordering::Relaxed);
        let closed = (DAWDLERS + 1).saturating_sub(open);
        let taken_in = running.counters.bytes_in.load(Ordering::Relaxed);
        let allowed = u64::from(running.partial.total()) + (DAWDLERS + 1) * 1024;
        assert!(taken_in <= allowed + closed * ANNOUNCED, "{taken_in} bytes were taken in");
    }
    assert!(was_contended);
    // Those who hold what others wait for are closed when they do not move on.
    let medium = vec![b'm'; 50_000];
    assert!(exchange(running.address, &medium).await == medium);
}

#[tokio::test]
async fn connections_that_wait_with_a_few_bytes_hold_nothing() {
    let running = start(ListenerLimits::default(), 1 << 20);
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(b"\0\0\xea\x60few").await.unwrap();
        waiting.push(stream);
    }
    while running.counters.bytes_in.load(Ordering::Relaxed) < 700 {
        tokio::task::yield_now().await;
    }
    assert_eq!((running.partial.held(), running.memory.held()), (0, 0));
}

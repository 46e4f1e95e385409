//! Requests over real sockets.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

struct Fixed(Readiness);

impl Probe for Fixed {
    fn metrics(&self) -> Result<String, String> {
        Ok("tidemill_up 1\n".to_owned())
    }

    fn readiness(&self) -> Readiness {
        self.0.clone()
    }
}

async fn ask(readiness: Readiness, connections: usize, path: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (close, closing) = watch::channel(false);
    let served = tokio::spawn(serve(listener, connections, Arc::new(Fixed(readiness)), closing));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    close.send(true).unwrap();
    served.await.unwrap();
    answer
}

#[tokio::test]
async fn metrics_have_their_content_type() {
    let answer = ask(Readiness::Ready(None), 1, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(METRICS_TYPE) && answer.ends_with("tidemill_up 1\n"), "{answer}");
}

#[tokio::test]
async fn a_node_that_is_not_ready_says_why_and_is_still_healthy() {
    let not_ready = Readiness::NotReady("recovering".to_owned());
    let answer = ask(not_ready.clone(), 1, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("not ready: recovering\n"));
    assert!(ask(not_ready, 1, "/healthz").await.starts_with("HTTP/1.1 200"));
    assert!(ask(Readiness::Ready(None), 1, "/readyz").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    assert!(ask(Readiness::Ready(None), 1, "/nothing").await.starts_with("HTTP/1.1 404"));
}

async fn serving(connections: usize) -> (std::net::SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (close, closing) = watch::channel(false);
    tokio::spawn(serve(listener, connections, Arc::new(Fixed(Readiness::Ready(None))), closing));
    (address, close)
}

#[tokio::test]
async fn a_connection_beyond_the_bound_takes_the_place_of_the_one_longest_at_its_request() {
    let (address, _close) = serving(2).await;
    let mut oldest = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    for stream in [&mut oldest, &mut second] {
        stream.write_all(b"GET /healthz HTTP/1.0\r\nX: ").await.unwrap();
    }
    let mut third = TcpStream::connect(address).await.unwrap();
    third.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    third.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 200"));
    assert_eq!(oldest.read(&mut [0; 12]).await.unwrap_or(0), 0, "the oldest is closed");
    second.write_all(b"a\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    second.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.0 200");
}

#[tokio::test]
async fn a_request_that_trickles_is_closed_when_its_time_is_up() {
    let (address, _close) = serving(8).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
    // From here on time passes as fast as all are waiting.
    tokio::time::pause();
    let mut trickled = 0;
    while stream.write_all(b"a").await.is_ok() && trickled < 60 {
        trickled += 1;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        // Time only moves when nothing else does; let the sockets have their turn.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!((5..20).contains(&trickled), "{trickled} half seconds");
}

#[tokio::test]
async fn an_answer_is_the_last_of_its_connection() {
    let (address, _close) = serving(1).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("connection: close") && answer.ends_with("ready\n"), "{answer}");
}

#[tokio::test]
async fn a_request_without_end_is_closed() {
    let (address, _close) = serving(1).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\n").await.unwrap();
    let line = format!("X: {}\r\n", "a".repeat(4_000));
    let mut sent = 0;
    while sent < 10_000 && stream.write_all(line.as_bytes()).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 10_000);
}

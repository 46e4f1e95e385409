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

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_a_place() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_close, closing) = watch::channel(false);
    tokio::spawn(serve(listener, 1, Arc::new(Fixed(Readiness::Ready(None))), closing));
    let first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    tokio::select! {
        biased;
        _ = second.read_exact(&mut answer) => panic!("answered while the only place was taken"),
        () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
    }
    drop(first);
    second.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.0 200");
}

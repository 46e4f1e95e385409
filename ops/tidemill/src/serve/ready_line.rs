//! The line that says that a server serves. Scripts and the demo read it.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// What a server tells when it is ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadyLine<'a> {
    /// Where it serves Kafka clients.
    pub(crate) kafka: SocketAddr,
    /// Where it serves metrics and health.
    pub(crate) http: SocketAddr,
    /// Where its data is.
    pub(crate) data: &'a Path,
    /// From the start of the process.
    pub(crate) took: Duration,
}

const HEAD: &str = "tidemill ready: kafka ";

impl fmt::Display for ReadyLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{HEAD}{} http {} data {} in {} ms",
            self.kafka,
            self.http,
            self.data.display(),
            self.took.as_millis()
        )
    }
}

impl ReadyLine<'_> {
    /// The Kafka and HTTP addresses of a ready line; `None` for any other line.
    pub(crate) fn addresses(line: &str) -> Option<(SocketAddr, SocketAddr)> {
        let (kafka, rest) = line.strip_prefix(HEAD)?.split_once(" http ")?;
        let (http, _) = rest.split_once(" data ")?;
        Some((kafka.parse().ok()?, http.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let (kafka, http) = ("127.0.0.1:9092".parse().unwrap(), "[::1]:8080".parse().unwrap());
        let took = Duration::from_millis(12);
        let line = ReadyLine { kafka, http, data: Path::new("./a data b"), took }.to_string();
        assert_eq!(
            line,
            "tidemill ready: kafka 127.0.0.1:9092 http [::1]:8080 data ./a data b in 12 ms"
        );
        assert_eq!(ReadyLine::addresses(&line), Some((kafka, http)));
        assert_eq!(ReadyLine::addresses("tidemill stopped"), None);
    }
}

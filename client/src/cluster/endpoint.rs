//! Where a broker listens: `HOST:PORT`.

use std::fmt;

use tidemill_base::ErrorKind;

use crate::error::{Error, Result};

/// A host (a name or an address, without brackets) and a port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    /// The host's name or address.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl Endpoint {
    /// Reads `HOST:PORT`, or `[ADDRESS]:PORT` for IPv6.
    ///
    /// # Errors
    /// `Invalid` if the text has another form.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            let message = format!("broker address {text:?} is not HOST:PORT, as in 127.0.0.1:9092");
            Error::new(ErrorKind::Invalid, message)
        };
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(address) => address,
            None if host.contains([':', '[', ']']) => return Err(wrong()),
            None => host,
        };
        if host.is_empty() || host.contains(char::is_whitespace) || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// Reads addresses separated by commas; at least one.
    ///
    /// # Errors
    /// `Invalid` if one has another form.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        text.split(',').map(Self::parse).collect()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_brackets_are_read_and_shown_alike() {
        let list = Endpoint::parse_list("localhost:9092, 10.0.0.7:1,[::1]:19092").unwrap();
        let shown: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["localhost:9092", "10.0.0.7:1", "[::1]:19092"]);
        assert_eq!(list[2].host, "::1");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "localhost", ":9092", "a:0", "a:65536", "::1:9092", "a:1,,b:2", "a b:1"] {
            let error = Endpoint::parse_list(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        }
    }
}

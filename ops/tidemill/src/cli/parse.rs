//! Values of options that clap does not know.

use std::net::{SocketAddr, ToSocketAddrs};

/// An address to listen on; a name is looked up, and the first address of it taken.
pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let expected = "expected an address and a port, such as 127.0.0.1:9092 or localhost:9092";
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {}
        _ => return Err(expected.to_owned()),
    }
    let found = text.to_socket_addrs().map_err(|error| format!("{error}; {expected}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    // Clients try 127.0.0.1 first, as everything here does by default.
    found.sort_by_key(SocketAddr::is_ipv6);
    found.first().copied().ok_or_else(|| expected.to_owned())
}

/// `NAME=VALUE`; the value may be empty and may contain `=`.
pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// A separator, in which `\t`, `\n` and `\\` stand for a tab, a line end and a backslash.
pub(crate) fn separator(text: &str) -> Result<String, String> {
    let separator = unescape(text)?;
    if separator.is_empty() { Err("is empty".to_owned()) } else { Ok(separator) }
}

/// Text with `\n`, `\t`, `\r`, `\0` and `\\` replaced.
pub(crate) fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('0') => '\0',
            Some('\\') => '\\',
            Some(other) => {
                return Err(format!("\\{other} has no meaning; use \\\\ for a backslash"));
            }
            None => return Err("ends with a backslash; use \\\\ for a backslash".to_owned()),
        });
    }
    Ok(out)
}

/// Milliseconds since 1970: a whole number, or a time in RFC 3339.
pub(crate) fn timestamp_ms(text: &str) -> Result<i64, String> {
    if let Ok(ms) = text.parse::<i64>() {
        return if ms >= 0 { Ok(ms) } else { Err("lies before 1970".to_owned()) };
    }
    crate::time_text::parse_rfc3339(text).ok_or_else(|| {
        "expected milliseconds since 1970 or a time such as 2026-11-30T08:00:00Z".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_hold_equals_signs_and_a_name_must_not_be_empty() {
        assert_eq!(name_and_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(name_and_value("a="), Ok(("a".to_owned(), String::new())));
        assert!(name_and_value("=b").is_err() && name_and_value("a").is_err());
    }

    #[test]
    fn an_address_may_have_a_name_and_must_have_a_port() {
        assert_eq!(listen_address("[::1]:7"), Ok("[::1]:7".parse().unwrap()));
        assert_eq!(listen_address("localhost:7"), Ok("127.0.0.1:7".parse().unwrap()));
        for wrong in ["19192", "localhost", ":7", "localhost:x", "localhost:70000"] {
            assert!(listen_address(wrong).unwrap_err().contains("127.0.0.1:9092"), "{wrong}");
        }
    }

    #[test]
    fn escapes_are_replaced_and_unknown_ones_refused() {
        assert_eq!(unescape(r"a\tb\\n\n"), Ok("a\tb\\n\n".to_owned()));
        assert!(unescape(r"a\q").is_err() && unescape("a\\").is_err());
    }

    #[test]
    fn a_time_is_a_number_or_rfc_3339() {
        assert_eq!(timestamp_ms("1700000000000"), Ok(1_700_000_000_000));
        assert_eq!(timestamp_ms("1970-01-01T00:00:01.5Z"), Ok(1500));
        assert!(timestamp_ms("-5").is_err() && timestamp_ms("yesterday").is_err());
    }
}

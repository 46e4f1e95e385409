//! How `consume --format` lays out a record.

use crate::cli::Encoding;
use crate::cli::parse::unescape;
use crate::output::{ShownRecord, show_bytes};
use crate::time_text::format_rfc3339;

/// Text with placeholders, understood once and filled in for every record.
#[derive(Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Time,
    Key,
    Value,
    Headers,
}

const PLACEHOLDERS: [(&str, Part); 8] = [
    ("topic", Part::Topic),
    ("partition", Part::Partition),
    ("offset", Part::Offset),
    ("timestamp", Part::Timestamp),
    ("time", Part::Time),
    ("key", Part::Key),
    ("value", Part::Value),
    ("headers", Part::Headers),
];

impl Template {
    /// Understands a template.
    ///
    /// # Errors
    /// An unknown placeholder, a brace that is not closed, an unknown escape.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let template = unescape(template)?;
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let from = &rest[at..];
            if let Some(after) = from.strip_prefix("{{") {
                text.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix('}') {
                text.push('}');
                rest = after.strip_prefix('}').unwrap_or(after);
            } else {
                let (name, after) = from[1..]
                    .split_once('}')
                    .ok_or("a brace is not closed; write {{ for a brace")?;
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(placeholder(name)?);
                rest = after;
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { parts })
    }

    /// Appends the record, laid out. A null key or value is empty.
    pub(crate) fn fill(&self, record: &ShownRecord<'_>, encoding: Encoding, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                Part::Topic => out.extend_from_slice(record.topic.as_bytes()),
                Part::Partition => out.extend_from_slice(record.partition.to_string().as_bytes()),
                Part::Offset => out.extend_from_slice(record.offset.to_string().as_bytes()),
                Part::Timestamp => {
                    out.extend_from_slice(record.timestamp_ms.to_string().as_bytes());
                }
                Part::Time => {
                    out.extend_from_slice(format_rfc3339(record.timestamp_ms).as_bytes());
                }
                Part::Key => show_bytes(record.key.unwrap_or_default(), encoding, out),
                Part::Value => show_bytes(record.value.unwrap_or_default(), encoding, out),
                Part::Headers => fill_headers(record, encoding, out),
            }
        }
    }
}

fn fill_headers(record: &ShownRecord<'_>, encoding: Encoding, out: &mut Vec<u8>) {
    for (at, (name, value)) in record.headers.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        show_bytes(value.unwrap_or_default(), encoding, out);
    }
}

fn placeholder(name: &str) -> Result<Part, String> {
    let found = PLACEHOLDERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, part)| part.clone()).ok_or_else(|| {
        let known: Vec<String> =
            PLACEHOLDERS.iter().map(|(name, _)| format!("{{{name}}}")).collect();
        format!("{{{name}}} is no placeholder; there are {}", known.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let record = ShownRecord {
            topic: "t",
            partition: 3,
            offset: 42,
            timestamp_ms: 1500,
            key: Some(b"k"),
            value: None,
            headers: &[("a", Some(b"1")), ("b", None)],
        };
        let mut out = Vec::new();
        Template::parse(template).unwrap().fill(&record, Encoding::Text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(
            filled(r"{topic}/{partition}@{offset}\t{timestamp} {time} {key}={value} [{headers}]\n"),
            "t/3@42\t1500 1970-01-01T00:00:01.500Z k= [a=1,b=]\n"
        );
    }

    #[test]
    fn doubled_braces_are_braces() {
        assert_eq!(filled("{{key}} }{key}"), "{key} }k");
    }

    #[test]
    fn unknown_placeholders_and_open_braces_are_refused() {
        assert!(Template::parse("{kye}").unwrap_err().contains("{key}"));
        assert!(Template::parse("a {key").is_err());
    }
}

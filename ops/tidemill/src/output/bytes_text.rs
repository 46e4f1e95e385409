//! Bytes as text: keys and values are bytes, terminals and JSON want characters.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::cli::Encoding;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as they are printed in text. What is not UTF-8 goes out as it is.
pub(crate) fn show_bytes(bytes: &[u8], encoding: Encoding, out: &mut Vec<u8>) {
    match encoding {
        Encoding::Text => out.extend_from_slice(bytes),
        Encoding::Base64 => out.extend_from_slice(to_base64(bytes).as_bytes()),
        Encoding::Hex => out.extend_from_slice(to_hex(bytes).as_bytes()),
    }
}

/// Bytes in JSON: null, a string, or for bytes that are not UTF-8 an object `{"base64": ...}`.
pub(crate) fn json_bytes(bytes: Option<&[u8]>, encoding: Encoding) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match (encoding, std::str::from_utf8(bytes)) {
        (Encoding::Text, Ok(text)) => json!(text),
        (Encoding::Text | Encoding::Base64, _) => json!({ "base64": to_base64(bytes) }),
        (Encoding::Hex, _) => json!({ "hex": to_hex(bytes) }),
    }
}

/// The bytes that [`json_bytes`] made a value from.
///
/// # Errors
/// The value is not one of its shapes.
pub(crate) fn bytes_of_json(value: &Value) -> Result<Option<Vec<u8>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone().into_bytes())),
        Value::Object(fields) if fields.len() == 1 => {
            let decoded = match (fields.get("base64"), fields.get("hex")) {
                (Some(Value::String(text)), _) => from_base64(text),
                (_, Some(Value::String(text))) => from_hex(text),
                _ => None,
            };
            decoded.map(Some).ok_or_else(|| "an object must hold valid base64 or hex".to_owned())
        }
        _ => Err("must be null, a string, or {\"base64\": \"...\"}".to_owned()),
    }
}

/// An id of 16 bytes as Kafka's tools write it: URL-safe base64 without padding.
pub(crate) fn kafka_id(id: &[u8; 16]) -> String {
    to_base64(id).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? * 16 + digit(pair[1])?)).collect()
}

/// Base64 with the standard alphabet and padding.
fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let word = word[0] << 16 | word[1] << 8 | word[2];
        for at in 0..4_usize {
            let letter = BASE64[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in digits.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for letter in chunk {
            word =
                word << 6 | u32::try_from(BASE64.iter().position(|known| known == letter)?).ok()?;
        }
        let word = word << (6 * (4 - chunk.len()));
        bytes.extend(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in known {
            assert_eq!(to_base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text), Some(bytes.as_bytes().to_vec()));
        }
        for wrong in ["Z", "Zg=", "Zg===", "Z!==", "===="] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ids_are_written_as_kafka_writes_them() {
        assert_eq!(kafka_id(&[0; 16]), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(kafka_id(&[0xff; 16]), "_____________________w");
    }

    #[test]
    fn bytes_survive_json_in_every_encoding() {
        let samples: [Option<&[u8]>; 4] =
            [None, Some(b""), Some(b"text"), Some(&[0xff, 0, 0x80, 7])];
        for bytes in samples {
            for encoding in [Encoding::Text, Encoding::Base64, Encoding::Hex] {
                let value = json_bytes(bytes, encoding);
                assert_eq!(bytes_of_json(&value), Ok(bytes.map(<[u8]>::to_vec)), "{value}");
            }
        }
    }

    #[test]
    fn other_json_is_refused() {
        for value in
            [json!(5), json!({ "base64": 5 }), json!({}), json!({ "hex": "abc" }), json!([])]
        {
            assert!(bytes_of_json(&value).is_err(), "{value}");
        }
    }
}

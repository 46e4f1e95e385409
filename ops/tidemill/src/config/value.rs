//! The values of settings, between TOML and the fields.

use std::fmt;
use std::net::SocketAddr;

/// A value as a configuration file holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Whole(u64),
    /// Text.
    Text(String),
}

impl fmt::Display for Value {
    /// As TOML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{}", toml::Value::String(text.clone())),
        }
    }
}

/// A field of the configuration.
pub(crate) trait Field {
    /// Its value.
    fn value(&self) -> Value;

    /// Takes a value.
    ///
    /// # Errors
    /// What was expected instead.
    fn take(&mut self, value: Value) -> Result<(), String>;
}

impl Field for bool {
    fn value(&self) -> Value {
        Value::Bool(*self)
    }

    fn take(&mut self, value: Value) -> Result<(), String> {
        let Value::Bool(value) = value else { return Err("expected true or false".to_owned()) };
        *self = value;
        Ok(())
    }
}

impl Field for u64 {
    fn value(&self) -> Value {
        Value::Whole(*self)
    }

    fn take(&mut self, value: Value) -> Result<(), String> {
        let Value::Whole(value) = value else { return Err("expected a whole number".to_owned()) };
        *self = value;
        Ok(())
    }
}

impl Field for String {
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }

    fn take(&mut self, value: Value) -> Result<(), String> {
        let Value::Text(text) = value else { return Err("expected text in quotes".to_owned()) };
        *self = text;
        Ok(())
    }
}

impl Field for SocketAddr {
    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn take(&mut self, value: Value) -> Result<(), String> {
        const EXPECTED: &str = "expected an IP address with a port, such as \"127.0.0.1:9092\"";
        let Value::Text(text) = value else { return Err(EXPECTED.to_owned()) };
        *self = text.parse().map_err(|_| EXPECTED.to_owned())?;
        Ok(())
    }
}

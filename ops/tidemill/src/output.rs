//! How commands print their results: text for people, JSON for scripts.
//!
//! - JSON objects carry [`SCHEMA_VERSION`]; fields may be added within a version, never renamed.
//! - A reader that has gone (`| head`) ends the command quietly.
//!
//! Not here: what is in a result (`commands`).

mod bytes_text;
mod console;
mod record;
mod table;
mod template;

pub(crate) use bytes_text::{bytes_of_json, json_bytes, kafka_id, show_bytes};
pub(crate) use console::{Console, print_page};
pub(crate) use record::{ShownRecord, json_record};
pub(crate) use table::Table;
pub(crate) use template::Template;

/// The version of the JSON that commands print.
pub(crate) const SCHEMA_VERSION: u32 = 1;

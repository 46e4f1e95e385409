//! Names that others depend on, compared with golden files: commands, settings, metrics, JSON fields;
//! and the pages of documentation that are made from the program's own tables.
//!
//! After a wanted change: `TIDEMILL_GOLDEN=write cargo test -p tidemill --test golden`, and look at the
//! difference before it is committed. A name that is gone breaks somebody's script.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use support::Server;
use tidemill_ops::reference;

/// Compares a file below the repository's root with what the program says, or writes it.
fn check(path: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("TIDEMILL_GOLDEN").is_some_and(|what| what == "write") {
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(&full, text).unwrap();
        return;
    }
    let kept = fs::read_to_string(&full).unwrap_or_default();
    if kept != text {
        let changed = text.lines().find(|line| !kept.lines().any(|kept| kept == *line));
        let gone = kept.lines().find(|line| !text.lines().any(|now| now == *line));
        panic!(
            "{path} differs; new: {changed:?}, gone: {gone:?}. If that is wanted: \
             TIDEMILL_GOLDEN=write cargo test -p tidemill --test golden"
        );
    }
}

#[test]
fn commands_and_options_keep_their_names() {
    check("ops/tidemill/golden/commands.txt", &reference::commands());
}

#[test]
fn settings_keep_their_names_and_defaults() {
    check("ops/tidemill/golden/config_keys.txt", &reference::config_keys());
    check("ops/tidemill/golden/server.toml", &reference::default_config());
}

#[test]
fn pages_are_made_from_the_program() {
    check("docs/configuration.md", &reference::configuration_page());
    check("docs/cli.md", &reference::cli_page());
}

#[test]
fn metrics_keep_their_names() {
    let server = Server::start();
    server.ok(&["produce", "t", "--value", "v"]);
    let answer = server.get("/metrics");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let types = body.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut names: Vec<String> = types.map(str::to_owned).collect();
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else { continue };
        let labels = rest.split('}').next().unwrap().split(',').filter_map(|l| l.split_once('='));
        for (label, value) in labels.filter(|(label, _)| *label != "le") {
            let name = name.trim_end_matches("_bucket").trim_end_matches("_sum");
            let name = name.trim_end_matches("_count");
            names.push(match label {
                "api" => format!("{name}{{api}}"),
                label => format!("{name}{{{label}={value}}}"),
            });
        }
    }
    names.sort();
    names.dedup();
    check("ops/tidemill/golden/metrics.txt", &(names.join("\n") + "\n"));
    assert_eq!(server.end(false).0, Some(0));
}

#[test]
fn json_output_keeps_its_fields() {
    let server = Server::start();
    let mut fields = BTreeSet::new();
    let mut run = |arguments: &[&str]| {
        let printed = server.ok(&[arguments, &["--output", "json"]].concat());
        collect_fields(&name_of(arguments), &printed, &mut fields);
    };
    run(&["topic", "create", "t", "--config", "retention.ms=60000"]);
    run(&["topic", "list"]);
    run(&["produce", "t", "--value", "v", "--key", "k", "--header", "a=b"]);
    run(&["consume", "t", "--from-beginning", "--exit-at-end"]);
    run(&["topic", "describe", "t"]);
    run(&["topic", "config", "t", "--set", "max.message.bytes=1000000"]);
    run(&["consume", "t", "--group", "g", "--from-beginning", "--max-messages", "1"]);
    run(&["group", "list"]);
    let member = Member::join(&server, "g", "t");
    run(&["group", "describe", "g"]);
    member.leave();
    run(&["group", "reset-offsets", "g", "--topic", "t", "--to-earliest"]);
    run(&["cluster", "status"]);
    run(&["group", "delete", "g"]);
    run(&["topic", "delete", "t"]);
    let failed = server.run(&["topic", "describe", "t", "--output", "json"]);
    assert_eq!(failed.status.code(), Some(3));
    collect_fields("error", &String::from_utf8(failed.stderr).unwrap(), &mut fields);
    let list: Vec<String> = fields.into_iter().collect();
    check("ops/tidemill/golden/json_fields.txt", &(list.join("\n") + "\n"));
}

/// A member of a group that reads in the background.
struct Member(Child);

impl Member {
    /// Joins, and returns when it has partitions.
    fn join(server: &Server, group: &str, topic: &str) -> Self {
        let child = Command::new(support::PROGRAM)
            .args(["consume", topic, "--group", group, "--bootstrap", &server.kafka])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let member = Self(child);
        while !server.ok(&["group", "describe", group]).contains("Stable") {
            std::thread::sleep(Duration::from_millis(20));
        }
        member
    }

    /// Asks it to leave, and waits until it has.
    fn leave(mut self) {
        Server::signal(&self.0, Signal::TERM);
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `topic create` of `topic create NAME ...`, `produce` of `produce NAME ...`.
fn name_of(arguments: &[&str]) -> String {
    let words = if ["produce", "consume"].contains(&arguments[0]) { 1 } else { 2 };
    arguments[..words].join(" ")
}

/// Every field of printed objects as a path, with its type.
fn collect_fields(command: &str, printed: &str, fields: &mut BTreeSet<String>) {
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(printed).into_iter().map(Result::unwrap).collect();
    assert!(!objects.is_empty(), "{command} printed nothing");
    for object in &objects {
        assert_eq!(object["schema_version"], 1, "{command}");
        walk(command, object, fields);
    }
}

fn walk(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(_) if path.ends_with(" .topics[].configs") => {
            // The names in it are Kafka's.
            fields.insert(format!("{path}.*"));
        }
        Value::Object(object) => {
            for (name, value) in object {
                let space = if path.contains(" .") { "" } else { " " };
                walk(&format!("{path}{space}.{name}"), value, fields);
            }
        }
        Value::Array(items) => {
            fields.insert(format!("{path}[]"));
            items.iter().for_each(|item| walk(&format!("{path}[]"), item, fields));
        }
        _ => {
            fields.insert(path.to_owned());
        }
    }
}

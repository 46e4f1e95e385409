//! A server as a process: ready, refusing a second one, killed, drained; and the exit codes of commands.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use support::{PROGRAM, Server};

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let server = Server::start();
    let lines: String = (0..500).map(|at| format!("k{}:v{at}\n", at % 7)).collect();
    server.ok(&["topic", "create", "t", "--partitions", "3"]);
    server.ok_with_input(&["produce", "t", "--key-separator", ":"], &lines);
    let read = [
        "consume",
        "t",
        "--from-beginning",
        "--exit-at-end",
        "--format",
        r"{partition} {offset} {key}={value}\n",
    ];
    let before = server.ok(&read);
    assert_eq!(before.lines().count(), 500);
    let (_, folder) = server.end(true);
    let server = Server::over(folder, "127.0.0.1:0");
    let after = server.ok(&read);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&before), sorted(&after));
    assert_eq!(server.end(false).0, Some(0));
}

#[test]
fn a_folder_that_is_in_use_is_refused() {
    let server = Server::start();
    let said = refused_over(server.data.path());
    assert!(said.contains("is in use by process") && said.contains("hint:"), "{said}");
}

/// What a server says that does not start over a folder.
fn refused_over(folder: &Path) -> String {
    let refused = Command::new(PROGRAM)
        .args(["dev", "--kafka", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data"])
        .arg(folder)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    String::from_utf8(refused.stderr).unwrap()
}

#[test]
fn a_folder_whose_metadata_is_lost_is_refused_and_its_records_stay() {
    let server = Server::start();
    server.ok(&["topic", "create", "t", "--partitions", "1"]);
    server.ok_with_input(&["produce", "t"], "one\ntwo\n");
    let (_, folder) = server.end(true);
    let moved = folder.path().join("elsewhere");
    std::fs::rename(folder.path().join("meta"), &moved).unwrap();
    let said = refused_over(folder.path());
    assert!(said.contains("metadata log is missing") && said.contains("hint:"), "{said}");
    std::fs::remove_dir_all(folder.path().join("meta")).unwrap();
    std::fs::rename(&moved, folder.path().join("meta")).unwrap();
    let server = Server::over(folder, "127.0.0.1:0");
    let read = server.ok(&["consume", "t", "--from-beginning", "--exit-at-end"]);
    assert_eq!(read.lines().count(), 2, "{read}");
}

#[test]
fn records_that_are_gone_are_told_by_partition_and_counted() {
    let server = Server::start();
    server.ok(&["topic", "create", "t", "--partitions", "1"]);
    server.ok_with_input(&["produce", "t"], "one\ntwo\n");
    let (_, folder) = server.end(true);
    for entry in std::fs::read_dir(folder.path().join("log")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let server = Server::over(folder, "127.0.0.1:0");
    let read = ["consume", "t", "--from-beginning", "--exit-at-end", "--timeout-ms", "1000"];
    let output = server.run(&read);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("fetch t-0 at offset 0: KAFKA_STORAGE_ERROR"), "{said}");
    assert!(said.contains("hint:"), "{said}");
    let metrics = server.get("/metrics");
    let failed = metrics.lines().find(|line| line.starts_with("tidemill_reads_failed_total "));
    assert!(failed.is_some_and(|line| !line.ends_with(" 0")), "{failed:?}");
}

#[test]
fn a_server_that_is_not_there_is_waited_for_in_words() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let list = |form: &str| {
        let output = Command::new(PROGRAM)
            .args(["topic", "list", "--timeout-ms", "2500", "--output", form, "--bootstrap"])
            .arg(&address)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = list("text");
    assert!(said.starts_with(&format!("waiting for {address}\n")), "{said}");
    assert!(list("json").starts_with('{'));
}

#[test]
fn listening_beyond_loopback_needs_a_word() {
    let refused = Command::new(PROGRAM).args(["dev", "--kafka", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--insecure"));
}

#[test]
fn health_and_readiness_are_told() {
    let server = Server::start();
    assert!(server.get("/healthz").starts_with("HTTP/1.1 200"));
    assert!(server.get("/readyz").ends_with("ready\n"));
}

#[test]
fn what_has_come_of_a_request_is_told_as_memory_held() {
    let server = Server::start();
    let held = || memory_held(&server, "partial_request");
    assert_eq!(held(), 0);
    let mut client = TcpStream::connect(&server.kafka).unwrap();
    let mut begun = 50_000u32.to_be_bytes().to_vec();
    begun.resize(20_000, 0);
    client.write_all(&begun).unwrap();
    assert!(becomes(|| held() >= 10_000), "{} bytes are told", held());
    drop(client);
    assert!(becomes(|| held() == 0), "{} bytes are told", held());
}

#[test]
fn metadata_that_is_not_saved_is_told_as_memory_held() {
    let server = Server::start();
    let mut topics = 0;
    // A save may come in between, so more than one try is allowed.
    assert!(becomes(|| {
        topics += 1;
        server.ok(&["topic", "create", &format!("t{topics}")]);
        memory_held(&server, "metadata_state_save") > 0
    }));
    assert!(becomes(|| memory_held(&server, "metadata_state_save") == 0));
}

/// What is held of a budget, as the server tells.
fn memory_held(server: &Server, budget: &str) -> u64 {
    let metrics = server.get("/metrics");
    let line = format!("tidemill_memory_bytes{{budget=\"{budget}\"}} ");
    let told = metrics.lines().find_map(|told| told.strip_prefix(&line)).unwrap();
    told.parse().unwrap()
}

/// Whether it is so within a while.
fn becomes(mut so: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        let is_so = so();
        if !is_so {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        is_so
    })
}

#[test]
fn a_damaged_saved_state_is_told_with_what_to_do() {
    let server = Server::start();
    server.ok(&["topic", "create", "t"]);
    let (_, folder) = server.end(false);
    let state = folder.path().join("meta/state.redb");
    std::fs::write(&state, "not a database").unwrap();
    let said = refused_over(folder.path());
    assert!(said.contains("state.redb") && said.contains("hint: nothing was changed"), "{said}");
    assert_eq!(std::fs::read(&state).unwrap(), b"not a database");
}

#[test]
fn exit_codes_tell_what_kind_of_failure_it_is() {
    let server = Server::start();
    let code = |arguments: &[&str]| server.run(arguments).status.code();
    assert_eq!(code(&["topic", "list"]), Some(0));
    assert_eq!(code(&["topic", "create", "bad name"]), Some(1));
    assert_eq!(code(&["topic", "create"]), Some(2));
    assert_eq!(code(&["consume", "t", "--format", "{nothing}"]), Some(2));
    assert_eq!(code(&["topic", "describe", "nothing"]), Some(3));
    assert_eq!(code(&["consume", "nothing", "--exit-at-end"]), Some(3));
    assert_eq!(code(&["consume", "nothing", "--group", "g"]), Some(3));
    server.ok(&["topic", "create", "t"]);
    assert_eq!(code(&["consume", "t", "--partition", "7"]), Some(3));
    let nowhere = ["topic", "list", "--bootstrap", "127.0.0.1:1", "--timeout-ms", "300"];
    let unavailable = server.run(&nowhere);
    assert_eq!(unavailable.status.code(), Some(4));
    assert!(String::from_utf8(unavailable.stderr).unwrap().contains("hint: is a server running"));
}

#[test]
fn a_printed_configuration_starts_a_server() {
    let printed = Command::new(PROGRAM).args(["server", "--print-config"]).output().unwrap();
    assert!(printed.status.success());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidemill.toml");
    std::fs::write(&file, &printed.stdout).unwrap();
    let again = Command::new(PROGRAM)
        .args(["server", "--print-config", "--config"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(again.stdout), String::from_utf8(printed.stdout));
}

#[test]
fn records_survive_the_way_through_json() {
    let server = Server::start();
    let lines = concat!(
        r#"{"key":"k","value":"v","headers":[{"name":"h","value":"1"}],"timestamp_ms":1700000000000}"#,
        "\n",
        r#"{"key":null,"value":{"base64":"/wCA"}}"#,
        "\n",
        r#"{"key":"k","value":null}"#,
        "\n"
    );
    server.ok_with_input(&["produce", "a", "--format", "json"], lines);
    let read = |topic: &str| {
        server.ok(&["consume", topic, "--from-beginning", "--exit-at-end", "--output", "json"])
    };
    let first = read("a");
    assert_eq!(first.lines().count(), 3);
    assert!(first.contains(r#"{"base64":"/wCA"}"#) && first.contains("1700000000000"), "{first}");
    server.ok_with_input(&["produce", "b", "--format", "json"], &first);
    assert_eq!(read("b").replace(r#""topic":"b""#, r#""topic":"a""#), first);
}

#[test]
fn a_producer_does_not_notice_a_stop_and_a_start() {
    const HALF: usize = 4_000;
    let server = Server::start();
    server.ok(&["topic", "create", "t", "--partitions", "4"]);
    let address = server.kafka.clone();
    let mut producer = Command::new(PROGRAM)
        .args(["produce", "t", "--bootstrap", &address])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = producer.stdin.take().unwrap();
    let mut write = |from: usize| {
        let lines: String = (from..from + HALF).map(|at| format!("value-{at}\n")).collect();
        input.write_all(lines.as_bytes()).unwrap();
    };
    write(0);
    let (code, folder) = server.end(false);
    assert_eq!(code, Some(0));
    write(HALF);
    let server = Server::over(folder, &address);
    drop(input);
    assert!(producer.wait().unwrap().success());
    let read = server.ok(&["consume", "t", "--from-beginning", "--exit-at-end"]);
    let values: BTreeSet<&str> = read.lines().collect();
    assert_eq!((read.lines().count(), values.len()), (2 * HALF, 2 * HALF));
}

#[test]
fn a_second_signal_ends_a_server_that_waits_for_a_client() {
    let mut server = Server::start();
    // A request of which only the beginning comes: a drain gives it some time.
    let mut half = TcpStream::connect(&server.kafka).unwrap();
    half.write_all(&[0, 0, 0, 50, 0, 18]).unwrap();
    // It has been accepted, and so has the half request, once another one was answered.
    server.ok(&["topic", "list"]);
    Server::signal(&server.child, Signal::TERM);
    while !server.get("/readyz").contains("stopping") {}
    Server::signal(&server.child, Signal::TERM);
    assert_eq!(server.child.wait().unwrap().code(), Some(1));
    assert_eq!(half.read(&mut [0; 16]).unwrap_or(0), 0);
}

#[test]
fn a_server_ends_with_its_parent_if_asked() {
    let mut server = Server::start();
    drop(server.child.stdin.take());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

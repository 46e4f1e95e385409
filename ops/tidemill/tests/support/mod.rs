//! A `tidemill dev` of the tests' own, and commands against it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The binary under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemill");

/// A running server with data in a temporary folder. It ends with the test, however that ends.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) kafka: String,
    pub(crate) http: String,
    pub(crate) data: tempfile::TempDir,
}

impl Server {
    /// Starts one on free ports and waits until it is ready.
    pub(crate) fn start() -> Self {
        Self::over(tempfile::tempdir().unwrap(), "127.0.0.1:0")
    }

    /// Starts one over a folder that exists, on this address.
    pub(crate) fn over(data: tempfile::TempDir, kafka: &str) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["dev", "--kafka", kafka, "--http", "127.0.0.1:0", "--stop-with-stdin"])
            .arg("--data")
            .arg(data.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let ready = loop {
            match lines.next() {
                Some(line) => said.push(line.unwrap()),
                None => panic!("the server ended: {said:#?}"),
            }
            if said.last().is_some_and(|line| line.starts_with("tidemill ready: ")) {
                break said.pop().unwrap();
            }
        };
        // What it says later must be read, or it would wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let word = |after: &str| {
            let words: Vec<&str> = ready.split(' ').collect();
            let at = words.iter().position(|word| *word == after).unwrap();
            words[at + 1].to_owned()
        };
        Self { child, kafka: word("kafka"), http: word("http"), data }
    }

    /// Runs a command against it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, "")
    }

    /// Runs a command against it, with something on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .env("TIDEMILL_BOOTSTRAP", &self.kafka)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed, and answers what it printed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.ok_with_input(arguments, "")
    }

    /// As [`Server::ok`], with something on its standard input.
    pub(crate) fn ok_with_input(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run_with_input(arguments, input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What an HTTP path answers: the whole answer.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends it a signal.
    pub(crate) fn signal(child: &Child, signal: Signal) {
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// Kills it, or asks it to stop; answers its exit code and gives back its folder.
    pub(crate) fn end(mut self, is_killed: bool) -> (Option<i32>, tempfile::TempDir) {
        Self::signal(&self.child, if is_killed { Signal::KILL } else { Signal::TERM });
        let code = self.child.wait().unwrap().code();
        (code, std::mem::replace(&mut self.data, tempfile::tempdir().unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

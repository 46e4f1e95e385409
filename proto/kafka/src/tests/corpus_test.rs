//! The fuzz corpus under `corpus/` is made here: a request and a response of every API in its highest
//! version, and the frames that once did harm elsewhere. Fuzzers start from these files.
//!
//! `TIDEMILL_WRITE_CORPUS=1 cargo test -p tidemill-kafka corpus` writes the files anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;

use crate::api::for_each_api;
use crate::fuzz::fuzz_frame;
use crate::message::Message;
use crate::messages::*;
use crate::tests::mutation_test::{request_frame, response_frame};
use crate::tests::sample::Sampler;

/// The longest file; small seeds make for fast fuzzing.
const FILE_BYTES_MAX: usize = 400;

/// ProduceRequest 9 whose body of 15 bytes announces 2^32 - 2 topics.
const FIFTEEN_BYTES: &[u8] = b"\x00\x00\x00\x09\x00\x00\x00\x01\xff\xff\x00\
    \x04abc\xff\xff\x00\x00\x05\xdc\xff\xff\xff\xff\x0f";

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The first sample that is short, but not the shortest there is.
fn short(make: impl Fn(&mut Sampler) -> Bytes) -> Bytes {
    (0..)
        .map(|seed| make(&mut Sampler::new(seed)))
        .find(|frame| frame.len() <= FILE_BYTES_MAX)
        .unwrap()
}

fn corpus() -> BTreeMap<String, Bytes> {
    let mut files = BTreeMap::new();
    files.insert("fifteen_bytes".to_owned(), Bytes::from_static(FIFTEEN_BYTES));
    macro_rules! add_all {
        ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {$(
            let version = *$request::VERSIONS.end();
            let name = |message: &str| format!("{message}_{version}");
            files.insert(name($request::NAME), short(|s| request_frame::<$request>(s, version)));
            files.insert(name($response::NAME), short(|s| response_frame::<$request>(s, version)));
        )*};
    }
    for_each_api!(add_all);
    files
}

#[test]
fn the_committed_corpus_is_what_is_made_here() {
    let directory = directory();
    if std::env::var_os("TIDEMILL_WRITE_CORPUS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        for (name, bytes) in corpus() {
            std::fs::write(directory.join(name), bytes).unwrap();
        }
    }
    let mut committed = BTreeMap::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        committed.insert(name, Bytes::from(std::fs::read(entry.path()).unwrap()));
    }
    assert_eq!(committed, corpus());
}

#[test]
fn the_corpus_reads() {
    corpus().values().for_each(|bytes| fuzz_frame(bytes));
}

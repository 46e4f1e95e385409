//! Replays the corpus and mutates it, with a seeded mutator.

use std::path::PathBuf;

use super::{fuzz_command, fuzz_snapshot, snapshot_bytes};
use crate::fixture_test::{samples, small_state};
use crate::harness::START;

/// Mutations of each run, unless `TIDEMILL_FUZZ_RUNS` says.
const MUTATIONS: usize = 20_000;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.below(256) as u8),
            4 if bytes.len() > 4 => {
                let at = random.below(bytes.len() - 4);
                let number = [0, 1, u32::MAX, i32::MAX as u32][random.below(4)];
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            _ if !bytes.is_empty() => {
                bytes.remove(at);
            }
            _ => bytes.push(0),
        }
    }
}

/// The committed corpus of a target; first writes the `seeds` that it lacks, if asked to (as for
/// the fixtures).
fn corpus(target: &str, seeds: Vec<(&str, Vec<u8>)>) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    if std::env::var_os("TIDEMILL_WRITE_FIXTURES").is_some() {
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for (name, bytes) in seeds {
            std::fs::write(folder.join(name), bytes).expect("the seed can be written");
        }
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the corpus is committed")
        .map(|file| file.expect("the folder can be read").path())
        .collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("the file can be read")).collect()
}

fn run(target: fn(&[u8]), corpus: &[Vec<u8>]) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    corpus.iter().for_each(|bytes| target(bytes));
    let asked = std::env::var("TIDEMILL_FUZZ_RUNS").ok();
    let runs = asked.and_then(|text| text.parse().ok()).unwrap_or(MUTATIONS);
    for _ in 0..runs {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        mutate(&mut bytes, &mut random);
        target(&bytes);
    }
}

#[test]
fn mutated_commands_are_refused_or_read() {
    let seeds = samples()
        .into_iter()
        .map(|(name, command)| (name, command.encode(START).to_vec()))
        .collect();
    let corpus = corpus("command", seeds);
    run(fuzz_command, &corpus);
}

#[test]
fn mutated_snapshots_are_refused_or_restored() {
    let seeds = vec![("small_state", snapshot_bytes(&small_state().snapshot()))];
    let corpus = corpus("snapshot", seeds);
    run(fuzz_snapshot, &corpus);
}

#[test]
fn the_smallest_inputs_are_refused() {
    for target in [fuzz_command, fuzz_snapshot] {
        (0..=255u8).for_each(|byte| target(&[byte, 1, byte, byte]));
        target(&[]);
    }
}

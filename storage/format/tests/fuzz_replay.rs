//! Goal: the fuzz targets hold on the committed corpus and what is near it. Method: every file as it
//! is, then with a few bytes changed by a generator with a fixed seed.

use tidemill_storage_format::fuzz::{fuzz_index_object, fuzz_log_object};

const MUTATIONS_PER_FILE: u32 = 20_000;

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.below(256) as u8),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            3 if at < bytes.len() => bytes[at] = [0, 0x7f, 0x80, 0xff][random.below(4)],
            _ => {
                bytes.pop();
            }
        }
    }
}

fn replay(folder: &str, target: fn(&[u8])) {
    let folder = format!("{}/fixtures/corpus/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is committed")
        .map(|entry| entry.expect("the corpus can be read").path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut random = Random(0x71de_3111);
    for file in files {
        let original = std::fs::read(&file).expect("the corpus can be read");
        target(&original);
        for _ in 0..MUTATIONS_PER_FILE {
            let mut bytes = original.clone();
            mutate(&mut bytes, &mut random);
            target(&bytes);
        }
    }
}

#[test]
fn log_objects_of_the_corpus_and_their_neighbours_are_read_without_panic() {
    replay("log-object", fuzz_log_object);
}

#[test]
fn index_objects_of_the_corpus_and_their_neighbours_are_read_without_panic() {
    replay("index-object", fuzz_index_object);
}

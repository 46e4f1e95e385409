//! What decides stays pure: no file, socket, thread, environment or clock, and no order by chance.
//!
//! Dependencies are the business of `deps`; this is about the standard library, which every crate has.

use super::finding::Finding;
use super::tree::{RustFile, Tree};
use crate::deps::layers::{CRATES, Part};
use crate::rust_source::find_sequences;

const OUTSIDE: &str = "a pure part does not reach outside: the caller reads and writes";
const CLOCK: &str = "a pure part has no clock: time is an argument";
const ORDER: &str = "the order of a default hasher is chance: use an ordered map or a fixed seed";

/// Sequences of tokens, and why they may not stand in a pure crate.
const FORBIDDEN: &[(&[&str], &str)] = &[
    (&["std", ":", ":", "fs"], OUTSIDE),
    (&["std", ":", ":", "env"], OUTSIDE),
    (&["std", ":", ":", "process"], OUTSIDE),
    (&["std", ":", ":", "thread"], OUTSIDE),
    (&["TcpStream"], OUTSIDE),
    (&["TcpListener"], OUTSIDE),
    (&["UdpSocket"], OUTSIDE),
    (&["SystemTime"], CLOCK),
    (&["Instant"], CLOCK),
    (&["RandomState"], ORDER),
    (&["HashMap", ":", ":", "new"], ORDER),
    (&["HashMap", ":", ":", "with_capacity"], ORDER),
    (&["HashSet", ":", ":", "new"], ORDER),
    (&["HashSet", ":", ":", "with_capacity"], ORDER),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|file| is_pure(&file.path)).flat_map(check_file).collect()
}

fn is_pure(path: &str) -> bool {
    let pure = CRATES.iter().filter(|layer| layer.part == Part::Decides);
    pure.into_iter().any(|layer| path.starts_with(&format!("{}/src/", layer.folder)))
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (sequence, why) in FORBIDDEN {
        for index in find_sequences(&file.tokens, sequence) {
            let line = file.tokens[index].line;
            if !file.is_test_line(line) {
                let message = format!("`{}`: {why}", sequence.concat());
                findings.push(Finding::at(&file.path, line, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaching_outside_is_found_in_pure_crates_only() {
        let text = "use std::fs;\nfn a() { HashMap::new(); }\n// Instant\n";
        let tree = Tree::of(&[("metadata/state/src/x.rs", text), ("metadata/raft/src/x.rs", text)]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        let path = "metadata/state/src/x.rs".to_owned();
        assert_eq!(found, [(path.clone(), 1), (path, 2)]);
    }

    #[test]
    fn tests_of_pure_crates_may_read_fixtures() {
        let text = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(check(&Tree::of(&[("metadata/state/src/x.rs", text)])), []);
    }
}

//! Enums that are written to disk or to the network have their numbers in the source.
//!
//! The comment `// persisted` above an enum (on a line of its own, more text may follow) asks for it.

use super::finding::Finding;
use super::tree::{RustFile, Tree};
use crate::rust_source::variants_of_enum_after;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, _) in file.text.lines().enumerate().filter(|(_, line)| is_marker(line)) {
        match variants_of_enum_after(&file.tokens, index + 1) {
            None => findings.push(Finding::at(&file.path, index + 1, "no enum follows the marker")),
            Some(variants) => {
                for (name, line, _) in variants.into_iter().filter(|(_, _, numbered)| !numbered) {
                    let message =
                        format!("persisted variant {name} needs its number: `{name} = N`");
                    findings.push(Finding::at(&file.path, line, message));
                }
            }
        }
    }
    findings
}

fn is_marker(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("// persisted");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_enum_needs_its_numbers() {
        let text = "// persisted: never renumber\n#[repr(u8)]\nenum A {\n    B = 1,\n    C,\n}\nenum D { E }\n";
        let tree = Tree::of(&[("a/src/x.rs", text)]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| f.line).collect();
        assert_eq!(found, [5]);
    }

    #[test]
    fn a_marker_above_nothing_is_found() {
        let tree = Tree::of(&[("a/src/x.rs", "enum A { B }\n// persisted\nstruct C;\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}

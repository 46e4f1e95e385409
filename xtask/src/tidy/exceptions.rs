//! An exception from a lint is expected and has its reason: `#[expect(lint, reason = "...")]`.
//!
//! `allow` outlives what it was for; `expect` is an error as soon as it excuses nothing.

use super::finding::Finding;
use super::tree::{RustFile, Tree};
use crate::rust_source::{find_sequences, matching_close};

/// How an attribute begins, for an item and for a whole file.
const ATTRIBUTES: [&[&str]; 2] = [&["#", "["], &["#", "!", "["]];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for attribute in ATTRIBUTES {
        for index in find_sequences(&file.tokens, attribute) {
            let open = index + attribute.len() - 1;
            let body = &file.tokens[open + 1..=matching_close(&file.tokens, open)];
            let Some(name) = body.first() else { continue };
            let has_reason = body.iter().any(|token| token.text == "reason");
            let message = match name.text.as_str() {
                "allow" => "write `expect` with a reason, not `allow`",
                "expect" if !has_reason => "an exception needs its reason",
                _ => continue,
            };
            findings.push(Finding::at(&file.path, name.line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_without_a_reason_are_found() {
        let text = "#![allow(a)]\n#[expect(b)]\nfn f() {}\n\
                    #[expect(c, reason = \"r\")]\nfn g() { h.expect(\"allow\") }\n";
        let lines: Vec<_> =
            check(&Tree::of(&[("a/src/x.rs", text)])).into_iter().map(|f| f.line).collect();
        assert_eq!(lines, [2, 1]);
    }
}

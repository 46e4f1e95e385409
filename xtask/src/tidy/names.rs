//! A module is named after what is in it, and these names fit anything.

use super::finding::Finding;
use super::tree::{RustFile, Tree};

const BANNED: [&str; 8] =
    ["utils", "util", "common", "types", "impls", "helpers", "helper", "misc"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = file.path.trim_end_matches(".rs");
    if let Some(name) = path.split('/').find(|part| BANNED.contains(part)) {
        findings.push(Finding::about(&file.path, message(name)));
    }
    for pair in file.tokens.windows(3) {
        let [keyword, name, open] = pair else { continue };
        let is_module = keyword.text == "mod" && open.text == "{";
        if is_module && BANNED.contains(&name.text.as_str()) {
            findings.push(Finding::at(&file.path, name.line, message(&name.text)));
        }
    }
    findings
}

fn message(name: &str) -> String {
    format!("module `{name}` says nothing: put each thing with its noun")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fit_anything_are_found_in_paths_and_in_files() {
        let tree = Tree::of(&[
            ("a/src/utils.rs", ""),
            ("a/src/common/x.rs", ""),
            ("a/src/ok.rs", "mod helpers {\n}\n"),
            ("a/src/commonly.rs", "mod log;"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        assert_eq!(
            found,
            [
                ("a/src/common/x.rs".to_owned(), 0),
                ("a/src/ok.rs".to_owned(), 1),
                ("a/src/utils.rs".to_owned(), 0),
            ]
        );
    }
}

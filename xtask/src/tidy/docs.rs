//! Every crate says on one page what it is, and every file opens with its idea.

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in tree.crate_folders() {
        let readme = format!("{folder}/README.md");
        if tree.texts.get(&readme).is_none_or(|text| text.trim().is_empty()) {
            findings.push(Finding::about(&readme, "missing: every crate has a README"));
        }
    }
    for file in &tree.rust {
        if !file.text.lines().any(|line| line.starts_with("//!")) {
            findings.push(Finding::about(&file.path, "no `//!`: say the idea of the file"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_a_readme_and_a_file_without_an_idea_are_found() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "/// Doc of an item.\nfn a() {}\n"),
            ("b/Cargo.toml", ""),
            ("b/README.md", "# b\n"),
            ("b/src/lib.rs", "#![allow(x)]\n//! The idea.\n"),
        ]);
        let paths: Vec<_> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["a/README.md", "a/src/lib.rs"]);
    }
}

//! Work that was put off: marks in comments, bodies not written, tests switched off.

use super::finding::Finding;
use super::tree::{RustFile, Tree};
use crate::rust_source::find_sequences;

/// Words that mark work put off. Written so that this file does not find itself.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Text that may name the marks: prose, and lists made by tools.
const PROSE: [&str; 4] = [".md", ".lock", ".sum", "package-lock.json"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &tree.texts {
        if !PROSE.iter().any(|suffix| path.ends_with(suffix)) {
            findings.extend(marks(path, text));
        }
    }
    findings.extend(tree.rust.iter().flat_map(code));
    findings
}

fn marks(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(mark) = words.find(|word| MARKS.contains(word)) {
            let message = format!("{mark}: do it now or file an issue");
            findings.push(Finding::at(path, index + 1, message));
        }
    }
    findings
}

fn code(file: &RustFile) -> Vec<Finding> {
    let forbidden: [(&[&str], &str); 3] = [
        (&["todo", "!"], "a body that is not written"),
        (&["unimplemented", "!"], "a body that is not written"),
        (&["#", "[", "ignore"], "a test that is switched off"),
    ];
    let mut findings = Vec::new();
    for (sequence, message) in forbidden {
        for index in find_sequences(&file.tokens, sequence) {
            findings.push(Finding::at(&file.path, file.tokens[index].line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_put_off_is_found() {
        let text = format!("// {}: later\nfn a() {{ todo!() }}\n#[ignore = \"slow\"]\n", MARKS[0]);
        let tree = Tree::of(&[("a/src/x.rs", &text), ("run.py", &format!("# {}", MARKS[1]))]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        let expected = [("a/src/x.rs", 1), ("run.py", 1), ("a/src/x.rs", 2), ("a/src/x.rs", 3)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn prose_words_and_literals_are_not_work_put_off() {
        let prose = format!("no {} here", MARKS[0]);
        let tree = Tree::of(&[
            ("a.md", &prose),
            ("a/src/x.rs", "fn a() { let todo = \"todo!()\"; ignore(todo); }"),
        ]);
        assert_eq!(check(&tree), []);
    }
}

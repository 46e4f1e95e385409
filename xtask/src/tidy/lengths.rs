//! Files and functions stay short enough to be read in one go.

use super::allow::{ALLOW_PATH, Allowed};
use super::finding::Finding;
use super::tree::{RustFile, Tree};
use crate::rust_source::{Function, functions};

/// Lines of a file without its tests.
pub(crate) const FILE_LINES_MAX: usize = 800;
/// Lines of a function. Longer ones are listed with a reason.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;
/// Lines of a function that no reason excuses.
const FUNCTION_LINES_HARD_MAX: usize = 150;

pub(super) fn check(tree: &Tree, allowed: &Allowed) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.rust {
        findings.extend(check_file(file));
        for function in functions(&file.tokens) {
            findings.extend(check_function(&file.path, &function, allowed));
        }
    }
    findings.extend(stale_entries(tree, allowed));
    findings
}

fn check_file(file: &RustFile) -> Option<Finding> {
    let lines = file.lines_without_tests();
    (lines > FILE_LINES_MAX).then(|| {
        Finding::about(&file.path, format!("{lines} lines without tests, {FILE_LINES_MAX} at most"))
    })
}

fn check_function(path: &str, function: &Function, allowed: &Allowed) -> Option<Finding> {
    let lines = function.lines;
    let entry = allowed.function(path, &function.name);
    let max = entry.map_or(FUNCTION_LINES_MAX, |e| e.lines.min(FUNCTION_LINES_HARD_MAX));
    (lines > max).then(|| {
        let message = format!("fn {} has {lines} lines, {max} at most", function.name);
        Finding::at(path, function.line, message)
    })
}

/// Entries that excuse nothing any more: the ratchet only tightens.
fn stale_entries(tree: &Tree, allowed: &Allowed) -> Vec<Finding> {
    let is_long = |file: &str, name: &str| {
        tree.rust.iter().filter(|f| f.path == file).any(|f| {
            functions(&f.tokens).iter().any(|f| f.name == name && f.lines > FUNCTION_LINES_MAX)
        })
    };
    let stale = allowed.functions.iter().filter(|entry| !is_long(&entry.file, &entry.name));
    stale
        .map(|entry| {
            let message = format!("{} fn {} is short or gone: remove it", entry.file, entry.name);
            Finding::about(ALLOW_PATH, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::allow::AllowedFunction;
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn f() {{{}}}\n", "\n".repeat(lines - 1))
    }

    fn allow(lines: usize) -> Allowed {
        let entry = AllowedFunction {
            file: "a/src/x.rs".to_owned(),
            name: "f".to_owned(),
            lines,
            reason: "a table".to_owned(),
        };
        Allowed { functions: vec![entry] }
    }

    fn messages(text: &str, allowed: &Allowed) -> Vec<String> {
        let tree = Tree::of(&[("a/src/x.rs", text)]);
        check(&tree, allowed).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_function_at_the_limit_passes_and_one_line_more_fails() {
        let none = Allowed::default();
        assert_eq!(messages(&function(70), &none), Vec::<String>::new());
        assert_eq!(messages(&function(71), &none), ["fn f has 71 lines, 70 at most"]);
    }

    #[test]
    fn a_listed_function_may_not_grow() {
        assert_eq!(messages(&function(90), &allow(90)), Vec::<String>::new());
        assert_eq!(messages(&function(91), &allow(90)), ["fn f has 91 lines, 90 at most"]);
    }

    #[test]
    fn no_reason_excuses_a_giant() {
        assert_eq!(messages(&function(151), &allow(500)), ["fn f has 151 lines, 150 at most"]);
    }

    #[test]
    fn an_entry_that_excuses_nothing_is_stale() {
        let found = messages(&function(10), &allow(90));
        assert_eq!(found, ["a/src/x.rs fn f is short or gone: remove it"]);
    }

    #[test]
    fn a_file_is_measured_without_its_tests() {
        let none = Allowed::default();
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// x\n".repeat(900));
        assert_eq!(messages(&format!("{}{tests}", "// x\n".repeat(800)), &none).len(), 0);
        assert_eq!(messages(&"// x\n".repeat(801), &none).len(), 1);
    }
}

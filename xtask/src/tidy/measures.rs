//! The measures that are reported and not enforced, one line.

use std::fmt;

use super::lengths::FUNCTION_LINES_MAX;
use super::tree::Tree;
use crate::rust_source::functions;

/// The shape of the Rust code without tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Measures {
    files: usize,
    lines_median: usize,
    lines_p90: usize,
    lines_max: usize,
    longest_path: String,
    functions: usize,
    long_functions: usize,
    doc_percent: usize,
}

impl Measures {
    /// Measures every file that is not all test code.
    pub(crate) fn of(tree: &Tree) -> Self {
        let files: Vec<_> = tree.rust.iter().filter(|file| !file.is_test).collect();
        let mut lengths: Vec<_> =
            files.iter().map(|file| (file.lines_without_tests(), file.path.as_str())).collect();
        lengths.sort_unstable();
        let at = |percent: usize| {
            lengths.get(lengths.len().saturating_sub(1) * percent / 100).map_or(0, |l| l.0)
        };
        let functions: Vec<_> = files.iter().flat_map(|file| functions(&file.tokens)).collect();
        let total: usize = lengths.iter().map(|length| length.0).sum();
        let docs: usize = files.iter().map(|file| doc_lines(&file.text)).sum();
        Self {
            files: files.len(),
            lines_median: at(50),
            lines_p90: at(90),
            lines_max: at(100),
            longest_path: lengths.last().map_or_else(String::new, |l| l.1.to_owned()),
            functions: functions.len(),
            long_functions: functions.iter().filter(|f| f.lines > FUNCTION_LINES_MAX).count(),
            doc_percent: docs * 100 / total.max(1),
        }
    }
}

fn doc_lines(text: &str) -> usize {
    let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
    text.lines().filter(|line| is_doc(line.trim_start())).count()
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} files, lines without tests: median {}, p90 {}, max {} ({}); {} functions, {} over \
             {FUNCTION_LINES_MAX} lines; {} % doc lines",
            self.files,
            self.lines_median,
            self.lines_p90,
            self.lines_max,
            self.longest_path,
            self.functions,
            self.long_functions,
            self.doc_percent,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_left_out_and_percentiles_are_of_the_rest() {
        let files: Vec<(String, String)> =
            (1..=11).map(|n| (format!("a/src/f{n:02}.rs"), "//! x\n".repeat(n))).collect();
        let mut borrowed: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let long_test = "fn t() {}\n".repeat(500);
        borrowed.push(("a/tests/t.rs", &long_test));
        let measures = Measures::of(&Tree::of(&borrowed));
        assert_eq!((measures.files, measures.functions), (11, 0));
        assert_eq!((measures.lines_median, measures.lines_p90, measures.lines_max), (6, 10, 11));
        assert_eq!(measures.longest_path, "a/src/f11.rs");
        assert_eq!(measures.doc_percent, 100);
    }

    #[test]
    fn an_empty_tree_has_measures() {
        assert_eq!(Measures::of(&Tree::of(&[])).lines_max, 0);
    }
}

//! The files of the repository, read once, with Rust files as tokens.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::rust_source::{TestCode, Token, test_code, tokenize};
use crate::workspace::Workspace;

/// Longer files are data, and no check reads them.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Everything that the checks look at.
pub(crate) struct Tree {
    /// Every path below the root, also of files that are no text.
    pub(crate) paths: BTreeSet<String>,
    /// Text files by path, Rust files among them.
    pub(crate) texts: BTreeMap<String, String>,
    /// Rust files in the order of their paths.
    pub(crate) rust: Vec<RustFile>,
}

/// One Rust file.
pub(crate) struct RustFile {
    /// Path below the root.
    pub(crate) path: String,
    /// The text as it is.
    pub(crate) text: String,
    /// The code in it.
    pub(crate) tokens: Vec<Token>,
    /// The test code in it.
    pub(crate) test_code: TestCode,
    /// Whether the whole file is test code: an integration test, or a module that its parent
    /// declares under `#[cfg(test)]`.
    pub(crate) is_test: bool,
}

impl RustFile {
    /// Number of lines that are not test code.
    pub(crate) fn lines_without_tests(&self) -> usize {
        if self.is_test {
            return 0;
        }
        let lines = self.text.lines().count();
        (1..=lines).filter(|line| !self.test_code.has_line(*line)).count()
    }

    /// Whether the code at `line` is test code.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.test_code.has_line(line)
    }
}

impl Tree {
    /// Reads the repository.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let mut files = Vec::new();
        for path in workspace.files()? {
            let bytes = std::fs::read(workspace.root().join(&path))
                .with_context(|| format!("read {path}"))?;
            files.push((path, bytes));
        }
        Ok(Self::from_files(files))
    }

    fn from_files(files: Vec<(String, Vec<u8>)>) -> Self {
        let mut paths = BTreeSet::new();
        let mut texts = BTreeMap::new();
        for (path, bytes) in files {
            paths.insert(path.clone());
            if bytes.len() <= TEXT_BYTES_MAX
                && let Ok(text) = String::from_utf8(bytes)
            {
                texts.insert(path, text);
            }
        }
        let rust = rust_files(&texts);
        Self { paths, texts, rust }
    }

    /// A tree of (path, text), for tests of the checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let owned = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self::from_files(owned.collect())
    }

    /// Folders that hold a crate: a manifest beside `src`.
    pub(crate) fn crate_folders(&self) -> Vec<&str> {
        let folders = self.paths.iter().filter_map(|path| path.strip_suffix("/Cargo.toml"));
        folders
            .filter(|folder| {
                let src = format!("{folder}/src/");
                self.paths.iter().any(|path| path.starts_with(&src))
            })
            .collect()
    }
}

fn rust_files(texts: &BTreeMap<String, String>) -> Vec<RustFile> {
    let mut files: Vec<RustFile> = texts
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| {
            let tokens = tokenize(text);
            let test_code = test_code(&tokens);
            let is_test = is_integration_test(path);
            RustFile { path: path.clone(), text: text.clone(), tokens, test_code, is_test }
        })
        .collect();
    let test_modules: Vec<String> = files.iter().flat_map(test_module_paths).collect();
    for file in &mut files {
        let stem = file.path.trim_end_matches(".rs");
        file.is_test |= test_modules
            .iter()
            .any(|module| stem == module || stem.starts_with(&format!("{module}/")));
    }
    files
}

/// `CRATE/tests/x.rs` and what lies below. The crate in the top-level folder `tests` is no test of
/// another one: it is a program, and held to the same measures.
fn is_integration_test(path: &str) -> bool {
    path.split('/').skip(1).any(|part| part == "tests") && !path.contains("/src/")
}

/// Paths without `.rs` of the modules that `file` declares as test code.
fn test_module_paths(file: &RustFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let base = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    file.test_code
        .child_modules
        .iter()
        .flat_map(|module| [format!("{base}/{module}"), format!("{base}/{module}/mod")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_files(tree: &Tree) -> Vec<&str> {
        tree.rust.iter().filter(|file| file.is_test).map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn test_modules_are_found_through_their_parents() {
        let tree = Tree::of(&[
            ("a/src/lib.rs", "#[cfg(test)]\nmod checks;\nmod log;"),
            ("a/src/checks.rs", ""),
            ("a/src/checks/deep.rs", ""),
            ("a/src/log.rs", "#[cfg(test)]\nmod log_test;"),
            ("a/src/log/log_test.rs", ""),
        ]);
        assert_eq!(
            test_files(&tree),
            ["a/src/checks.rs", "a/src/checks/deep.rs", "a/src/log/log_test.rs"]
        );
    }

    #[test]
    fn integration_tests_are_tests_but_the_crate_of_suites_is_not() {
        let tree = Tree::of(&[
            ("a/b/tests/golden.rs", ""),
            ("a/b/tests/golden/part.rs", ""),
            ("tests/src/main.rs", ""),
            ("tests/tests/x.rs", ""),
        ]);
        assert_eq!(
            test_files(&tree),
            ["a/b/tests/golden.rs", "a/b/tests/golden/part.rs", "tests/tests/x.rs"]
        );
    }

    #[test]
    fn lines_of_inline_tests_do_not_count() {
        let tree = Tree::of(&[("a/src/x.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n")]);
        assert_eq!(tree.rust[0].lines_without_tests(), 2);
    }

    #[test]
    fn a_crate_is_a_manifest_beside_source() {
        let tree = Tree::of(&[
            ("Cargo.toml", ""),
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", ""),
            ("b/Cargo.toml", ""),
        ]);
        assert_eq!(tree.crate_folders(), ["a"]);
    }

    #[test]
    fn bytes_that_are_no_text_have_a_path_only() {
        let tree = Tree::from_files(vec![("x.bin".to_owned(), vec![0xff, 0xfe])]);
        assert!(tree.paths.contains("x.bin"));
        assert!(tree.texts.is_empty());
    }
}

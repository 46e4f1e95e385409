//! Which lines of a file are test code, and which child modules are.

use std::ops::RangeInclusive;

use super::tokens::{Token, matching_close};

/// The test code that one file declares.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCode {
    /// Lines of items under `#[cfg(test)]`, attribute included.
    pub(crate) lines: Vec<RangeInclusive<usize>>,
    /// Names of modules declared as `#[cfg(test)] mod name;`, which lie in other files.
    pub(crate) child_modules: Vec<String>,
}

impl TestCode {
    /// Whether `line` is test code.
    pub(crate) fn has_line(&self, line: usize) -> bool {
        self.lines.iter().any(|range| range.contains(&line))
    }
}

/// Finds items under `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub(crate) fn test_code(tokens: &[Token]) -> TestCode {
    let mut found = TestCode::default();
    let mut at = 0;
    while at < tokens.len() {
        if !is_test_attribute(&tokens[at..]) {
            at += 1;
            continue;
        }
        let start = tokens[at].line;
        let item = skip_attributes(tokens, at);
        let end = item_end(tokens, item);
        found.child_modules.extend(child_module(&tokens[item..=end]));
        found.lines.push(start..=tokens[end].line);
        at = end + 1;
    }
    found
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let starts_with = |wanted: &[&str]| {
        tokens.len() > wanted.len() && tokens.iter().zip(wanted).all(|(t, w)| t.text == *w)
    };
    starts_with(&["#", "[", "cfg", "(", "test", ")"])
        || starts_with(&["#", "[", "cfg", "(", "all", "(", "test"])
}

fn skip_attributes(tokens: &[Token], from: usize) -> usize {
    let mut at = from;
    while at + 1 < tokens.len() && tokens[at].text == "#" && tokens[at + 1].text == "[" {
        at = matching_close(tokens, at + 1) + 1;
    }
    at.min(tokens.len() - 1)
}

/// The token that ends the item: its `;`, or the `}` of its first block.
fn item_end(tokens: &[Token], from: usize) -> usize {
    let mut at = from;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            ";" => return at,
            "{" => return matching_close(tokens, at),
            "(" | "[" => at = matching_close(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len() - 1
}

fn child_module(item: &[Token]) -> Option<String> {
    let last = item.last()?;
    let keyword = item.iter().position(|token| token.text == "mod")?;
    (last.text == ";").then(|| item.get(keyword + 1).map(|name| name.text.clone()))?
}

#[cfg(test)]
mod tests {
    use super::super::tokenize;
    use super::*;

    fn found(source: &str) -> TestCode {
        test_code(&tokenize(source))
    }

    #[test]
    fn an_inline_test_module_is_test_code_to_its_last_brace() {
        let code = found("fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");
        assert_eq!(code.lines, [2..=5]);
        assert!(code.child_modules.is_empty());
    }

    #[test]
    fn a_declared_test_module_names_its_child() {
        let code = found("#[cfg(test)]\n#[path = \"x.rs\"]\nmod log_test;\nfn a() {}\n");
        assert_eq!(code.child_modules, ["log_test"]);
        assert_eq!(code.lines, [1..=3]);
    }

    #[test]
    fn other_conditions_are_not_test_code() {
        assert_eq!(found("#[cfg(not(test))]\nfn a() {}"), TestCode::default());
        assert_eq!(found("#[cfg(feature = \"test\")]\nfn a() {}"), TestCode::default());
    }

    #[test]
    fn test_only_helpers_count() {
        assert_eq!(found("#[cfg(all(test, unix))]\nuse a::b;\n").lines, [1..=2]);
    }

    #[test]
    fn a_file_that_ends_early_does_no_harm() {
        for source in ["#[cfg(test)]", "#[cfg(test)", "#[cfg(test)] mod", "#[cfg(test)] mod a {"] {
            found(source);
        }
    }
}

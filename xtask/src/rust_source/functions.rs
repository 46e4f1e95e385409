//! Functions and their lengths.

use super::tokens::{Token, matching_close};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name, without the type it belongs to.
    pub(crate) name: String,
    /// The line of `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace, both counted. A nested function counts for itself and
    /// for the one around it.
    pub(crate) lines: usize,
}

/// The functions of a file in the order of their first lines.
pub(crate) fn functions(tokens: &[Token]) -> Vec<Function> {
    let mut found = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        // `fn(u8)` is a type, `fn name` a function.
        if keyword.text != "fn" || !name.is_word() {
            continue;
        }
        if let Some(open) = body_open(tokens, index + 2) {
            let close = &tokens[matching_close(tokens, open)];
            let lines = close.line - keyword.line + 1;
            found.push(Function { name: name.text.clone(), line: keyword.line, lines });
        }
    }
    found
}

/// The brace that opens the body, or none for a declaration that ends in `;`.
fn body_open(tokens: &[Token], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            "(" | "[" => at = matching_close(tokens, at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tokenize;
    use super::*;

    fn measured(source: &str) -> Vec<(String, usize, usize)> {
        functions(&tokenize(source)).into_iter().map(|f| (f.name, f.line, f.lines)).collect()
    }

    #[test]
    fn length_runs_from_the_keyword_to_the_closing_brace() {
        let source =
            "\n/// Doc.\npub async fn a(\n    x: [u8; 4],\n) -> u8 {\n    x[0]\n}\nfn b() {}\n";
        assert_eq!(measured(source), [("a".to_owned(), 3, 5), ("b".to_owned(), 8, 1)]);
    }

    #[test]
    fn declarations_and_function_types_have_no_length() {
        assert_eq!(measured("trait T { fn a(&self); }\ntype F = fn(u8) -> u8;"), []);
    }

    #[test]
    fn braces_in_strings_comments_and_characters_do_not_count() {
        let source = "fn a() {\n    let s = \"}\";\n    // }\n    let c = '}';\n}\n";
        assert_eq!(measured(source), [("a".to_owned(), 1, 5)]);
    }

    #[test]
    fn nested_functions_are_measured_too() {
        let source = "fn a() {\n    fn b() {\n    }\n}\n";
        assert_eq!(measured(source), [("a".to_owned(), 1, 4), ("b".to_owned(), 2, 2)]);
    }
}

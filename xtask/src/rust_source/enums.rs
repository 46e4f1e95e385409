//! The variants of an enum, and whether each has a number of its own.

use super::tokens::{Token, matching_close};

/// The variants of the first enum that begins at or after `line`, as (name, line, has a
/// discriminant). None if there is no such enum.
pub(crate) fn variants_of_enum_after(
    tokens: &[Token],
    line: usize,
) -> Option<Vec<(String, usize, bool)>> {
    let keyword = tokens.iter().position(|token| token.line >= line && token.text == "enum")?;
    let open = keyword + tokens[keyword..].iter().position(|token| token.text == "{")?;
    let close = matching_close(tokens, open);
    let mut variants = Vec::new();
    let mut at = open + 1;
    while at < close {
        match tokens[at].text.as_str() {
            "#" => at = matching_close(tokens, at + 1),
            _ if tokens[at].is_word() => {
                let end = variant_end(tokens, at, close);
                let numbered = has_discriminant(&tokens[at..end]);
                variants.push((tokens[at].text.clone(), tokens[at].line, numbered));
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    Some(variants)
}

/// The index of the comma that ends the variant at `from`, or `close`.
fn variant_end(tokens: &[Token], from: usize, close: usize) -> usize {
    let mut at = from;
    while at < close {
        match tokens[at].text.as_str() {
            "," => return at,
            "(" | "[" | "{" => at = matching_close(tokens, at),
            _ => {}
        }
        at += 1;
    }
    close
}

/// Whether `=` stands outside the variant's own fields.
fn has_discriminant(variant: &[Token]) -> bool {
    let mut at = 0;
    while let Some(token) = variant.get(at) {
        match token.text.as_str() {
            "=" => return true,
            "(" | "{" => at = matching_close(variant, at),
            _ => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::tokenize;
    use super::*;

    #[test]
    fn variants_with_and_without_numbers_are_told_apart() {
        let source = "enum Other { X }\n// here\nenum Kind {\n    #[doc(alias = \"a\")]\n    A = 1,\n    B(u8, u16) = 2,\n    C { at: u8 },\n    D\n}\n";
        let variants = variants_of_enum_after(&tokenize(source), 2).unwrap();
        let found: Vec<_> = variants.iter().map(|(n, l, d)| (n.as_str(), *l, *d)).collect();
        assert_eq!(found, [("A", 5, true), ("B", 6, true), ("C", 7, false), ("D", 8, false)]);
    }

    #[test]
    fn no_enum_after_the_line_is_none() {
        assert_eq!(variants_of_enum_after(&tokenize("enum A { X }\n"), 2), None);
    }
}

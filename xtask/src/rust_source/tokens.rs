//! Tokens, and the two ways the checks walk them: exact sequences and matching brackets.

/// A word (identifier, keyword, number, lifetime), one punctuation character, or the stand-in `""`
/// for any string or character literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The line it begins on, from 1.
    pub(crate) line: usize,
    /// Its text.
    pub(crate) text: String,
}

impl Token {
    /// Whether it begins like an identifier.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Where `wanted` occurs in a row. The indexes are of the first token of each place.
pub(crate) fn find_sequences<'a>(
    tokens: &'a [Token],
    wanted: &'a [&'a str],
) -> impl Iterator<Item = usize> + 'a {
    tokens
        .windows(wanted.len())
        .enumerate()
        .filter(move |(_, window)| {
            window.iter().zip(wanted).all(|(token, text)| token.text == *text)
        })
        .map(|(index, _)| index)
}

/// The index of the bracket that closes the one at `open`. The last token if none does.
pub(crate) fn matching_close(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

//! Source text to tokens: comments vanish, literals become `""`.

use super::tokens::Token;

/// The tokens of `source`. Unterminated comments and literals run to the end of the text.
pub(crate) fn tokenize(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0, line: 1, tokens: Vec::new() };
    while let Some(c) = lexer.peek(0) {
        lexer.step(c);
    }
    lexer.tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn step(&mut self, c: char) {
        let next = self.peek(1);
        match c {
            '/' if next == Some('/') => self.skip_line_comment(),
            '/' if next == Some('*') => self.skip_block_comment(),
            '"' => self.quoted('"'),
            '\'' => self.quote_or_lifetime(),
            _ if is_word_char(c) => self.word(),
            _ => {
                if !c.is_whitespace() {
                    self.push(c.to_string());
                }
                self.advance();
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Moves past one character. Every move goes through here, so that lines are counted once.
    fn advance(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn push(&mut self, text: String) {
        self.tokens.push(Token { line: self.line, text });
    }

    fn skip_line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.advance();
        }
    }

    /// Block comments nest.
    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.advance();
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    self.advance();
                }
                (None, _) => return,
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return;
            }
        }
    }

    /// A literal between two `quote`s with backslash escapes.
    fn quoted(&mut self, quote: char) {
        self.push("\"\"".to_owned());
        self.advance();
        while let Some(c) = self.advance() {
            if c == '\\' {
                self.advance();
            } else if c == quote {
                return;
            }
        }
    }

    /// `'a'` and `'\n'` are literals, `'a` and `'_` are lifetimes.
    fn quote_or_lifetime(&mut self) {
        if self.peek(1) == Some('\\') || self.peek(2) == Some('\'') {
            self.quoted('\'');
            return;
        }
        let start = self.at;
        let line = self.line;
        self.advance();
        while self.peek(0).is_some_and(is_word_char) {
            self.advance();
        }
        let text = self.chars[start..self.at].iter().collect();
        self.tokens.push(Token { line, text });
    }

    /// A word, or the literal that its letters are the prefix of.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_word_char) {
            self.advance();
        }
        let text: String = self.chars[start..self.at].iter().collect();
        match text.as_str() {
            "r" | "br" | "cr" if self.raw_literal() => {}
            "b" | "c" if self.peek(0) == Some('"') => self.quoted('"'),
            "b" if self.peek(0) == Some('\'') => self.quoted('\''),
            _ => self.push(text),
        }
    }

    /// The rest of a raw literal after its letters. False, and nothing moved, if there is none, as in
    /// the raw identifier `r#type`.
    fn raw_literal(&mut self) -> bool {
        let mut hashes = 0;
        while self.peek(hashes) == Some('#') {
            hashes += 1;
        }
        if self.peek(hashes) != Some('"') {
            return false;
        }
        self.push("\"\"".to_owned());
        for _ in 0..=hashes {
            self.advance();
        }
        while let Some(c) = self.advance() {
            if c == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                for _ in 0..hashes {
                    self.advance();
                }
                break;
            }
        }
        true
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        tokenize(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_vanish_and_nest() {
        assert_eq!(texts("a /* { /* } */ { */ b // { c\nd"), ["a", "b", "d"]);
    }

    #[test]
    fn strings_hide_their_braces_and_escapes() {
        assert_eq!(
            texts(r#"f("{ \" }", b"}", c"{")"#),
            ["f", "(", "\"\"", ",", "\"\"", ",", "\"\"", ")"]
        );
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        assert_eq!(texts("r##\"a\"# { \"## x r\"\\\" y"), ["\"\"", "x", "\"\"", "y"]);
        assert_eq!(texts("r#type"), ["r", "#", "type"]);
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        assert_eq!(
            texts("'{' '\\'' b'}' <'a, 'b> 'outer: loop"),
            ["\"\"", "\"\"", "\"\"", "<", "'a", ",", "'b", ">", "'outer", ":", "loop"]
        );
    }

    #[test]
    fn lines_are_counted_through_literals_and_comments() {
        let tokens = tokenize("/* 1\n2 */ \"3\n\" x");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn unterminated_text_ends_at_the_end() {
        for source in ["\"abc", "/* abc", "r#\"abc", "'\\", "b'"] {
            tokenize(source);
        }
    }
}

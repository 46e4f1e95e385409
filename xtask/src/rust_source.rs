//! Rust source as far as the checks must understand it: tokens, functions, test code, enums.
//!
//! This is no parser. It knows where comments and literals begin and end, and matches braces, which
//! is enough to measure and to forbid; code that does not compile gives odd measures, never a panic.

mod enums;
mod functions;
mod lexer;
mod test_code;
mod tokens;

pub(crate) use enums::variants_of_enum_after;
pub(crate) use functions::{Function, functions};
pub(crate) use lexer::tokenize;
pub(crate) use test_code::{TestCode, test_code};
pub(crate) use tokens::{Token, find_sequences, matching_close};

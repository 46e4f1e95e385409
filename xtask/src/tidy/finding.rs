//! One thing that is wrong, and where.

use std::fmt;

/// Sorted by place. Line 0 stands for the whole file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path below the root.
    pub(crate) path: String,
    /// Line from 1, or 0.
    pub(crate) line: usize,
    /// What is wrong, and where it helps, what to do.
    pub(crate) message: String,
}

impl Finding {
    /// A finding at a line.
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// A finding about a file or folder.
    pub(crate) fn about(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.path, self.message)
        } else {
            write!(f, "{}:{}: {}", self.path, self.line, self.message)
        }
    }
}

//! The exceptions to the length of functions, with their reasons.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::workspace::Workspace;

/// The list, below the root.
pub(crate) const ALLOW_PATH: &str = "xtask/tidy-allow.toml";

/// What `tidy-allow.toml` holds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    /// Functions that may be longer than the limit.
    #[serde(default, rename = "function")]
    pub(crate) functions: Vec<AllowedFunction>,
}

/// One function that may be longer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllowedFunction {
    /// Path below the root.
    pub(crate) file: String,
    /// Name of the function.
    pub(crate) name: String,
    /// It may have this many lines and no more.
    pub(crate) lines: usize,
    /// Why it reads better in one piece.
    pub(crate) reason: String,
}

impl Allowed {
    /// Reads the list.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let text =
            std::fs::read_to_string(workspace.root().join(ALLOW_PATH)).context("read the list")?;
        Self::parse(&text).with_context(|| ALLOW_PATH.to_owned())
    }

    fn parse(text: &str) -> Result<Self> {
        let allowed: Self = toml::from_str(text).context("not the expected TOML")?;
        for function in &allowed.functions {
            ensure!(!function.reason.trim().is_empty(), "{} has no reason", function.name);
        }
        Ok(allowed)
    }

    /// The entry of a function.
    pub(crate) fn function(&self, file: &str, name: &str) -> Option<&AllowedFunction> {
        self.functions.iter().find(|entry| entry.file == file && entry.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_needs_a_reason() {
        let entry = "[[function]]\nfile = \"a.rs\"\nname = \"f\"\nlines = 80\n";
        assert!(Allowed::parse(entry).is_err());
        assert!(Allowed::parse(&format!("{entry}reason = \" \"")).is_err());
        assert!(Allowed::parse(&format!("{entry}reason = \"a table\"")).is_ok());
    }

    #[test]
    fn an_empty_list_is_fine() {
        assert!(Allowed::parse("").unwrap().functions.is_empty());
    }
}

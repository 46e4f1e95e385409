//! Places in the checkout.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the checkout that this program was built from.
#[must_use]
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// The folder of build results.
#[must_use]
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => root().join(target),
        None => root().join("target"),
    }
}

/// `path` as seen from the root, for messages.
#[must_use]
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The server's program: `named`, or the one that was built beside this program.
///
/// # Errors
/// It is not known where this program is.
pub fn server(named: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named);
    }
    let own = std::env::current_exe().context("find this program")?;
    Ok(own.with_file_name("tidemill"))
}

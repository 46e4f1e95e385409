//! The demo's folder, which is gone when the demo is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A folder of the demo's own below the system's temporary one.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    /// Makes one; it is removed when dropped, unless it is to be kept.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn make(is_kept: bool) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("tidemill-demo-{}", std::process::id()));
        fs::create_dir(&path)
            .map_err(|error| Failure::failed(format!("cannot make {}: {error}", path.display())))?;
        Ok(Self { path, is_kept })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is left to whatever cleans the temporary folder.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

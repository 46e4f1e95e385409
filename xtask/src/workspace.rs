//! Where the repository lies and which files belong to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Folders that never hold source: build output, private caches, data of a local run.
const UNTRACKED_FOLDERS: [&str; 6] =
    ["target", ".git", ".cache", "tidemill-data", "node_modules", "__pycache__"];

/// The checkout this program was built from.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the checkout, also if it was moved since the build.
    pub(crate) fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("xtask lies in no folder")?.to_path_buf();
        if !root.join("Cargo.lock").exists() {
            bail!("{} is not the root of the workspace", root.display());
        }
        Ok(Self { root })
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Paths, relative to the root and sorted, of all files that are tracked or could be: new files
    /// count before they are added, so that a check fails before the commit and not after it.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let listed = self.files_from_git().or_else(|_| self.files_from_walk())?;
        Ok(listed.into_iter().filter(|path| self.root.join(path).is_file()).collect())
    }

    fn files_from_git(&self) -> Result<BTreeSet<String>> {
        // The checkout may belong to another user (a CI job that runs as root); reading it is safe.
        let output = Command::new("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z"])
            .args(["--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .context("start git")?;
        if !output.status.success() {
            bail!("git ls-files failed");
        }
        let text = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
        Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// The fallback for a tree without git, such as an unpacked archive.
    fn files_from_walk(&self) -> Result<BTreeSet<String>> {
        let mut files = BTreeSet::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).context("list a folder")? {
                let entry = entry.context("list a folder")?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.file_type().context("read a file type")?.is_dir() {
                    if !UNTRACKED_FOLDERS.contains(&name.as_str()) {
                        folders.push(entry.path());
                    }
                } else if let Ok(relative) = entry.path().strip_prefix(&self.root) {
                    files.insert(relative.to_string_lossy().into_owned());
                }
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_the_walk_both_list_this_file() {
        let workspace = Workspace::find().unwrap();
        let walked = workspace.files_from_walk().unwrap();
        assert!(walked.contains("xtask/src/workspace.rs"));
        assert!(workspace.files().unwrap().contains(&"xtask/src/workspace.rs".to_owned()));
    }
}

//! What cargo says about the crates of the workspace.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace::Workspace;

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its folder below the root.
    pub(crate) folder: String,
    /// Its direct dependencies of all kinds and for all targets.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One edge to another crate.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Dependency {
    /// The name of the package, whatever it is renamed to.
    pub(crate) name: String,
    /// The features that the edge turns on.
    #[serde(default)]
    pub(crate) features: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<RawPackage>,
    workspace_root: String,
}

#[derive(Deserialize)]
struct RawPackage {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

/// Asks cargo.
pub(crate) fn load(workspace: &Workspace) -> Result<Vec<Package>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(workspace.root())
        .output()
        .context("start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    parse(&output.stdout)
}

/// Reads the answer of `cargo metadata`.
fn parse(json: &[u8]) -> Result<Vec<Package>> {
    let metadata: Metadata = serde_json::from_slice(json).context("read cargo metadata")?;
    let root = metadata.workspace_root;
    let packages = metadata.packages.into_iter().map(|raw| Package {
        folder: folder(&root, &raw.manifest_path),
        name: raw.name,
        dependencies: raw.dependencies,
    });
    Ok(packages.collect())
}

fn folder(root: &str, manifest_path: &str) -> String {
    let relative = manifest_path.strip_prefix(root).unwrap_or(manifest_path);
    relative.trim_start_matches('/').trim_end_matches("Cargo.toml").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_with_edges_of_every_kind() {
        let json = br#"{"workspace_root": "/r", "packages": [{
            "name": "a", "manifest_path": "/r/x/a/Cargo.toml", "dependencies": [
                {"name": "b", "kind": null, "features": ["f"]},
                {"name": "c", "kind": "dev", "rename": "d", "features": []}
            ]}]}"#;
        let dependencies = vec![
            Dependency { name: "b".to_owned(), features: vec!["f".to_owned()] },
            Dependency { name: "c".to_owned(), features: Vec::new() },
        ];
        let expected = Package { name: "a".to_owned(), folder: "x/a".to_owned(), dependencies };
        assert_eq!(parse(json).unwrap(), [expected]);
    }

    #[test]
    fn an_answer_that_is_not_metadata_is_an_error() {
        assert!(parse(b"{}").is_err());
    }
}

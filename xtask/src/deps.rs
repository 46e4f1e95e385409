//! Imports go one way: every edge between crates must stand in the table of layers.
//!
//! Dev-dependencies count like others. A crate without a row and a row without a crate are errors
//! too, so that the table stays the whole truth.

pub(crate) mod layers;
mod metadata;

use anyhow::Result;

use self::layers::{BANNED_FEATURES_IN_PURE, BANNED_IN_PURE, CRATES, Layer, Part};
use self::metadata::Package;
use crate::workspace::Workspace;

/// Checks the workspace and prints what is wrong. True if nothing is.
pub(crate) fn run(workspace: &Workspace) -> Result<bool> {
    let packages = metadata::load(workspace)?;
    let problems = check(&packages, CRATES);
    for problem in &problems {
        println!("deps: {problem}");
    }
    let edges: usize = packages.iter().map(|package| package.dependencies.len()).sum();
    println!("deps: {} crates, {edges} edges, {} problems", packages.len(), problems.len());
    Ok(problems.is_empty())
}

/// Everything wrong with `packages` by the table `layers`, one sentence each.
fn check(packages: &[Package], layers: &[Layer]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        match layers.iter().find(|layer| layer.name == package.name) {
            Some(layer) => problems.extend(check_package(package, layer, layers)),
            None => problems.push(format!("{} has no row in deps/layers.rs", package.name)),
        }
    }
    for layer in layers {
        if !packages.iter().any(|package| package.name == layer.name) {
            problems.push(format!("{} has a row in deps/layers.rs but does not exist", layer.name));
        }
    }
    problems
}

fn check_package(package: &Package, layer: &Layer, layers: &[Layer]) -> Vec<String> {
    let mut problems = Vec::new();
    let name = package.name.as_str();
    if package.folder != layer.folder {
        problems.push(format!("{name} lies in {}, not in {}", package.folder, layer.folder));
    }
    for dependency in &package.dependencies {
        let other = dependency.name.as_str();
        if layers.iter().any(|layer| layer.name == other) {
            if !layer.may_import.contains(&other) {
                problems.push(format!("{name} must not import {other}"));
            }
        } else if layer.part == Part::Decides {
            if let Some((_, why)) = BANNED_IN_PURE.iter().find(|(banned, _)| *banned == other) {
                problems.push(format!("{name} is pure and must not use {other}: {why}"));
            }
            for (_, feature, why) in BANNED_FEATURES_IN_PURE.iter().filter(|row| row.0 == other) {
                if dependency.features.iter().any(|enabled| enabled == feature) {
                    problems
                        .push(format!("{name} is pure and must not use {other}/{feature}: {why}"));
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::metadata::Dependency;
    use super::*;

    const TABLE: &[Layer] = &[
        Layer { name: "low", folder: "low", part: Part::Decides, may_import: &[] },
        Layer { name: "high", folder: "high", part: Part::Does, may_import: &["low"] },
    ];

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies
            .iter()
            .map(|name| Dependency { name: (*name).to_owned(), features: Vec::new() })
            .collect();
        Package { name: name.to_owned(), folder: name.to_owned(), dependencies }
    }

    #[test]
    fn allowed_edges_pass() {
        let packages = [package("low", &["bytes"]), package("high", &["low", "tokio"])];
        assert_eq!(check(&packages, TABLE), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_edge_is_named() {
        let packages = [package("low", &["high"]), package("high", &[])];
        assert_eq!(check(&packages, TABLE), ["low must not import high"]);
    }

    #[test]
    fn a_pure_crate_may_not_use_a_runtime() {
        let problems = check(&[package("low", &["tokio"]), package("high", &[])], TABLE);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("low is pure and must not use tokio"), "{problems:?}");
    }

    #[test]
    fn a_pure_crate_may_not_turn_randomness_on() {
        let mut low = package("low", &["uuid"]);
        low.dependencies[0].features = vec!["v4".to_owned()];
        let problems = check(&[low, package("high", &[])], TABLE);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("uuid/v4"), "{problems:?}");
    }

    #[test]
    fn crates_and_rows_must_match() {
        let mut low = package("low", &[]);
        low.folder = "elsewhere".to_owned();
        assert_eq!(
            check(&[low, package("new", &[])], TABLE),
            [
                "low lies in elsewhere, not in low",
                "new has no row in deps/layers.rs",
                "high has a row in deps/layers.rs but does not exist",
            ]
        );
    }

    #[test]
    fn what_decides_imports_only_what_decides() {
        for layer in CRATES.iter().filter(|layer| layer.part == Part::Decides) {
            for import in layer.may_import {
                let imported = CRATES.iter().find(|other| other.name == *import).unwrap();
                assert!(imported.part == Part::Decides, "{} imports {import}", layer.name);
            }
        }
    }

    #[test]
    fn rows_import_only_rows_above_them() {
        for (index, layer) in CRATES.iter().enumerate() {
            for import in layer.may_import {
                let above = CRATES[..index].iter().any(|other| other.name == *import);
                assert!(above, "{} imports {import}, which is not above it", layer.name);
            }
        }
    }

    #[test]
    fn only_the_broker_the_client_and_the_outer_tools_speak_kafka() {
        let speakers: Vec<_> = CRATES
            .iter()
            .filter(|layer| layer.may_import.contains(&"tidemill-kafka"))
            .map(|layer| layer.name)
            .collect();
        assert_eq!(
            speakers,
            [
                "tidemill-client",
                "tidemill-broker-logic",
                "tidemill-broker-server",
                "tidemill-sim",
                "tidemill-bench",
                "tidemill-tests",
            ]
        );
    }
}

//! The shape of the repository, checked: lengths, names, docs, leftovers, purity, links.
//!
//! Every check is a function from the files to findings. A finding fails the run; there are no
//! warnings. Only the ratchet for function lengths has exceptions, listed with their reasons in
//! `tidy-allow.toml`.

mod allow;
mod docs;
mod exceptions;
mod finding;
mod leftovers;
mod lengths;
mod links;
mod machine_paths;
mod measures;
mod names;
mod persisted;
mod purity;
mod tree;

use anyhow::Result;

use self::allow::Allowed;
use self::finding::Finding;
use self::measures::Measures;
use self::tree::Tree;
use crate::workspace::Workspace;

/// Checks the tree and prints findings and measures. True if nothing was found.
pub(crate) fn run(workspace: &Workspace) -> Result<bool> {
    let tree = Tree::load(workspace)?;
    let allowed = Allowed::load(workspace)?;
    let findings = check(&tree, &allowed);
    for finding in &findings {
        println!("tidy: {finding}");
    }
    println!("tidy: {}", Measures::of(&tree));
    println!("tidy: {} findings", findings.len());
    Ok(findings.is_empty())
}

fn check(tree: &Tree, allowed: &Allowed) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(lengths::check(tree, allowed));
    findings.extend(docs::check(tree));
    findings.extend(names::check(tree));
    findings.extend(leftovers::check(tree));
    findings.extend(machine_paths::check(tree));
    findings.extend(exceptions::check(tree));
    findings.extend(persisted::check(tree));
    findings.extend(purity::check(tree));
    findings.extend(links::check(tree));
    findings.sort();
    findings
}

//! Relative links in Markdown lead to files that exist.

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            let resolved = resolve(path, &target);
            if !resolved.as_deref().is_some_and(|resolved| exists(tree, resolved)) {
                findings.push(Finding::at(path, line, format!("the link to {target} is broken")));
            }
        }
    }
    findings
}

/// Targets (line, path without anchor) of the relative links of a page, code left out.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_fence = !in_fence;
        } else if !in_fence {
            let prose = without_code(line);
            found.extend(targets(&prose).filter_map(relative).map(|target| (index + 1, target)));
        }
    }
    found
}

/// The line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// What stands in `](...)`, and after `]:` at the beginning of a line.
fn targets(prose: &str) -> impl Iterator<Item = &str> {
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definition = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|d| d.1);
    inline.chain(definition)
}

/// The path in a target. None for addresses and for anchors of the same page.
fn relative(target: &str) -> Option<String> {
    let target = target.trim().split([' ', '#']).next()?;
    let target = target.trim_start_matches('<').trim_end_matches('>');
    let is_address = target.contains("://") || target.starts_with("mailto:");
    (!target.is_empty() && !is_address).then(|| target.to_owned())
}

/// The path below the root that `target` on the page `page` means. None if it leaves the root.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => page.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a file or a folder of that path is in the tree. The root itself counts.
fn exists(tree: &Tree, path: &str) -> bool {
    let below = format!("{path}/");
    path.is_empty()
        || tree.paths.contains(path)
        || tree.paths.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_are_found_and_good_ones_are_not() {
        let page = "[a](b.md) [c](../LICENSE#x \"title\") [d](deep/) [e](missing.md)\n\
                    [f](https://example.org/x) [g](#here) `[h](code.md)`\n\
                    ```\n[i](fenced.md)\n```\n\
                    [j]: ../../outside.md\n[k](/docs/b.md)\n";
        let tree = Tree::of(&[
            ("LICENSE", ""),
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("docs/deep/x.md", ""),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|f| (f.line, f.message)).collect();
        assert_eq!(
            found,
            [
                (1, "the link to missing.md is broken".to_owned()),
                (6, "the link to ../../outside.md is broken".to_owned()),
            ]
        );
    }
}

//! Nothing in the repository knows the machine it was written on, or where packages came from.

use super::finding::Finding;
use super::tree::Tree;

/// Beginnings of absolute paths of one machine. Written so that this file does not find itself.
const PATHS: [&str; 4] =
    [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// Hosts of package registries: which one to use is a matter of the machine's configuration.
const HOSTS: [&str; 10] = [
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("files.", "pythonhosted.org"),
    concat!("proxy.", "golang.org"),
    concat!("pypi.", "org/simple"),
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("registry-1.", "docker.io"),
    concat!("repo.maven.", "apache.org"),
    concat!("repo1.", "maven.org"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let texts = tree.texts.iter().filter(|(path, _)| path.as_str() != "Cargo.lock");
    texts.flat_map(|(path, text)| check_text(path, text)).collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = PATHS.iter().find(|prefix| begins_a_path(line, prefix)) {
            let message = format!("`{found}` is a path of one machine");
            findings.push(Finding::at(path, index + 1, message));
        }
        if let Some(host) = HOSTS.iter().find(|host| line.contains(*host)) {
            let message = format!("`{host}` is a registry: leave it to the machine's settings");
            findings.push(Finding::at(path, index + 1, message));
        }
    }
    findings
}

/// Whether `prefix` stands where a path begins, and not inside a longer one or an address.
fn begins_a_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'`=(:,<[".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_and_registries_are_found() {
        let text = format!("data = \"{}x\"\nurl = https://{}/x\n", PATHS[0], HOSTS[4]);
        let lines: Vec<_> = check_text("a.toml", &text).into_iter().map(|f| f.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn a_folder_of_that_name_inside_a_path_is_fine() {
        let text = format!("https://example.org{0} {{dir}}{0} target{0}", PATHS[3]);
        assert_eq!(check_text("a.md", &text), []);
    }
}

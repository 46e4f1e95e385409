//! What the program says about itself, as pages and lists: the sources of docs/cli.md,
//! docs/configuration.md and the golden files.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::cli::Cli;
use crate::config;

/// Help is written out at this width, whatever terminal it is made on.
const WIDTH: usize = 100;

/// docs/configuration.md.
#[must_use]
pub fn configuration_page() -> String {
    config::configuration_page()
}

/// What `tidemill server --print-config` prints without a file.
#[must_use]
pub fn default_config() -> String {
    config::print_config(&config::Config::default())
}

/// Every setting as `section.key`, one a line.
#[must_use]
pub fn config_keys() -> String {
    config::KEYS.iter().fold(String::new(), |mut list, key| {
        let _ = writeln!(list, "{}", key.full_name());
        list
    })
}

/// Every command with its arguments and options, one a line.
#[must_use]
pub fn commands() -> String {
    let mut list = String::new();
    for (path, command) in all_commands() {
        let _ = writeln!(list, "{path}");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let name = match argument.get_long() {
                Some(long) => format!("--{long}"),
                None => argument.get_id().to_string(),
            };
            let values: Vec<String> = argument
                .get_possible_values()
                .iter()
                .filter(|value| !value.is_hide_set())
                .map(|value| value.get_name().to_owned())
                .collect();
            let takes_value = argument.get_action().takes_values() && !values.is_empty();
            let values = if takes_value { format!(" {}", values.join("|")) } else { String::new() };
            let _ = writeln!(list, "    {name}{values}");
        }
    }
    list
}

/// docs/cli.md.
#[must_use]
pub fn cli_page() -> String {
    let mut page = String::from(PAGE_HEAD);
    for (path, mut command) in all_commands() {
        let help = command.render_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(page, "\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    }
    page
}

const PAGE_HEAD: &str = "# Command line

This page is made by `cargo test -p tidemill --test golden` from the program's own help.

- Client commands (`topic`, `group`, `produce`, `consume`, `cluster`) take `--output json`: snake_case fields with a
  `schema_version`, errors included (those on standard error). Fields are added within a version, never renamed. Scripts
  should ignore fields that they do not know.
- Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 what was named does not exist, 4 the cluster did not answer or cannot now.
- `TIDEMILL_BOOTSTRAP` stands in for `--bootstrap`, `TIDEMILL_LOG` for the `--log` of servers. `NO_COLOR` is respected.
- Results go to standard output; errors, hints and the log go to standard error.
";

/// Every command that can be typed, in the order of the help, each with its full path.
fn all_commands() -> Vec<(String, Command)> {
    let mut root = Cli::command().term_width(WIDTH);
    root.build();
    let mut found = Vec::new();
    collect(&root, "", &mut found);
    found
}

fn collect(command: &Command, above: &str, found: &mut Vec<(String, Command)>) {
    let path = format!("{above} {}", command.get_name()).trim_start().to_owned();
    found.push((path.clone(), command.clone()));
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" && !inner.is_hide_set() {
            collect(inner, &path, found);
        }
    }
}

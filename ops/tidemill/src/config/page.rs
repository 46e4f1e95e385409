//! The settings, written out: as a configuration file, and as the page docs/configuration.md.

use std::fmt::Write;

use tidemill_metadata_state::configs::{
    Accepts, BROKER_CONFIGS, BROKER_READ_ONLY, Config as LiveConfig, TOPIC_CONFIGS, TOPIC_REMOVED,
};

use crate::config::key::bytes_text;
use crate::config::keys::{KEYS, SECTIONS};
use crate::config::{Config, MEMORY_BUDGETS_MAX_BYTES, memory_budgets_bytes};

/// A configuration file with every setting, its value in `config`, meaning and range.
pub(crate) fn print_config(config: &Config) -> String {
    let mut out = String::from(
        "# Every setting of `tidemill server`. What is left out of a file has its default.\n",
    );
    for (section, about) in SECTIONS {
        let _ = write!(out, "\n# {about}\n[{section}]\n");
        for key in KEYS.iter().filter(|key| key.section == *section) {
            out.push('\n');
            for line in wrap(key.meaning, 96) {
                let _ = writeln!(out, "# {line}");
            }
            let default = (key.get)(&Config::default());
            let _ = writeln!(out, "# Range: {}. Default: {default}.", key.range.describe());
            let _ = writeln!(out, "{} = {}", key.name, (key.get)(config));
        }
    }
    let sum = memory_budgets_bytes(config);
    let _ = write!(
        out,
        "\n# Memory budgets in sum: {} ({sum} bytes). The defaults stay below {}.\n",
        bytes_text(sum),
        bytes_text(MEMORY_BUDGETS_MAX_BYTES)
    );
    out
}

/// The page docs/configuration.md.
pub(crate) fn configuration_page() -> String {
    let mut out = String::from(PAGE_HEAD);
    for (section, about) in SECTIONS {
        let _ = write!(out, "\n### [{section}]\n\n{about}\n\n{KEY_TABLE_HEAD}");
        for key in KEYS.iter().filter(|key| key.section == *section) {
            let (name, default) = (key.name, (key.get)(&Config::default()));
            let (range, meaning) = (key.range.describe(), cell(key.meaning));
            let _ = writeln!(out, "| `{name}` | `{default}` | {range} | {meaning} |");
        }
    }
    let sum = bytes_text(memory_budgets_bytes(&Config::default()));
    let limit = bytes_text(MEMORY_BUDGETS_MAX_BYTES);
    let _ = write!(out, "\nThe memory budgets add up to {sum}; the defaults stay below {limit}.\n");
    out.push_str(TOPIC_HEAD);
    live_table(&mut out, TOPIC_CONFIGS, "cluster config behind it");
    out.push_str("\nRefused by name:\n\n| name | why |\n|---|---|\n");
    for (name, because) in TOPIC_REMOVED {
        let _ = writeln!(out, "| `{name}` | {} |", cell(because));
    }
    out.push_str(CLUSTER_HEAD);
    live_table(&mut out, BROKER_CONFIGS, "");
    out.push_str(READ_ONLY_HEAD);
    for config in BROKER_READ_ONLY {
        let _ = writeln!(out, "| `{}` | {} |", config.name, cell(config.documentation));
    }
    out
}

const KEY_TABLE_HEAD: &str = "| key | default | range | meaning |\n|---|---|---|---|\n";

const PAGE_HEAD: &str = "# Configuration

This page is made by `cargo test -p tidemill --test golden` from the tables that the program itself checks values with;
edit those, not this page.

Three kinds of settings exist: those of a **server**, read once from a file when it starts; those of a **topic**; and
those of the **cluster**, which give topics their defaults. The last two are changed while the cluster runs, with
`tidemill topic config` or any Kafka tool.

## Server

`tidemill server --config FILE` reads TOML; `tidemill server --print-config` prints a file with everything below.
`--set SECTION.KEY=VALUE` changes one setting for one run of `dev` or `server`. `tidemill dev` has the same defaults, but
creates topics when they are first used and does not let the first members of a group wait.
";

const TOPIC_HEAD: &str = "
## Topics

A topic's value is its own, else the cluster's, else the default. A value that is not in the range is refused.

";

const CLUSTER_HEAD: &str = "
## Cluster

Changed for all brokers at once, with any Kafka tool that alters configs of the broker entity with the empty name. A group
has at most 2,000 members, whatever `group.max.size` says: its record has to fit into one command.

";

const READ_ONLY_HEAD: &str = "
Told by every broker, and set in its file:

| name | meaning |
|---|---|
";

fn live_table(out: &mut String, configs: &[LiveConfig], behind: &str) {
    let (title, rule) =
        if behind.is_empty() { (String::new(), "") } else { (format!(" {behind} |"), "---|") };
    let _ = write!(out, "| name | default | range |{title} meaning |\n|---|---|---|{rule}---|\n");
    for config in configs {
        let (name, default) = (config.name, code(config.default));
        let (range, meaning) = (accepts(config), cell(config.documentation));
        let behind = match (behind.is_empty(), config.behind) {
            (true, _) => String::new(),
            (false, Some(behind)) => format!(" `{behind}` |"),
            (false, None) => " |".to_owned(),
        };
        let _ = writeln!(out, "| `{name}` | {default} | {range} |{behind} {meaning} |");
    }
}

fn accepts(config: &LiveConfig) -> String {
    match config.accepts {
        Accepts::Boolean => "true or false".to_owned(),
        Accepts::Whole(min, i64::MAX) => format!("{min} or more"),
        Accepts::Whole(min, max) => format!("{min} to {max}"),
        Accepts::Number(min, max) => format!("{min} to {max}"),
        Accepts::OneOf(choices) => choices.join(", "),
        Accepts::List => "a list with commas".to_owned(),
        Accepts::Only(only, _) => format!("only {}", code(only)),
    }
}

fn code(text: &str) -> String {
    if text.is_empty() { "empty".to_owned() } else { format!("`{text}`") }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

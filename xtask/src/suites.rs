//! `cargo xtask test`: every suite in order, one table, one closing line.
//!
//! A suite is a row of `table.rs`. It runs in a process group of its own with a time limit, writes to
//! `target/test-logs/NAME.log`, and is counted from what it printed. A suite that cannot run here is
//! skipped aloud: its reason stands below the table.

mod leash;
mod outcome;
mod report;
mod runner;
mod table;
mod tally;

use anyhow::{Result, bail};

pub(crate) use self::tally::Tally;

use self::outcome::Outcome;
use self::table::{SUITES, Suite};
use crate::workspace::Workspace;

/// Which suites to run.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Only these suites, in the order of the table.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Print the names of the suites and what they are.
    #[arg(long)]
    list: bool,
}

/// Runs the chosen suites. True if none failed.
pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> Result<bool> {
    let chosen = choose(SUITES, &args.only)?;
    if args.list {
        for suite in chosen {
            println!("{:<12} {}", suite.name, suite.about);
        }
        return Ok(true);
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for suite in chosen {
        println!("== {}: {}", suite.name, suite.about);
        let outcome = runner::run(workspace, suite)?;
        println!("== {}: {} ({:.1} s)", suite.name, outcome.tally, outcome.seconds);
        outcomes.push(outcome);
    }
    println!("\n{}", report::render(&outcomes));
    Ok(outcomes.iter().all(|outcome| outcome.tally.failed == 0))
}

fn choose<'a>(suites: &'a [Suite], only: &[String]) -> Result<Vec<&'a Suite>> {
    if let Some(unknown) = only.iter().find(|name| suites.iter().all(|suite| suite.name != **name))
    {
        let names: Vec<_> = suites.iter().map(|suite| suite.name).collect();
        bail!("no suite is named {unknown}; there are: {}", names.join(", "));
    }
    let is_chosen = |suite: &&Suite| only.is_empty() || only.iter().any(|name| name == suite.name);
    Ok(suites.iter().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_chosen_by_name_in_the_order_of_the_table() {
        let chosen = choose(SUITES, &["unit".to_owned(), "verify".to_owned()]).unwrap();
        assert_eq!(chosen.iter().map(|s| s.name).collect::<Vec<_>>(), ["verify", "unit"]);
        assert_eq!(choose(SUITES, &[]).unwrap().len(), SUITES.len());
        assert!(choose(SUITES, &["nothing".to_owned()]).is_err());
    }

    #[test]
    fn names_are_unique_and_every_suite_has_a_limit() {
        for (index, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..index].iter().all(|other| other.name != suite.name));
            assert!(suite.timeout_s > 0 && !suite.commands.is_empty());
        }
    }
}

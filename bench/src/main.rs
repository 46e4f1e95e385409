//! `tidemill-bench`: measures Tidemill beside Apache Kafka.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use tidemill_bench::compare::options::Options;
use tidemill_bench::compare::session::compare;
use tidemill_bench::external::{LoadOptions, load};
use tidemill_bench::floor::loopback::{Task, serve};
use tidemill_bench::pin::{pin_to, raise_open_files};
use tidemill_bench::render::render;
use tidemill_bench::results::Results;

#[derive(Debug, Parser)]
#[command(about = "Measures Tidemill beside Apache Kafka, in one run, pinned and warmed.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure both brokers and the floors; writes raw results and prints their tables.
    Compare(Box<Options>),
    /// Put one load on a broker that runs already, and print what was found as JSON.
    Load(LoadOptions),
    /// Print the tables of raw results; several files count as one.
    Render {
        /// Files of raw results.
        #[arg(required = true)]
        results: Vec<PathBuf>,
    },
    /// The bare program of the CPU floor (started by `compare`).
    #[command(hide = true)]
    FloorServe {
        /// What it does.
        task: Task,
        /// Bytes per chunk.
        #[arg(long)]
        chunk_bytes: u64,
        /// Where its file goes.
        #[arg(long)]
        folder: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Compare(options) => {
            raise_open_files()?;
            pin_to(options.driver_core)?;
            let out = compare(*options, &repository())?;
            print(&render(&[Results::read(&out)?]))?;
            print(&format!("\nRaw results: {}\n", out.display()))
        }
        Command::Load(options) => print(&load(&options)?),
        Command::Render { results } => {
            let results: Vec<Results> =
                results.iter().map(|path| Results::read(path)).collect::<anyhow::Result<_>>()?;
            print(&render(&results))
        }
        Command::FloorServe { task, chunk_bytes, folder } => serve(task, chunk_bytes, &folder),
    }
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// The repository: a benchmark runs where it was built.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

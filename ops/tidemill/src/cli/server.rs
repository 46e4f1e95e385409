//! `dev` and `server`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::cli::LogLevel;
use crate::cli::parse::listen_address;

/// `tidemill dev`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill dev
  tidemill dev --data /tmp/try --kafka 127.0.0.1:19092 --http 127.0.0.1:18080
  tidemill dev --set memory.hot_cache_bytes=67108864

Topics are created when they are first used. Stop it with Ctrl-C or SIGTERM: what was taken in is \
answered first; a second signal ends it at once, which loses nothing that was acknowledged.")]
pub(crate) struct DevArgs {
    /// Where everything is kept [default: ./tidemill-data].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Where to serve Kafka clients; port 0 takes a free one [default: 127.0.0.1:9092].
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) kafka: Option<SocketAddr>,
    /// Where to serve metrics and health; port 0 takes a free one [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) http: Option<SocketAddr>,
    /// Reserved for SQL, which arrives in a later release; not listened on [default: 127.0.0.1:5433].
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(crate) postgres: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) shared: SharedArgs,
}

/// `tidemill server`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill server --print-config > tidemill.toml
  tidemill server --config tidemill.toml
  tidemill server --config tidemill.toml --set kafka.auto_create_topics=true")]
pub(crate) struct ServerArgs {
    /// The configuration, in TOML.
    #[arg(long, value_name = "FILE", required_unless_present = "print_config")]
    pub(crate) config: Option<PathBuf>,
    /// Print every setting with its value, meaning and range as a configuration file, and end.
    #[arg(long)]
    pub(crate) print_config: bool,
    #[command(flatten)]
    pub(crate) shared: SharedArgs,
}

/// What `dev` and `server` have in common.
#[derive(Args, Debug)]
pub(crate) struct SharedArgs {
    /// Change one setting; all are listed by `tidemill server --print-config`. May be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Allow listening beyond loopback although clients are not authenticated.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// How much to log on standard error.
    #[arg(
        long,
        value_enum,
        env = "TIDEMILL_LOG",
        hide_env_values = true,
        default_value_t = LogLevel::Info,
        value_name = "LEVEL"
    )]
    pub(crate) log: LogLevel,
    /// End, as on SIGTERM, when standard input is closed: for a parent that must not leave it behind.
    #[arg(long, hide = true)]
    pub(crate) stop_with_stdin: bool,
}

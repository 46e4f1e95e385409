//! A server's life: settings, start, serving, the end.
//!
//! The HTTP address answers before the node has recovered, so that `/readyz` can say what is going
//! on. The first signal drains, the second ends the process at once; neither loses what was
//! acknowledged.

mod data_folder;
mod descriptors;
#[cfg(feature = "hurt")]
mod hurt;
mod node_config;
mod node_probe;
mod ready_line;
mod settings;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidemill_base::ErrorKind;
use tidemill_base::ports::SharedSpawn;
use tidemill_broker_server::node::{Node, NodePorts};
use tokio::net::TcpListener;
use tokio::runtime::{self, Handle};
use tokio::sync::watch;

use crate::cli::{DevArgs, ServerArgs};
use crate::config::{Config, print_config};
use crate::failure::Failure;
use crate::http;
use crate::logging;
use crate::output::print_page;
use crate::ports::{SystemClock, TokioSpawn};
use crate::stop_signals::StopSignals;
use data_folder::DataFolder;
use node_probe::NodeProbe;
pub(crate) use ready_line::ReadyLine;

/// `tidemill dev`.
///
/// # Errors
/// Settings are refused, or the server cannot start.
pub(crate) fn dev(args: DevArgs) -> Result<(), Failure> {
    logging::begin(args.shared.log);
    let config = settings::of_dev(&args)?;
    if args.postgres.is_some() {
        tracing::info!("SQL arrives in a later release; nothing listens on the Postgres address");
    }
    run(config, args.shared.stop_with_stdin)
}

/// `tidemill server`.
///
/// # Errors
/// Settings are refused, or the server cannot start.
pub(crate) fn server(args: ServerArgs) -> Result<(), Failure> {
    logging::begin(args.shared.log);
    if args.print_config {
        return print_page(&print_config(&settings::of_server_unchecked(&args)?));
    }
    run(settings::of_server(&args)?, args.shared.stop_with_stdin)
}

fn run(config: Config, stop_with_stdin: bool) -> Result<(), Failure> {
    let begun = Instant::now();
    descriptors::raise_limit(config.kafka.connections_max);
    let threads = match usize::try_from(config.node.worker_threads) {
        Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
        Ok(threads) => threads,
    };
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("serve")
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
    let ended = runtime.block_on(live(config, stop_with_stdin, begun));
    // Whatever still runs has been answered or will be taken up by the next start.
    runtime.shutdown_background();
    ended
}

async fn live(config: Config, stop_with_stdin: bool, begun: Instant) -> Result<(), Failure> {
    let mut signals = StopSignals::listen(stop_with_stdin)
        .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    let data = DataFolder::take(&config.node.data_dir)?;
    let http_listener = bind_http(config.http.listen_address).await?;
    let http_address = http_listener.local_addr().unwrap_or(config.http.listen_address);
    let probe = Arc::new(NodeProbe::default());
    let (http_close, http_closing) = watch::channel(false);
    let connections_max = usize::try_from(config.http.connections_max).unwrap_or(usize::MAX);
    let http_server =
        tokio::spawn(http::serve(http_listener, connections_max, probe.clone(), http_closing));
    let spawn: SharedSpawn = Arc::new(TokioSpawn::new(Handle::current()));
    let log_store = data.log_store(&config.log, &spawn).await?;
    let ports = NodePorts {
        meta_disk: data.disk(),
        state_store: data.state_store(),
        log_store: log_store.clone(),
        objects: data.objects(&spawn).await?,
        space: Some(data.space(config.log.free_bytes_low).await?),
        clock: Arc::new(SystemClock),
        spawn,
        wrap_commits: None,
        seed: data_folder::random_seed()?,
    };
    let node_config = node_config::node_config(&config, http_address);
    #[cfg(feature = "hurt")]
    let node_config = hurt::held_back(node_config);
    let folder = Path::new(&config.node.data_dir);
    let node = tokio::select! {
        started = Node::start(node_config, ports) => {
            started.map_err(|error| cannot_start(&error, folder))?
        }
        signal = signals.first() => {
            tracing::info!(signal, "stopped before it was ready");
            return Ok(());
        }
    };
    let kafka = node.kafka_address().unwrap_or(config.kafka.listen_address);
    probe.serves(&node, log_store.syncs());
    let ready = ReadyLine { kafka, http: http_address, data: folder, took: begun.elapsed() };
    tell(&ready.to_string());
    let signal = signals.first().await;
    tracing::info!(signal, "stopping: what was taken in is answered first");
    probe.drains();
    let drain_timeout = Duration::from_millis(config.node.drain_timeout_ms);
    drain(node, drain_timeout, &mut signals).await?;
    log_store.close();
    http_close.send_replace(true);
    // A scraper that holds its connection open is not waited for.
    let _ = tokio::time::timeout(Duration::from_millis(200), http_server).await;
    tell("tidemill stopped");
    Ok(())
}

async fn bind_http(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::failed(format!("cannot listen on http.listen_address {address}: {error}"))
            .hint("choose another with --http or http.listen_address")
    })
}

/// `data`: the data folder.
fn cannot_start(error: &tidemill_broker_server::node::StartError, data: &Path) -> Failure {
    use tidemill_broker_server::node::StartError;
    let failure = Failure::failed(format!("cannot start over {}: {error}", data.display()));
    match error {
        StartError::Bind { .. } => {
            failure.hint("choose another address with --kafka or kafka.listen_address")
        }
        StartError::Metadata(error) if error.kind() == ErrorKind::Corrupt => failure.hint(
            "nothing was changed. Look whether all of the folder is there (meta/ may be a volume that is \
             not mounted), and copy it before you try anything. Without meta/ nobody knows what the \
             files in log/ hold; restore it from a copy. docs/operations.md says what may be done, message by \
             message",
        ),
        StartError::Metadata(_) | StartError::Register(_) => failure,
    }
}

/// Lets the node answer what it has taken in.
async fn drain(
    node: Node,
    answering_max: Duration,
    signals: &mut StopSignals,
) -> Result<(), Failure> {
    let drained = tokio::select! {
        drained = node.drain(answering_max) => drained,
        signal = signals.second() => {
            return Err(Failure::failed(format!("ended at once by a second signal ({signal})")));
        }
    };
    if drained.connections_left > 0 {
        let connections = drained.connections_left;
        tracing::warn!(
            connections,
            ?answering_max,
            "not everything was answered within node.drain_timeout_ms; ending anyway"
        );
    }
    if !drained.saved {
        tracing::warn!("the metadata was not saved in time; the next start takes longer");
    }
    Ok(())
}

/// Says what whoever started the server wants to know, whatever is logged.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

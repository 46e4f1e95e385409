//! `tidemill demo`: the main job from end to end, on a shop's order events, with a crash in it.
//!
//! The acts: start a server; let tills produce while a group reads along; let a member leave; kill the
//! server and start it again; see that the group has seen everything; read everything back and count;
//! measure a steady trickle. It fails if a single event is lost, doubled in the log, or out of order.
//!
//! Read in this order: `stage`, `shop` (the events), `tills`, `crew`, `tally` (what is right), `audit`,
//! `steady`, `child` (the server).

mod audit;
mod chance;
mod child;
mod crew;
mod folder;
mod shop;
mod stage;
mod steady;
mod story;
mod tally;
mod tills;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tidemill_client::admin::NewTopic;
use tidemill_client::{Client, ClientConfig, Error};
use tokio::sync::watch;

use crate::cli::{DemoArgs, LogLevel};
use crate::failure::Failure;
use crate::logging;
use crate::stop_signals::StopSignals;
use child::Server;
use crew::{Member, SharedTally};
use folder::Folder;
use stage::{PARTITIONS, Stage, TOPIC};
use story::Story;
use tills::{Progress, Sold};

/// How many members the group has at first.
const MEMBERS: usize = 3;

/// Between two looks at how far things are.
const LOOK: Duration = Duration::from_millis(5);

/// How long the group may take to see everything, after everything was produced.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the demo.
///
/// # Errors
/// Something is wrong with the records, or the demo could not be run.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    logging::begin(LogLevel::Error);
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
    let folder = Folder::make(args.keep)?;
    let done = runtime.block_on(async {
        let mut signals = StopSignals::listen(false)
            .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
        tokio::select! {
            done = acts(args, &folder) => done,
            signal = signals.first() => Err(Failure::failed(format!("stopped by {signal}"))),
        }
    });
    runtime.shutdown_background();
    done
}

async fn acts(args: &DemoArgs, folder: &Folder) -> Result<(), Failure> {
    let mut story = Story::begin();
    story.title();
    let server = Server::start(folder.path(), SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    story.started(folder.path(), server.kafka, server.ready_in);
    let stage = set_stage(args, server.kafka).map_err(|error| met("begin", &error))?;
    let topic = NewTopic::new(TOPIC).partitions(PARTITIONS);
    let admin = stage.client.admin().map_err(|error| met("begin", &error))?;
    admin.create_topic(topic).await.map_err(|error| met("create the topic", &error))?;
    story.topic();
    let tally = SharedTally::default();
    let (server, sold, members) =
        sell_and_crash(&stage, server, folder, &tally, &mut story).await?;
    read_to_the_end(&stage, &tally, members, &mut story).await?;
    tally
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .verdict(&sold)
        .map_err(|wrong| Failure::failed(format!("the group saw {wrong}")))?;
    let begun = Instant::now();
    let audit = audit::audit(&stage.client).await.map_err(|error| met("read back", &error))?;
    audit.verdict(&sold).map_err(|wrong| Failure::failed(format!("the log holds {wrong}")))?;
    if audit.again() > 0 {
        return Err(Failure::failed(format!("the log holds {} events twice", audit.again())));
    }
    story.audited(&audit, begun.elapsed());
    let steady = steady::trickle(&stage.client).await.map_err(|error| met("trickle", &error))?;
    story.steady(steady);
    server.stop().await?;
    story.end(args.keep.then_some(folder.path()));
    Ok(())
}

fn set_stage(args: &DemoArgs, kafka: SocketAddr) -> tidemill_client::Result<Stage> {
    let config = ClientConfig {
        client_id: "tidemill-demo".to_owned(),
        ..ClientConfig::new(kafka.to_string())
    };
    let client = Client::new(config)?;
    let customers = shop::customers_of(args.events);
    Ok(Stage { client, events: args.events, customers, seed: args.seed })
}

/// Produces and reads along; on the way a member leaves, and the server is killed and started again.
async fn sell_and_crash(
    stage: &Stage,
    server: Server,
    folder: &Folder,
    tally: &SharedTally,
    story: &mut Story,
) -> Result<(Server, Sold, Vec<Member>), Failure> {
    let mut members = Vec::new();
    for _ in 0..MEMBERS {
        let member = Member::join(&stage.client, tally);
        members.push(member.map_err(|error| met("join the group", &error))?);
    }
    crew::settled(&stage.client, MEMBERS).await?;
    story.selling(stage.events);
    let progress = Arc::new(Progress::default());
    let (second_half, second_half_open) = watch::channel(false);
    let begun = Instant::now();
    let events = async {
        let events = stage.events;
        let at = reach(&progress, events / 4).await;
        if let Some(member) = members.pop() {
            member.leave().await.map_err(|error| met("leave the group", &error))?;
        }
        reach(&progress, tills::first_half(events)).await;
        let took = begun.elapsed();
        crew::settled(&stage.client, MEMBERS - 1).await?;
        story.left(at);
        second_half.send_replace(true);
        let begun = Instant::now();
        let at = reach(&progress, events - events / 4).await;
        let kafka = server.kafka;
        server.kill();
        let server = Server::start(folder.path(), kafka).await?;
        story.killed(at, server.ready_in);
        reach(&progress, events).await;
        Ok::<_, Failure>((server, took + begun.elapsed()))
    };
    let selling = async {
        let sold = tills::sell(stage, &progress, &second_half_open).await;
        sold.map_err(|error| met("produce", &error))
    };
    let (sold, (server, took)) = tokio::try_join!(selling, events)?;
    story.sold(stage.events, progress.bytes.load(Ordering::Relaxed), took);
    Ok((server, sold, members))
}

/// Waits until so many events are acknowledged, and tells how many are.
async fn reach(progress: &Progress, count: u64) -> u64 {
    loop {
        let acknowledged = progress.acknowledged.load(Ordering::Relaxed);
        if acknowledged >= count {
            return acknowledged;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until the group has seen every event, and lets its members leave.
async fn read_to_the_end(
    stage: &Stage,
    tally: &SharedTally,
    members: Vec<Member>,
    story: &mut Story,
) -> Result<(), Failure> {
    let deadline = Instant::now() + READ_TIMEOUT;
    let seen = || {
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        (tally.distinct(), tally.again())
    };
    while seen().0 < stage.events {
        if Instant::now() > deadline {
            let message = format!("the group saw {} of {} events in time", seen().0, stage.events);
            return Err(Failure::failed(message));
        }
        tokio::time::sleep(LOOK).await;
    }
    for member in members {
        member.leave().await.map_err(|error| met("leave the group", &error))?;
    }
    let (distinct, again) = seen();
    story.read_along(distinct, again);
    Ok(())
}

fn met(doing: &str, error: &Error) -> Failure {
    Failure::new(error.kind().into(), format!("could not {doing}: {error}"))
}

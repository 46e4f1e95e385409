//! A command's connection to the cluster and to the user.

use std::sync::Arc;

use tidemill_client::{Client, ClientConfig, Environment, Error, ErrorCode, ErrorKind};

use crate::cli::{ConnectionArgs, OutputForm};
use crate::commands::told_connector::ToldConnector;
use crate::failure::{Failure, FailureKind};
use crate::logging;
use crate::output::Console;

/// What a command works with.
pub(crate) struct Session {
    /// The way to the cluster.
    pub(crate) client: Client,
    /// The way to the user.
    pub(crate) console: Console,
    bootstrap: String,
}

impl Session {
    /// Does `work` on a runtime of one thread: a command waits for answers most of the time.
    ///
    /// # Errors
    /// Those of `work`; a usage failure if the options cannot be used.
    pub(crate) fn run(
        connection: &ConnectionArgs,
        work: impl AsyncFnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        logging::begin(connection.log);
        let config = ClientConfig {
            client_id: "tidemill-cli".to_owned(),
            connect_timeout_ms: connection.timeout_ms.min(10_000),
            request_timeout_ms: connection.timeout_ms.max(1_000),
            api_timeout_ms: connection.timeout_ms,
            ..ClientConfig::new(&connection.bootstrap)
        };
        let mut environment = Environment::real();
        if connection.output == OutputForm::Text {
            environment.connector = Arc::new(ToldConnector::new(environment.connector));
        }
        let client = Client::in_environment(config, environment)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let console = Console::new(connection.output);
        let mut session = Self { client, console, bootstrap: connection.bootstrap.clone() };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
        let done = runtime.block_on(work(&mut session));
        runtime.shutdown_background();
        done.and(session.console.flush())
    }

    /// A failure that tells what the client met, and what the user can do about it.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        let failure = Failure::new(FailureKind::from(error.kind()), error.to_string());
        match (failure.kind(), error.code()) {
            (FailureKind::Unavailable, None) => failure.hint(format!(
                "is a server running at {}? start one with `tidemill dev`, or say where it is with \
                 --bootstrap",
                self.bootstrap
            )),
            (_, Some(ErrorCode::TOPIC_ALREADY_EXISTS)) => {
                failure.hint("add --if-not-exists if that is fine")
            }
            (_, Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)) => {
                failure.hint("see the topics that exist with `tidemill topic list`")
            }
            (_, Some(ErrorCode::KAFKA_STORAGE_ERROR)) => failure.hint(
                "records on the server's disk are missing or damaged; its log says which, \
                 docs/operations.md what to do",
            ),
            (_, Some(ErrorCode::NON_EMPTY_GROUP)) => {
                failure.hint("stop the group's members first: `tidemill group describe` shows them")
            }
            (_, Some(ErrorCode::GROUP_ID_NOT_FOUND)) => {
                failure.hint("see the groups that exist with `tidemill group list`")
            }
            _ if error.kind() == ErrorKind::Ambiguous => {
                failure.hint("it may have happened; look before you try again")
            }
            _ => failure,
        }
    }

    /// The values of those answers that are such, and the failure of the first that is none.
    pub(crate) fn split<K, T>(
        &self,
        answers: Vec<(K, Result<T, Error>)>,
    ) -> (Vec<(K, T)>, Result<(), Failure>) {
        let mut values = Vec::new();
        let mut first = Ok(());
        for (key, answer) in answers {
            match answer {
                Ok(value) => values.push((key, value)),
                Err(error) => first = first.and(Err(self.failure(&error))),
            }
        }
        (values, first)
    }
}

/// A topic has no such partition.
pub(crate) fn no_partition(topic: &str, missing: i32, count: usize) -> Failure {
    let has = if count == 1 { "1 partition".to_owned() } else { format!("{count} partitions") };
    Failure::not_found(format!("topic {topic} has no partition {missing}, it has {has}"))
}

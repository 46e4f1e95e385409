//! Asking the right broker until it answers.

use std::time::Duration;

use tidemill_base::BrokerId;
use tidemill_kafka::messages::find_coordinator::{FindCoordinatorRequest, KEY_TYPE_GROUP};
use tidemill_kafka::{ErrorCode, Request};

use crate::cluster::handle::{Cluster, Topics};
use crate::cluster::metadata::{BrokerNode, node};
use crate::cluster::routes::Role;
use crate::error::{Error, Result};
use crate::net::connection::Connection;
use crate::net::versions::ANY;

/// Whom to ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target<'a> {
    /// Any broker.
    Any,
    /// The broker that takes administrative requests.
    Controller,
    /// The broker that coordinates this group.
    Coordinator(&'a str),
    /// This broker.
    Broker(BrokerId),
}

impl Cluster {
    /// Asks until there is an answer or the time is up. `judge` finds the code in an answer that
    /// fails it as a whole. A call that is not `harmless` is not repeated when it may have taken
    /// effect.
    ///
    /// # Errors
    /// The last attempt's.
    pub(crate) async fn ask<R: Request + Sync>(
        &self,
        target: Target<'_>,
        request: &R,
        harmless: bool,
        judge: impl Fn(&R::Response) -> ErrorCode + Send,
    ) -> Result<R::Response>
    where
        R::Response: Send,
    {
        let mut retries = self.api_retries();
        if harmless {
            retries = retries.harmless();
        }
        loop {
            let answer = match self.reach(target).await {
                Ok(connection) => connection.call(request, ANY, Duration::ZERO).await,
                Err(error) => Err(error),
            };
            let error = match answer {
                Ok(response) => match judge(&response) {
                    ErrorCode::NONE => return Ok(response),
                    code => Error::answered(about(target), code),
                },
                Err(error) => error,
            };
            let moved = error.code() == Some(ErrorCode::NOT_CONTROLLER);
            if let Target::Coordinator(group) = target {
                self.forget_coordinator(group);
            }
            retries.pause(error).await?;
            if moved || matches!(target, Target::Broker(_)) {
                // If this fails, the next attempt says why.
                let _ = self.refresh(Topics::Named(&[]), false).await;
            }
        }
    }

    /// The broker that coordinates a group, as last found.
    ///
    /// # Errors
    /// Those of finding it.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<BrokerNode> {
        if let Some(known) = self.known_coordinator(group) {
            return Ok(known);
        }
        let found = self.find_coordinator(group).await?;
        self.remember_coordinator(group, found.clone());
        Ok(found)
    }

    /// Asks any broker which broker coordinates a group: `Retry` if there is none at the moment,
    /// `Denied`.
    async fn find_coordinator(&self, group: &str) -> Result<BrokerNode> {
        let connection = self.any().await?;
        let request = FindCoordinatorRequest {
            key: group.into(),
            key_type: KEY_TYPE_GROUP,
            coordinator_keys: vec![group.into()],
        };
        let response = connection.call(&request, ANY, Duration::ZERO).await?;
        let (code, words, found) = match response.coordinators.first() {
            Some(one) => (one.error_code, &one.error_message, (one.node_id, &one.host, one.port)),
            None => (
                response.error_code,
                &response.error_message,
                (response.node_id, &response.host, response.port),
            ),
        };
        let what = format!("find the coordinator of group {group}");
        if code.is_error() {
            return Err(Error::answered_saying(what, code, words.as_deref()));
        }
        let found = node(found.0, found.1, found.2, None);
        found.ok_or_else(|| Error::answered(what, ErrorCode::COORDINATOR_NOT_AVAILABLE))
    }

    async fn reach(&self, target: Target<'_>) -> Result<Connection> {
        match target {
            Target::Any => self.any().await,
            Target::Broker(broker) => self.broker(broker, Role::Control).await,
            Target::Coordinator(group) => {
                let node = self.coordinator(group).await?;
                let peer = format!("broker {} ({})", node.id, node.endpoint);
                self.connect(&node.endpoint, Role::Control, peer).await
            }
            Target::Controller => {
                let mut metadata = self.metadata();
                if self.is_stale() {
                    metadata = self.refresh(Topics::Named(&[]), false).await?;
                }
                match metadata.controller.filter(|id| metadata.brokers.contains_key(id)) {
                    Some(controller) => self.broker(controller, Role::Control).await,
                    None => self.any().await,
                }
            }
        }
    }
}

fn about(target: Target<'_>) -> String {
    match target {
        Target::Any => "ask a broker".to_owned(),
        Target::Controller => "ask the controller".to_owned(),
        Target::Coordinator(group) => format!("ask the coordinator of group {group}"),
        Target::Broker(broker) => format!("ask broker {broker}"),
    }
}

//! Connections by address and role, made when first needed and again after they broke.
//!
//! A broker answers the requests of one connection in order, so what the broker holds back on
//! purpose (a fetch, joining a group) has a connection of its own.
//!
//! - One attempt to connect at a time for each address and role; after a failure there is a wait,
//!   doubling up to a maximum.
//! - Connections to addresses that are no longer the cluster's are dropped by [`Routes::retain`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::cluster::endpoint::Endpoint;
use crate::config::ClientConfig;
use crate::environment::Environment;
use crate::error::Result;
use crate::net::connection::Connection;
use crate::prng::Prng;

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Role {
    /// Requests that are answered at once.
    Control,
    /// Records in and out.
    Data,
    /// Membership of a group.
    Coordinator,
}

type Routed = (Endpoint, Role);

/// All connections of a client.
#[derive(Debug)]
pub(crate) struct Routes {
    routes: Mutex<BTreeMap<Routed, Arc<Route>>>,
    backoff: Backoff,
    prng: Arc<Mutex<Prng>>,
}

#[derive(Debug, Default)]
struct Route {
    /// Held while connecting.
    connecting: tokio::sync::Mutex<()>,
    state: Mutex<RouteState>,
}

#[derive(Debug, Default)]
struct RouteState {
    connection: Option<Connection>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Routes {
    pub(crate) fn new(config: &ClientConfig, prng: Arc<Mutex<Prng>>) -> Self {
        let backoff = Backoff {
            initial_ms: config.reconnect_backoff_ms,
            max_ms: config.reconnect_backoff_max_ms,
        };
        Self { routes: Mutex::new(BTreeMap::new()), backoff, prng }
    }

    /// The connection, if there is a live one.
    pub(crate) fn live(&self, endpoint: &Endpoint, role: Role) -> Option<Connection> {
        let route = self.routes.lock().get(&(endpoint.clone(), role)).cloned()?;
        route.live()
    }

    /// Whether connecting would have to wait because it failed a moment ago.
    pub(crate) fn is_backing_off(&self, endpoint: &Endpoint, role: Role) -> bool {
        let Some(route) = self.routes.lock().get(&(endpoint.clone(), role)).cloned() else {
            return false;
        };
        let not_before = route.state.lock().not_before;
        not_before.is_some_and(|instant| instant > Instant::now())
    }

    /// The connection, made if there is none.
    ///
    /// # Errors
    /// Those of [`Connection::open`].
    pub(crate) async fn connect(
        &self,
        environment: &Environment,
        config: &ClientConfig,
        endpoint: &Endpoint,
        role: Role,
        peer: String,
    ) -> Result<Connection> {
        let route = self.routes.lock().entry((endpoint.clone(), role)).or_default().clone();
        if let Some(connection) = route.live() {
            return Ok(connection);
        }
        let _connecting = route.connecting.lock().await;
        if let Some(connection) = route.live() {
            return Ok(connection);
        }
        let not_before = route.state.lock().not_before;
        if let Some(not_before) = not_before {
            tokio::time::sleep_until(not_before).await;
        }
        let port = endpoint.port;
        let opened = Connection::open(environment, config, &endpoint.host, port, peer).await;
        let mut state = route.state.lock();
        state.failures = if opened.is_ok() { 0 } else { state.failures + 1 };
        // A broker that accepts and then hangs up at once is not called in a tight loop either.
        let wait_ms = self.backoff.wait_ms(state.failures.max(1), &mut self.prng.lock());
        state.not_before = Some(Instant::now() + Duration::from_millis(wait_ms));
        state.connection = opened.as_ref().ok().cloned();
        opened
    }

    /// Drops connections to other addresses than these.
    pub(crate) fn retain(&self, is_known: impl Fn(&Endpoint) -> bool) {
        self.routes.lock().retain(|(endpoint, _), _| is_known(endpoint));
    }
}

impl Route {
    fn live(&self) -> Option<Connection> {
        self.state.lock().connection.clone().filter(Connection::is_alive)
    }
}

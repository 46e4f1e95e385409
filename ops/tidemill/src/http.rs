//! The HTTP address: `/metrics`, `/healthz`, `/readyz`.
//!
//! A connection is for one request. Bounds: connections open at once (a further one takes the place of
//! the one that is longest at its request), the bytes of a request, its time and that of its answer.
//! Nothing here reads a request's body.
//!
//! Not here: what is measured and when the node is ready; both are asked of a [`Probe`].

mod bounded_listener;
mod places;
mod probe;
mod timed_stream;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use bounded_listener::BoundedListener;
pub(crate) use probe::{Probe, Readiness};

/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers until `closing` becomes true.
pub(crate) async fn serve(
    listener: TcpListener,
    connections_max: usize,
    probe: Arc<dyn Probe>,
    mut closing: watch::Receiver<bool>,
) {
    let routes = Router::new()
        .route("/", get(|| async { "tidemill: /metrics /healthz /readyz\n" }))
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readiness))
        .with_state(probe)
        .layer(map_response(closing_after));
    let listener = BoundedListener::new(listener, connections_max);
    let closed = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    if let Err(error) = axum::serve(listener, routes).with_graceful_shutdown(closed).await {
        tracing::error!(%error, "the HTTP server ended");
    }
}

/// The answer, after which the connection is closed.
async fn closing_after(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

async fn metrics(State(probe): State<Arc<dyn Probe>>) -> Response {
    match probe.metrics() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn readiness(State(probe): State<Arc<dyn Probe>>) -> Response {
    match probe.readiness() {
        Readiness::Ready(None) => "ready\n".into_response(),
        Readiness::Ready(Some(but)) => format!("ready, but {but}\n").into_response(),
        Readiness::NotReady(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
        }
    }
}

#[cfg(test)]
mod tests;

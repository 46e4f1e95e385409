//! Connections whose user is told, on standard error, while they cannot be made.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tidemill_client::net::connector::{Connector, Stream};
use tokio::time::Instant;

/// After how long of trying the user is told, even if no attempt has failed.
const WAITING_TOLD_AFTER: Duration = Duration::from_secs(1);

/// Makes connections through another connector, and says once of each address that it cannot be
/// reached, until it can.
pub(crate) struct ToldConnector {
    inner: Arc<dyn Connector>,
    addresses: Mutex<BTreeMap<(String, u16), Address>>,
    tell: Box<dyn Fn(String) + Send + Sync>,
}

/// What is known of an address.
struct Address {
    /// Since when no attempt has succeeded.
    tried_since: Option<Instant>,
    was_connected: bool,
    is_told: bool,
}

impl ToldConnector {
    /// Tells on standard error.
    pub(crate) fn new(inner: Arc<dyn Connector>) -> Self {
        Self::telling(inner, |words| eprintln!("{words}"))
    }

    fn telling(inner: Arc<dyn Connector>, tell: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self { inner, addresses: Mutex::default(), tell: Box::new(tell) }
    }

    /// Looks at, or changes, what is known of an address.
    fn at<T>(&self, host: &str, port: u16, look: impl FnOnce(&mut Address) -> T) -> T {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let address = addresses.entry((host.to_owned(), port)).or_insert_with(|| Address {
            tried_since: None,
            was_connected: false,
            is_told: false,
        });
        look(address)
    }

    fn is_not_reached(&self, host: &str, port: u16) {
        let words = self.at(host, port, |address| {
            let is_early =
                address.tried_since.is_none_or(|since| since.elapsed() < WAITING_TOLD_AFTER);
            if address.is_told || (is_early && !address.was_connected) {
                return None;
            }
            address.is_told = true;
            Some(match address.was_connected {
                true => format!("connection to {host}:{port} lost, trying again"),
                false => format!("waiting for {host}:{port}"),
            })
        });
        if let Some(words) = words {
            (self.tell)(words);
        }
    }

    async fn connect_telling(&self, host: &str, port: u16) -> io::Result<Box<dyn Stream>> {
        let since =
            self.at(host, port, |address| *address.tried_since.get_or_insert_with(Instant::now));
        let tell_at = since + WAITING_TOLD_AFTER;
        let mut connecting = self.inner.connect(host, port);
        let connected = match tokio::time::timeout_at(tell_at, &mut connecting).await {
            Ok(connected) => connected,
            Err(_) => {
                self.is_not_reached(host, port);
                connecting.await
            }
        };
        match &connected {
            Ok(_) => self.at(host, port, |address| {
                address.tried_since = None;
                address.was_connected = true;
                address.is_told = false;
            }),
            Err(_) => self.is_not_reached(host, port),
        }
        connected
    }
}

impl Connector for ToldConnector {
    fn connect<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Box<dyn Stream>>> {
        Box::pin(self.connect_telling(host, port))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[derive(Default)]
    struct Switch(AtomicBool);

    impl Connector for Switch {
        fn connect<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, io::Result<Box<dyn Stream>>> {
            let is_on = self.0.load(Ordering::Relaxed);
            Box::pin(async move {
                match is_on {
                    true => Ok(Box::new(tokio::io::duplex(1).0) as Box<dyn Stream>),
                    false => Err(io::ErrorKind::ConnectionRefused.into()),
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_not_there_is_told_after_a_second_and_a_lost_one_at_once() {
        let (switch, told) = (Arc::new(Switch::default()), Arc::new(Mutex::new(Vec::new())));
        let tell = Arc::clone(&told);
        let connector = ToldConnector::telling(Arc::clone(&switch) as _, move |words| {
            tell.lock().unwrap().push(words);
        });
        let attempt = async || {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let _ = connector.connect("h", 1).await;
        };
        for _ in 0..4 {
            attempt().await;
        }
        assert!(told.lock().unwrap().is_empty());
        for _ in 0..4 {
            attempt().await;
        }
        for is_on in [true, false, true, false] {
            switch.0.store(is_on, Ordering::Relaxed);
            attempt().await;
            attempt().await;
        }
        let lost = "connection to h:1 lost, trying again";
        assert_eq!(*told.lock().unwrap(), ["waiting for h:1", lost, lost]);
    }
}

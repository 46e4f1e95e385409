//! What the HTTP address asks the node.

/// Whether clients can be served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Readiness {
    /// They can; with what an operator should know.
    Ready(Option<String>),
    /// They cannot, and why.
    NotReady(String),
}

/// Something that can be watched.
pub(crate) trait Probe: Send + Sync + 'static {
    /// Everything that is measured, in the text format of Prometheus.
    ///
    /// # Errors
    /// Why it cannot be written out.
    fn metrics(&self) -> Result<String, String>;

    /// Whether clients can be served.
    fn readiness(&self) -> Readiness;
}

//! What an error of the operating system means to a caller, and where blocking calls run.

use std::io;

use tidemill_base::ErrorKind;

use crate::disk::DiskError;

/// The error of `operation` on `path`. Foreign errors stop here.
pub(super) fn failed(operation: &'static str, path: &str, error: &io::Error) -> DiskError {
    let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::AlreadyExists => ErrorKind::Conflict,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
        io::ErrorKind::InvalidInput => ErrorKind::Invalid,
        _ if full => ErrorKind::Throttled,
        _ if matches!(operation, "write" | "sync" | "rename" | "remove" | "truncate") => {
            ErrorKind::Ambiguous
        }
        _ => ErrorKind::Retry,
    };
    DiskError { full, ..DiskError::new(operation, path, kind, error.to_string()) }
}

/// Runs `work`, which blocks, beside the caller's runtime; in place where there is none.
pub(super) async fn off_thread<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, DiskError> + Send + 'static,
) -> Result<T, DiskError> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return work() };
    let done = runtime.spawn_blocking(work);
    done.await.unwrap_or_else(|error| {
        Err(DiskError::new(operation, "", ErrorKind::Closed, error.to_string()))
    })
}

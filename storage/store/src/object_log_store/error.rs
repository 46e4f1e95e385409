//! What an error of an object store means to a caller. Foreign errors stop here.

use tidemill_base::ErrorKind;

use crate::log_store::StoreError;

/// The error of `operation` on `key`.
pub(crate) fn store_error(
    operation: &'static str,
    key: &str,
    error: &object_store::Error,
) -> StoreError {
    use object_store::Error;
    let changes = matches!(operation, "put" | "delete");
    let kind = match error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => ErrorKind::Conflict,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::Denied,
        Error::InvalidPath { .. } | Error::NotSupported { .. } | Error::NotImplemented { .. } => {
            ErrorKind::Invalid
        }
        _ if changes => ErrorKind::Ambiguous,
        _ => ErrorKind::Retry,
    };
    StoreError::new(operation, key, kind, error.to_string())
}

//! The trial of an object store when it is opened: conditional put, read-after-write, ranges.

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tidemill_base::ErrorKind;

use super::store_error;
use crate::log_store::StoreError;

const BODY: &[u8] = b"tidemill tries out this store";

/// Tries the store out with one small object, which is deleted again.
pub(super) async fn try_out(store: &dyn ObjectStore, probe: u64) -> Result<(), StoreError> {
    let key = Path::from(format!("probe/{probe:016x}"));
    // A trial that died half way may have left its object.
    match store.delete(&key).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => return Err(store_error("open", key.as_ref(), &error)),
    }
    let outcome = try_object(store, &key).await;
    let deleted = store.delete(&key).await;
    outcome?;
    deleted.map_err(|error| store_error("open", key.as_ref(), &error))
}

async fn try_object(store: &dyn ObjectStore, key: &Path) -> Result<(), StoreError> {
    let failed = |error| store_error("open", key.as_ref(), &error);
    let refused =
        |reason: &str| Err(StoreError::new("open", key.to_string(), ErrorKind::Invalid, reason));
    let put = || store.put_opts(key, PutPayload::from_static(BODY), PutMode::Create.into());
    put().await.map_err(failed)?;
    match put().await {
        Err(
            object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. },
        ) => {}
        Err(error) => return Err(failed(error)),
        Ok(_) => {
            return refused("the store ignores If-None-Match: a second conditional put succeeded");
        }
    }
    let whole: Bytes = store.get(key).await.map_err(failed)?.bytes().await.map_err(failed)?;
    if whole != BODY {
        return refused("the store does not return what was just put");
    }
    let range = store.get_range(key, 9..14).await.map_err(failed)?;
    if range != BODY[9..14] {
        return refused("the store does not keep to the range asked for");
    }
    Ok(())
}

//! Each toxic does what its name says.

use std::sync::Arc;

use object_store::memory::InMemory;
use tidemill_appendfile::twin::Toxic;
use tokio::time::Instant;

use super::*;
use crate::object_log_store::ObjectLogStore;
use crate::testing::{lane, object, parts};

async fn faulty() -> (SharedLogStore, Toxics<StoreToxic>, FaultyLogStore) {
    let inner: SharedLogStore =
        Arc::new(ObjectLogStore::open(Arc::new(InMemory::new()), 1).await.unwrap());
    let toxics = Toxics::new(1);
    (Arc::clone(&inner), toxics.clone(), FaultyLogStore::new(inner, toxics))
}

#[tokio::test]
async fn a_failed_put_lands_not_and_a_lost_answer_does() {
    let (inner, toxics, store) = faulty().await;
    toxics.add(Toxic::always("put", StoreToxic::FailPut));
    let error = store.put(object(lane(0), 1), parts(1)).await.unwrap_err();
    assert_eq!((error.kind, error.full), (ErrorKind::Retry, false));
    assert!(inner.list().await.unwrap().is_empty());
    toxics.add(Toxic::always("put", StoreToxic::Full));
    assert!(store.put(object(lane(0), 1), parts(1)).await.unwrap_err().full);
    toxics.add(Toxic::always("put", StoreToxic::LosePutAnswer));
    let error = store.put(object(lane(0), 1), parts(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Ambiguous);
    assert_eq!(inner.list().await.unwrap().len(), 1);
    toxics.clear();
    store.put(object(lane(0), 1), parts(1)).await.unwrap();
}

#[tokio::test]
async fn reads_deletes_and_listings_fail() {
    let (_, toxics, store) = faulty().await;
    let location = store.put(object(lane(0), 1), parts(1)).await.unwrap();
    let read = || store.read(location.file, 0, 5);
    toxics.add(Toxic::always("read", StoreToxic::FailRead));
    assert_eq!(read().await.unwrap_err().kind, ErrorKind::Retry);
    toxics.add(Toxic::always("read", StoreToxic::ReadNotFound).only_at(&location.file.to_string()));
    assert_eq!(read().await.unwrap_err().kind, ErrorKind::NotFound);
    toxics.remove("read");
    assert!(read().await.is_ok());
    toxics.add(Toxic::always("delete", StoreToxic::FailDelete));
    toxics.add(Toxic::always("list", StoreToxic::FailList));
    assert!(store.delete(location.file).await.is_err());
    assert!(store.list().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn puts_and_their_answers_are_delayed() {
    let (inner, toxics, store) = faulty().await;
    toxics.add(Toxic::always("before", StoreToxic::DelayPut { delay_ms: 10 }));
    toxics.add(Toxic::always("after", StoreToxic::DelayPutAnswer { delay_ms: 7 }));
    toxics.add(Toxic::always("read", StoreToxic::DelayRead { delay_ms: 3 }));
    let start = Instant::now();
    let location = store.put(object(lane(0), 1), parts(1)).await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 17);
    store.read(location.file, 0, 1).await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 20);
    assert_eq!(inner.list().await.unwrap().len(), 1);
}

//! Conditional puts, objects found again by name, and stores that are refused.

use std::fmt;

use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    PutMultipartOptions, PutOptions, PutResult, Result,
};

use super::*;
use crate::testing::{joined, lane, object, parts};

async fn open(store: &Arc<InMemory>) -> ObjectLogStore {
    ObjectLogStore::open(Arc::clone(store) as Arc<dyn ObjectStore>, 1).await.unwrap()
}

#[tokio::test]
async fn the_same_object_again_is_success_at_the_same_place() {
    let store = open(&Arc::new(InMemory::new())).await;
    let first = store.put(object(lane(0), 1), parts(1)).await.unwrap();
    let again = store.put(object(lane(0), 1), parts(1)).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(store.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_store_opened_anew_finds_objects_by_their_name() {
    let memory = Arc::new(InMemory::new());
    let location = open(&memory).await.put(object(lane(0), 5), parts(5)).await.unwrap();
    let store = open(&memory).await;
    let read = store.read(location.file, 0, location.length as usize).await.unwrap();
    assert_eq!(read, joined(&parts(5)));
    open(&memory).await.delete(location.file).await.unwrap();
    assert!(store.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_trial_leaves_nothing_behind() {
    let memory = Arc::new(InMemory::new());
    open(&memory).await;
    let left: Vec<ObjectMeta> = memory.list(None).try_collect().await.unwrap();
    assert!(left.is_empty());
}

/// A store that takes every put, whatever its condition.
#[derive(Debug)]
struct Unconditional(InMemory);

impl fmt::Display for Unconditional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unconditional")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Unconditional {
    async fn put_opts(&self, at: &Path, body: PutPayload, _: PutOptions) -> Result<PutResult> {
        self.0.put(at, body).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        keys: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_refused_by_name() {
    let error = ObjectLogStore::open(Arc::new(Unconditional(InMemory::new())), 1).await;
    let error = error.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.reason.contains("If-None-Match"), "{error}");
}

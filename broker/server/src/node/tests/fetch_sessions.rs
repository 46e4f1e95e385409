//! Fetches of many partitions: how many may be kept, and what others notice.

use tidemill_kafka::messages::fetch::{FetchResponse, ForgottenTopic};

use super::*;

/// Of the default configuration.
const PARTITIONS_MAX: i32 = 200_000;

fn many(partitions: std::ops::Range<i32>, session: (i32, i32)) -> FetchRequest {
    let partition = |partition| FetchPartition { partition, ..FetchPartition::default() };
    FetchRequest {
        session_id: session.0,
        session_epoch: session.1,
        topics: vec![FetchTopic {
            topic: "nope".into(),
            partitions: partitions.map(partition).collect(),
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

fn answered(response: &FetchResponse) -> usize {
    response.responses.iter().map(|topic| topic.partitions.len()).sum()
}

fn dispatched(client: &mut Client, request: &FetchRequest) -> BoxFuture<'static, Parts> {
    let mut frame = encode_request(1, None, request, 12).unwrap().to_bytes();
    frame.advance(4);
    match client.connection.dispatch(frame) {
        Dispatched::Later(answer) => answer,
        _ => panic!("a fetch is answered later"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_grow_beyond_what_all_sessions_may_have() {
    let mut client = Client::start(&disks()).await;
    let opened = client.call(&many(0..100, (0, 0)), 12).await;
    assert!(opened.session_id > 0);
    let id = opened.session_id;
    let grown = client.call(&many(100..PARTITIONS_MAX, (id, 1)), 12).await;
    assert_eq!((grown.error_code, grown.session_id), (ErrorCode::NONE, id));
    let again = client.call(&many(0..10, (id, 2)), 12).await;
    assert_eq!(answered(&again), PARTITIONS_MAX as usize, "all are told of until they exist");
    let refused = client.call(&many(PARTITIONS_MAX..PARTITIONS_MAX + 10, (id, 3)), 12).await;
    assert_eq!(refused.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    assert!(client.node.broker().fetch_sessions.lock().is_empty());
    let opened = client.call(&many(0..PARTITIONS_MAX, (0, 0)), 12).await;
    assert!(opened.session_id > 0, "its place is free again");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_of_more_partitions_than_sessions_may_have_is_refused() {
    let mut client = Client::start(&disks()).await;
    for epoch in [0, -1] {
        let all = client.call(&many(0..PARTITIONS_MAX, (0, epoch)), 12).await;
        assert_eq!((all.error_code, answered(&all)), (ErrorCode::NONE, PARTITIONS_MAX as usize));
        let refused = client.call(&many(0..PARTITIONS_MAX + 1, (0, epoch)), 12).await;
        assert_eq!((refused.error_code, answered(&refused)), (ErrorCode::INVALID_REQUEST, 0));
    }
    let old = client.call(&many(0..PARTITIONS_MAX + 1, (0, -1)), 4).await;
    assert_eq!(answered(&old), 0, "a version without a code for the whole");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_nobody_waits_for_any_more_leaves_its_place() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let opened = FetchRequest { session_epoch: 0, ..fetch_request("t", 0, 0, 1 << 20) };
    let id = client.call(&opened, 12).await.session_id;
    let next = FetchRequest {
        session_id: id,
        session_epoch: 1,
        max_wait_ms: 60_000,
        min_bytes: 1,
        ..FetchRequest::default()
    };
    let mut waits = dispatched(&mut client, &next);
    assert!(futures::FutureExt::now_or_never(&mut waits).is_none());
    assert_eq!(client.node.broker().fetch_sessions.lock().len(), 1);
    drop(waits);
    assert!(client.node.broker().fetch_sessions.lock().is_empty());
}

/// On the only thread of this test: without pauses, the small fetch would be answered last.
#[tokio::test(start_paused = true)]
async fn others_are_answered_while_many_partitions_are_noted_and_forgotten() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let partitions = PARTITIONS_MAX / 4;
    let opened = client.call(&many(0..partitions, (0, 0)), 12).await;
    let forgets = FetchRequest {
        session_id: opened.session_id,
        session_epoch: 1,
        forgotten_topics_data: vec![ForgottenTopic {
            topic: "nope".into(),
            partitions: (1..partitions).collect(),
            ..ForgottenTopic::default()
        }],
        ..FetchRequest::default()
    };
    for large in [many(0..partitions, (0, -1)), forgets] {
        let order = Mutex::new(Vec::new());
        let large = dispatched(&mut client, &large);
        let small = dispatched(&mut client, &fetch_request("t", 0, 0, 1));
        let noted = async |name, answer: BoxFuture<'static, Parts>| {
            answer.await;
            order.lock().push(name);
        };
        tokio::join!(biased; noted("large", large), noted("small", small));
        assert_eq!(order.into_inner(), ["small", "large"]);
    }
}

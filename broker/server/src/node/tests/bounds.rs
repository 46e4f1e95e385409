//! Bounds of what requests and answers take, and of the work they make.

use tidemill_kafka::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use tidemill_kafka::messages::metadata::MetadataRequestTopic;

use super::*;

/// Three bytes announce a topic that takes twenty times that once it is decoded.
#[tokio::test(start_paused = true)]
async fn requests_of_long_lists_share_a_budget_until_they_are_answered() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let frame_of = |topics: usize| {
        let topic = DescribeConfigsResource { resource_type: 2, ..Default::default() };
        let request =
            DescribeConfigsRequest { resources: vec![topic; topics], ..Default::default() };
        let mut frame = encode_request(1, None, &request, 4).unwrap().to_bytes();
        frame.advance(4);
        frame
    };
    let (long, short) = (frame_of(300_000), frame_of(500));
    let Dispatched::Later(waits) = client.connection.dispatch(long.clone()) else { panic!() };
    let held = client.node.broker().decoded.held() as usize;
    assert!(held > 4 * long.len(), "{held} bytes are held beyond {}", long.len());
    assert!(matches!(client.connection.dispatch(long.clone()), Dispatched::Close(_)));
    let Dispatched::Later(other) = client.connection.dispatch(short) else { panic!() };
    other.await;
    assert_eq!(client.produce("t", records(&[1])).await.error_code, ErrorCode::NONE);
    let answer = waits.await;
    assert_eq!(client.node.broker().decoded.held(), 0);
    assert!(answer.len() < 1_000, "what is asked 300,000 times is answered once");
    assert!(matches!(client.connection.dispatch(long), Dispatched::Later(_)));
}

/// What fetches ask for is soon in their session, and the list of the request is gone.
#[tokio::test(start_paused = true)]
async fn a_fetch_that_waits_holds_no_memory_for_its_request() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let mut request = fetch_request("t", 0, 60_000, 1 << 20);
    let partition = request.topics[0].partitions[0].clone();
    request.topics[0].partitions = vec![partition; 20_000];
    let mut frame = encode_request(1, None, &request, 12).unwrap().to_bytes();
    frame.advance(4);
    let Dispatched::Later(mut waits) = client.connection.dispatch(frame) else { panic!() };
    assert!(client.node.broker().decoded.held() > 0);
    // Others come first from time to time while the list is noted.
    for _ in 0..100 {
        assert!(poll_once(&mut waits).await.is_none());
    }
    assert_eq!(client.node.broker().decoded.held(), 0);
}

/// Polls once.
async fn poll_once<T>(future: &mut BoxFuture<'static, T>) -> Option<T> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

/// Answers wait for the memory of answers, long ones behind long ones.
#[tokio::test(start_paused = true)]
async fn long_answers_wait_for_memory_and_short_ones_pass() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 5_000).await;
    let frames = client.node.broker().answer_frames.clone();
    let all = frames.try_hold_large(frames.total()).unwrap();
    let frame_of = |topics: Option<Vec<MetadataRequestTopic>>| {
        let request = MetadataRequest { topics, ..MetadataRequest::default() };
        let mut frame = encode_request(1, None, &request, 9).unwrap().to_bytes();
        frame.advance(4);
        frame
    };
    let mut long = Vec::new();
    for _ in 0..3 {
        let Dispatched::Later(answer) = client.connection.dispatch(frame_of(None)) else {
            panic!()
        };
        long.push(answer);
    }
    for answer in &mut long {
        assert!(poll_once(answer).await.is_none());
    }
    assert!(frames.is_contended());
    assert_eq!(client.produce("t", records(&[1])).await.error_code, ErrorCode::NONE);
    drop(all);
    for answer in long {
        assert!(answer.await.len() > 64 << 10);
    }
    assert_eq!(frames.held(), 0);
}

/// More may be asked for than an answer may hold. Looking again and again would find the same.
#[tokio::test(start_paused = true)]
async fn what_limits_leave_of_more_than_enough_is_answered_at_once() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    for _ in 0..3 {
        client.produce("t", records(&[1])).await;
    }
    let one = records(&[1]).len() as i32;
    let started = tokio::time::Instant::now();
    for (max_bytes, partition_max_bytes, expected) in
        [(2 * one + 1, 1 << 20, 2), (1 << 20, 2 * one + 1, 2), (1, 1, 1)]
    {
        let mut request = fetch_request("t", 0, 60_000, partition_max_bytes);
        (request.min_bytes, request.max_bytes) = (2 * one + 1, max_bytes);
        let mut response = client.call(&request, 12).await;
        let records = response.responses.remove(0).partitions.remove(0).records.unwrap();
        assert_eq!(batches(&records.to_bytes()).count(), expected);
    }
    assert!(started.elapsed().as_millis() < 1_000);
}

/// What is submitted together becomes one object and one command, which is bounded: a request of more
/// batches than that goes in parts, in order.
#[tokio::test(start_paused = true)]
async fn a_request_of_very_many_batches_is_stored_in_parts() {
    const BATCHES: usize = 60_000;
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let data = PartitionProduceData { index: 0, records: Some(records(&[1_700_000_000_000])) };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 60_000,
        topic_data: vec![TopicProduceData {
            name: "t".into(),
            partition_data: vec![data; BATCHES],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    };
    let response = client.call(&request, 9).await;
    let answers = &response.responses[0].partition_responses;
    let offsets = answers.iter().map(|answer| (answer.error_code, answer.base_offset));
    assert!(offsets.eq((0..BATCHES as i64).map(|offset| (ErrorCode::NONE, offset))));
    assert_eq!(client.produce("t", records(&[1])).await.error_code, ErrorCode::NONE);
}

/// A batch takes more beside its bytes than a small one has: requests of many wait for one another,
/// those of few pass.
#[tokio::test(start_paused = true)]
async fn requests_of_many_small_batches_wait_for_memory() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let frame_of = |batches: usize| {
        let data = PartitionProduceData { index: 0, records: Some(records(&[1_700_000_000_000])) };
        let topic = TopicProduceData {
            name: "t".into(),
            partition_data: vec![data; batches],
            ..TopicProduceData::default()
        };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 60_000,
            topic_data: vec![topic],
            ..ProduceRequest::default()
        };
        let mut frame = encode_request(1, None, &request, 9).unwrap().to_bytes();
        frame.advance(4);
        frame
    };
    let budget = client.node.broker().batches_under_way.clone();
    let others = budget.hold_large(budget.total()).await;
    let Dispatched::Later(few) = client.connection.dispatch(frame_of(10)) else { panic!() };
    few.await;
    let Dispatched::Pending(mut many) = client.connection.dispatch(frame_of(20_000)) else {
        panic!()
    };
    assert!(poll_once(&mut many).await.is_none());
    drop(others);
    let Dispatched::Later(answer) = many.await else { panic!() };
    assert_eq!(budget.held(), 20_000 * 512);
    drop(answer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(budget.held(), 0, "given back when the batches are decided, taken or not");
}

//! Connecting, versions, lost answers, timeouts, garbage.

use tidemill_client::admin::NewTopic;
use tidemill_client::{ClientConfig, ErrorCode, ErrorKind};
use tidemill_kafka::ApiKey;

use crate::cluster::{FakeCluster, Fault, client};

#[tokio::test]
async fn an_old_broker_is_spoken_to_in_the_version_that_it_knows() {
    let cluster = FakeCluster::start(1).await.topic("t", 2);
    cluster.state.lock().api_versions_max = Some(1);
    let topics = cluster.client().admin().unwrap().list_topics().await.unwrap();
    assert_eq!(topics[0].partition_count(), 2);
    let asked: Vec<i16> = cluster.state.lock().requests.iter().take(2).map(|one| one.2).collect();
    assert_eq!(asked, [4, 1]);
}

#[tokio::test]
async fn brokers_that_cannot_be_reached_are_passed_over() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let address = cluster.config().bootstrap_servers;
    let bootstrap_servers = format!("127.0.0.1:1,{address},127.0.0.1:2");
    let client = client(ClientConfig { bootstrap_servers, ..cluster.config() });
    assert_eq!(client.admin().unwrap().list_topics().await.unwrap().len(), 1);
}

#[tokio::test]
async fn no_broker_at_all_is_told_with_its_address() {
    let config = ClientConfig { api_timeout_ms: 50, ..ClientConfig::new("127.0.0.1:1") };
    let error = client(config).admin().unwrap().list_topics().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retry);
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn a_question_is_asked_again_when_its_answer_is_lost_or_garbage() {
    for fault in [Fault::Drop, Fault::DropAfter, Fault::Oversized] {
        let cluster = FakeCluster::start(1).await.topic("t", 1);
        let admin = cluster.client().admin().unwrap();
        cluster.spoil(ApiKey::Metadata, &[fault, fault]);
        assert_eq!(admin.list_topics().await.unwrap().len(), 1, "{fault:?}");
        assert_eq!(cluster.asked(ApiKey::Metadata), 3);
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_corrupt() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    cluster.spoil(ApiKey::Metadata, &[Fault::Garbage]);
    let error = cluster.client().admin().unwrap().list_topics().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_is_ambiguous_and_not_repeated() {
    let cluster = FakeCluster::start(1).await;
    let admin = cluster.client().admin().unwrap();
    cluster.spoil(ApiKey::CreateTopics, &[Fault::DropAfter]);
    let error = admin.create_topic(NewTopic::new("t")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert_eq!(cluster.asked(ApiKey::CreateTopics), 1);
}

#[tokio::test]
async fn a_silent_broker_loses_its_connection_and_the_change_is_ambiguous() {
    let cluster = FakeCluster::start(1).await;
    let config = ClientConfig { request_timeout_ms: 100, ..cluster.config() };
    let admin = client(config).admin().unwrap();
    cluster.spoil(ApiKey::CreateTopics, &[Fault::Silent]);
    let error = admin.create_topic(NewTopic::new("t")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert!(error.to_string().contains("no answer"), "{error}");
    admin.create_topic(NewTopic::new("t")).await.unwrap();
}

#[tokio::test]
async fn a_change_sent_to_a_broker_that_is_no_controller_any_more_is_sent_again() {
    let cluster = FakeCluster::start(2).await;
    let admin = cluster.client().admin().unwrap();
    cluster.spoil(ApiKey::CreateTopics, &[Fault::Code(ErrorCode::NOT_CONTROLLER)]);
    admin.create_topic(NewTopic::new("t")).await.unwrap();
    assert_eq!(cluster.asked(ApiKey::CreateTopics), 2);
}

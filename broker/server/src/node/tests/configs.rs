//! Configs altered by the two requests that do it, which share their checks.

use tidemill_kafka::KString;
use tidemill_kafka::messages::{alter_configs as whole, incremental_alter_configs as incremental};

use super::*;

const TOPIC: i8 = 2;
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;

/// Replaces all configs of a topic by one.
async fn replace(client: &mut Client, topic: &str, config: (&str, Option<&str>)) -> ErrorCode {
    let config =
        whole::AlterableConfig { name: config.0.into(), value: config.1.map(KString::from) };
    let resource = whole::AlterConfigsResource {
        resource_type: TOPIC,
        resource_name: topic.into(),
        configs: vec![config],
    };
    let request = whole::AlterConfigsRequest { resources: vec![resource], validate_only: false };
    let answer = client.call(&request, 2).await.responses.remove(0);
    assert_eq!((answer.resource_type, &*answer.resource_name), (TOPIC, topic));
    answer.error_code
}

/// Changes configs of a topic, or only checks the changes.
async fn change(
    client: &mut Client,
    topic: &str,
    configs: &[(&str, i8, Option<&str>)],
    validate_only: bool,
) -> ErrorCode {
    let config =
        |(name, operation, value): &(&str, i8, Option<&str>)| incremental::AlterableConfig {
            name: (*name).into(),
            config_operation: *operation,
            value: value.map(KString::from),
        };
    let resource = incremental::AlterConfigsResource {
        resource_type: TOPIC,
        resource_name: topic.into(),
        configs: configs.iter().map(config).collect(),
    };
    let request =
        incremental::IncrementalAlterConfigsRequest { resources: vec![resource], validate_only };
    let answer = client.call(&request, 1).await.responses.remove(0);
    assert_eq!((answer.resource_type, &*answer.resource_name), (TOPIC, topic));
    answer.error_code
}

fn overrides(client: &Client) -> Vec<(String, String)> {
    let projection = client.node.broker().view.projection();
    let topic = projection.topic("t").unwrap();
    topic.configs.clone().into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn changes_are_made_whole_or_refused_with_the_right_code() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let retention = |value: &str| vec![("retention.ms".to_owned(), value.to_owned())];
    let set = ("retention.ms", SET, Some("5000"));
    assert_eq!(change(&mut client, "t", &[set], true).await, ErrorCode::NONE);
    assert_eq!(overrides(&client), [], "only checked");
    assert_eq!(change(&mut client, "t", &[set], false).await, ErrorCode::NONE);
    assert_eq!(overrides(&client), retention("5000"));
    for (changes, code) in [
        (vec![set, set], ErrorCode::INVALID_REQUEST),
        (vec![("retention.ms", 9, Some("1"))], ErrorCode::INVALID_REQUEST),
        (vec![("retention.ms", APPEND, None)], ErrorCode::INVALID_CONFIG),
        (
            vec![("max.message.bytes", SET, Some("1000000")), ("x", DELETE, None)],
            ErrorCode::INVALID_CONFIG,
        ),
    ] {
        assert_eq!(change(&mut client, "t", &changes, false).await, code, "{changes:?}");
        // What the resource is comes before what is asked of it.
        let unknown = change(&mut client, "u", &changes, false).await;
        assert_eq!(unknown, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
    assert_eq!(overrides(&client), retention("5000"), "nothing of what was refused");
    let none = replace(&mut client, "u", ("retention.ms", Some("1"))).await;
    assert_eq!(none, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let size = ("max.message.bytes", Some("1000000"));
    assert_eq!(replace(&mut client, "t", size).await, ErrorCode::NONE);
    assert_eq!(overrides(&client), [("max.message.bytes".to_owned(), "1000000".to_owned())]);
}

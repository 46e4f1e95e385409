//! `tidemill topic`.

mod describe;

use serde_json::{Value, json};
use tidemill_client::admin::NewTopic;
use tidemill_client::{Admin, ErrorCode};

use crate::cli::{TopicCommand, TopicConfig, TopicCreate, TopicDelete};
use crate::commands::configs::{TopicConfigs, alter_topic_configs, topic_configs};
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::{Table, kafka_id};

/// Does what the arguments say.
pub(super) async fn carry_out(
    session: &mut Session,
    command: &TopicCommand,
) -> Result<(), Failure> {
    let admin = session.client.admin().map_err(|error| session.failure(&error))?;
    match command {
        TopicCommand::Create(args) => create(session, &admin, args).await,
        TopicCommand::List(_) => list(session, &admin).await,
        TopicCommand::Describe(args) => describe::describe(session, &admin, args).await,
        TopicCommand::Config(args) => config(session, &admin, args).await,
        TopicCommand::Delete(args) => delete(session, &admin, args).await,
    }
}

async fn create(session: &mut Session, admin: &Admin, args: &TopicCreate) -> Result<(), Failure> {
    let mut topic = NewTopic::new(&args.name);
    topic.partitions = args.partitions;
    topic.configs = args.configs.iter().cloned().collect();
    let created = match admin.create_topic(topic).await {
        Ok(created) => Some(created),
        Err(error)
            if args.if_not_exists && error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) =>
        {
            None
        }
        Err(error) => return Err(session.failure(&error)),
    };
    let name = &args.name;
    let object = json!({
        "topic": name,
        "created": created.is_some(),
        "topic_id": created.as_ref().and_then(|created| created.id).map(|id| kafka_id(id.0.as_bytes())),
        "partitions_count": created.as_ref().and_then(|created| created.partitions),
    });
    session.console.result(object, || match created.as_ref().map(|created| created.partitions) {
        Some(Some(1)) => format!("created topic {name} with 1 partition"),
        Some(Some(count)) => format!("created topic {name} with {count} partitions"),
        Some(None) => format!("created topic {name}"),
        None => format!("topic {name} exists already"),
    })
}

async fn list(session: &mut Session, admin: &Admin) -> Result<(), Failure> {
    let topics = admin.list_topics().await.map_err(|error| session.failure(&error))?;
    let objects: Vec<Value> = topics
        .iter()
        .map(|topic| {
            json!({
                "topic": &*topic.name,
                "topic_id": topic.id.map(|id| kafka_id(id.0.as_bytes())),
                "partitions_count": topic.partitions.len(),
            })
        })
        .collect();
    session.console.result(json!({ "topics": objects }), || {
        let mut table = Table::new(&["TOPIC", "PARTITIONS"]);
        for topic in &topics {
            table.row([topic.name.to_string(), topic.partitions.len().to_string()]);
        }
        table.render()
    })
}

async fn config(session: &mut Session, admin: &Admin, args: &TopicConfig) -> Result<(), Failure> {
    if !args.set.is_empty() || !args.unset.is_empty() {
        let altered = alter_topic_configs(admin, &args.name, &args.set, &args.unset).await;
        altered.map_err(|error| session.failure(&error))?;
    }
    let configs = topic_configs(admin, &args.name).await;
    let mut configs = configs.map_err(|error| session.failure(&error))?;
    if !args.all {
        configs.keep_own();
    }
    let TopicConfigs { entries } = &configs;
    let name = &args.name;
    let objects: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name,
                "value": entry.value,
                "source": entry.source,
                "documentation": entry.documentation,
            })
        })
        .collect();
    session.console.result(json!({ "topic": name, "configs": objects }), || {
        if entries.is_empty() {
            return format!("topic {name} has every config at its default; --all shows them");
        }
        let mut table = Table::new(&["CONFIG", "VALUE", "SOURCE"]);
        for entry in entries {
            let value = entry.value.clone().unwrap_or_default();
            table.row([entry.name.clone(), value, entry.source.to_owned()]);
        }
        table.render()
    })
}

async fn delete(session: &mut Session, admin: &Admin, args: &TopicDelete) -> Result<(), Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let answers = admin.delete_topics(&names).await.map_err(|error| session.failure(&error))?;
    let answers = answers
        .into_iter()
        .map(|(name, answer)| match answer {
            Err(error)
                if args.if_exists
                    && error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) =>
            {
                (name, Ok(false))
            }
            answer => (name, answer.map(|()| true)),
        })
        .collect();
    let (deleted, failed) = session.split(answers);
    let objects: Vec<Value> = deleted
        .iter()
        .map(|(name, existed)| json!({ "topic": name, "deleted": existed }))
        .collect();
    if deleted.is_empty() {
        return failed;
    }
    session.console.result(json!({ "topics": objects }), || {
        let line = |(name, existed): &(String, bool)| match existed {
            true => format!("deleted topic {name}"),
            false => format!("topic {name} does not exist"),
        };
        deleted.iter().map(line).collect::<Vec<_>>().join("\n")
    })?;
    failed
}

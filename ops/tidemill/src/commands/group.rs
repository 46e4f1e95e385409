//! `tidemill group`.

mod describe;
mod reset;

use serde_json::{Value, json};
use tidemill_client::Admin;

use crate::cli::{GroupCommand, GroupDelete};
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::Table;

/// Does what the arguments say.
pub(super) async fn carry_out(
    session: &mut Session,
    command: &GroupCommand,
) -> Result<(), Failure> {
    let admin = session.client.admin().map_err(|error| session.failure(&error))?;
    match command {
        GroupCommand::List(_) => list(session, &admin).await,
        GroupCommand::Describe(args) => describe::describe(session, &admin, args).await,
        GroupCommand::ResetOffsets(args) => reset::reset(session, &admin, args).await,
        GroupCommand::Delete(args) => delete(session, &admin, args).await,
    }
}

async fn list(session: &mut Session, admin: &Admin) -> Result<(), Failure> {
    let groups = admin.list_groups().await.map_err(|error| session.failure(&error))?;
    let objects: Vec<Value> = groups
        .iter()
        .map(|group| {
            json!({
                "group": group.group_id,
                "state": group.state,
                "protocol_type": group.protocol_type,
                "coordinator_id": group.coordinator.0,
            })
        })
        .collect();
    session.console.result(json!({ "groups": objects }), || {
        let mut table = Table::new(&["GROUP", "STATE", "PROTOCOL", "COORDINATOR"]);
        for group in &groups {
            table.row([
                group.group_id.clone(),
                group.state.clone(),
                or_dash(&group.protocol_type),
                group.coordinator.0.to_string(),
            ]);
        }
        table.render()
    })
}

async fn delete(session: &mut Session, admin: &Admin, args: &GroupDelete) -> Result<(), Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let answers = admin.delete_groups(&names).await.map_err(|error| session.failure(&error))?;
    let (deleted, failed) = session.split(answers);
    if deleted.is_empty() {
        return failed;
    }
    let objects: Vec<Value> = deleted.iter().map(|(name, ())| json!({ "group": name })).collect();
    session.console.result(json!({ "deleted_groups": objects }), || {
        let lines = deleted.iter().map(|(name, ())| format!("deleted group {name}"));
        lines.collect::<Vec<_>>().join("\n")
    })?;
    failed
}

/// A text, or a dash where it is empty.
fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

//! A consumer group: members that join, read what they are assigned, commit, leave, fall silent and come
//! back, while the node ends and starts.

mod member;
mod offsets;
pub mod requests;

use std::time::Duration;

use futures::future::join_all;

use super::Clients;
use crate::world::gateway::Gateway;

/// Members, fewer than there are partitions.
const MEMBERS: u64 = 3;

/// Runs all members until the run ends.
pub async fn run(clients: Clients) {
    join_all((0..MEMBERS).map(|_| member::run(clients.clone()))).await;
}

/// With the faults over: what was committed must be there, and a new member must get everything.
pub async fn check(clients: &Clients, gateway: &mut Gateway) {
    check_offsets(clients, gateway).await;
    member::take_over(clients.clone()).await;
}

/// Reads what the group has committed, again and again until there is an answer, and checks it.
async fn check_offsets(clients: &Clients, gateway: &mut Gateway) {
    loop {
        let before = clients.groups.known();
        if let Ok(response) = gateway.call(&requests::fetch_offsets(), offsets::FETCH_VERSION).await
            && let Ok(positions) = requests::positions(&response)
        {
            if let Err(violation) = clients.groups.read(&before, &positions) {
                clients.history.violation(violation);
            }
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

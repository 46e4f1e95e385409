//! Where clients are told to connect, and what DescribeConfigs says of it: the address that was
//! bound, not the one asked for, whose port may be 0.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tidemill_metadata_state::command::Listener;

use crate::node::NodeConfig;

/// The only listener's name; it is its security protocol as well.
const NAME: &str = "PLAINTEXT";

/// What clients are told by a node that is bound to `bound` (nowhere, in simulation).
pub(super) fn listener(config: &NodeConfig, bound: Option<SocketAddr>) -> Listener {
    let host = config.advertised_host.clone();
    let host = host.or_else(|| bound.map(|bound| bound.ip().to_string()));
    let port = config.advertised_port.or_else(|| bound.map(|bound| bound.port()));
    Listener {
        name: NAME.to_owned(),
        host: host.unwrap_or_else(|| "localhost".to_owned()),
        port: port.unwrap_or(9092),
    }
}

/// `listeners` and `advertised.listeners`, in `configs`.
pub(super) fn describe(configs: &mut BTreeMap<String, String>, bound: SocketAddr, told: &Listener) {
    let host = match told.host.contains(':') {
        true => format!("[{}]", told.host),
        false => told.host.clone(),
    };
    let advertised = format!("{NAME}://{host}:{}", told.port);
    configs.insert("listeners".to_owned(), format!("{NAME}://{bound}"));
    configs.insert("advertised.listeners".to_owned(), advertised);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(config: &NodeConfig, bound: &str) -> [String; 2] {
        let (bound, mut configs) = (bound.parse().unwrap(), BTreeMap::new());
        describe(&mut configs, bound, &listener(config, Some(bound)));
        ["listeners", "advertised.listeners"].map(|name| configs.remove(name).unwrap())
    }

    #[test]
    fn the_bound_port_is_told_unless_another_is_set() {
        let mut config = NodeConfig::default();
        let told = described(&config, "127.0.0.1:4711");
        assert_eq!(told, ["PLAINTEXT://127.0.0.1:4711"; 2]);
        config.advertised_host = Some("broker.example".to_owned());
        config.advertised_port = Some(19092);
        let told = described(&config, "0.0.0.0:4711");
        assert_eq!(told, ["PLAINTEXT://0.0.0.0:4711", "PLAINTEXT://broker.example:19092"]);
        let told = described(&NodeConfig::default(), "[::1]:4711");
        assert_eq!(told, ["PLAINTEXT://[::1]:4711"; 2]);
    }
}

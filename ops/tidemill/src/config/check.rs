//! Whether settings can be used together: addresses without authentication, budgets and sizes.

use crate::config::Config;
use crate::failure::Failure;

/// Refuses to listen beyond loopback unless `insecure` says that this is wanted.
///
/// # Errors
/// A usage failure that names the address.
pub(crate) fn check_listens_safely(config: &Config, insecure: bool) -> Result<(), Failure> {
    let addresses = [
        ("kafka.listen_address", config.kafka.listen_address),
        ("http.listen_address", config.http.listen_address),
    ];
    for (name, address) in addresses {
        if !insecure && !address.ip().to_canonical().is_loopback() {
            let message = format!(
                "{name} {address} is reachable from other machines, and clients are not authenticated"
            );
            return Err(Failure::usage(message).hint(
                "listen on 127.0.0.1, or add --insecure if the network itself keeps strangers out",
            ));
        }
    }
    Ok(())
}

/// Refuses settings that contradict each other.
///
/// # Errors
/// A usage failure that names both.
pub(crate) fn check_fits_together(config: &Config) -> Result<(), Failure> {
    let rules = [
        (
            config.memory.request_bytes >= config.kafka.request_bytes_max,
            "memory.request_bytes must hold at least one request of kafka.request_bytes_max",
        ),
        (
            config.log.flush_timeout_ms.saturating_mul(4) <= config.log.gc_grace_ms,
            "log.gc_grace_ms must be at least four times log.flush_timeout_ms",
        ),
        (
            config.log.file_reserve_bytes <= config.log.file_bytes_max,
            "log.file_reserve_bytes must not exceed log.file_bytes_max",
        ),
    ];
    match rules.iter().find(|(holds, _)| !holds) {
        Some((_, broken)) => Err(Failure::usage(*broken)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_each_other_are_refused_by_name() {
        let mut config = Config::default();
        assert!(check_fits_together(&config).is_ok());
        config.kafka.request_bytes_max = config.memory.request_bytes + 1;
        let refused = check_fits_together(&config).unwrap_err().to_string();
        assert!(refused.contains("kafka.request_bytes_max"), "{refused}");
    }

    #[test]
    fn only_loopback_is_safe_without_a_word() {
        let mut config = Config::default();
        assert!(check_listens_safely(&config, false).is_ok());
        for address in ["0.0.0.0:9092", "[::]:9092", "10.0.0.1:9092"] {
            config.kafka.listen_address = address.parse().unwrap();
            assert!(check_listens_safely(&config, false).is_err(), "{address}");
            assert!(check_listens_safely(&config, true).is_ok(), "{address}");
        }
        for address in ["[::1]:9092", "127.0.0.9:1", "[::ffff:127.0.0.1]:9092"] {
            config.kafka.listen_address = address.parse().unwrap();
            assert!(check_listens_safely(&config, false).is_ok(), "{address}");
        }
    }
}

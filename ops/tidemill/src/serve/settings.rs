//! From the command line to settings: defaults, then the file, then options, then `--set`.

use std::fs;

use crate::cli::{DevArgs, ServerArgs};
use crate::config::{Config, apply_file, apply_setting, check_fits_together, check_listens_safely};
use crate::failure::Failure;

/// The settings of `tidemill dev`.
///
/// # Errors
/// A value is refused.
pub(super) fn of_dev(args: &DevArgs) -> Result<Config, Failure> {
    let mut config = Config::for_development();
    if let Some(data) = &args.data {
        config.node.data_dir = data
            .to_str()
            .ok_or_else(|| Failure::usage("--data: the path is not UTF-8"))?
            .to_owned();
    }
    if let Some(address) = args.kafka {
        config.kafka.listen_address = address;
    }
    if let Some(address) = args.http {
        config.http.listen_address = address;
    }
    if let Some(address) = args.postgres {
        config.postgres.listen_address = address;
    }
    checked(config, &args.shared.set, args.shared.insecure)
}

/// The settings of `tidemill server`.
///
/// # Errors
/// The file cannot be read, or a value is refused.
pub(super) fn of_server(args: &ServerArgs) -> Result<Config, Failure> {
    let config = of_server_unchecked(args)?;
    checked(config, &[], args.shared.insecure)
}

/// The settings of `tidemill server` as they are to be printed: also such that need `--insecure`.
///
/// # Errors
/// As [`of_server`].
pub(super) fn of_server_unchecked(args: &ServerArgs) -> Result<Config, Failure> {
    let mut config = Config::default();
    if let Some(path) = &args.config {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("cannot read {}: {error}", path.display()))
                .hint("make one with: tidemill server --print-config > tidemill.toml")
        })?;
        apply_file(&mut config, path, &text)?;
    }
    for setting in &args.shared.set {
        apply_setting(&mut config, setting)?;
    }
    Ok(config)
}

fn checked(mut config: Config, set: &[String], insecure: bool) -> Result<Config, Failure> {
    for setting in set {
        apply_setting(&mut config, setting)?;
    }
    check_fits_together(&config)?;
    check_listens_safely(&config, insecure)?;
    Ok(config)
}

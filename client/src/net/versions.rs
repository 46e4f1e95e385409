//! Which version of each API to speak with a broker (pure).
//!
//! The client asks with the newest ApiVersions it knows. A broker that does not know that one says
//! so in the shape of version 0, and lists which it knows (KIP-511); the client then asks again.

use std::collections::BTreeMap;

use tidemill_base::ErrorKind;
use tidemill_kafka::messages::api_versions::ApiVersionsResponse;
use tidemill_kafka::{ApiKey, ErrorCode};

use crate::error::{Error, Result};

/// The version limit of a request that can be sent in any version both sides know.
pub(crate) const ANY: i16 = i16::MAX;
/// The most APIs that are kept of a broker's list; Kafka 4.1 has fewer than 100.
const APIS_MAX: usize = 1_024;

/// The versions that a broker speaks, by API.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Versions(BTreeMap<i16, (i16, i16)>);

/// What to do with the answer to ApiVersions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Handshake {
    /// The versions are known.
    Done(Versions),
    /// Ask again with this version.
    AskAgain(i16),
    /// The broker refuses.
    Refused(ErrorCode),
}

impl Versions {
    /// Judges the answer to ApiVersions asked in version `asked`.
    pub(crate) fn judge(response: &ApiVersionsResponse, asked: i16) -> Handshake {
        let versions = Self(
            response
                .api_keys
                .iter()
                .take(APIS_MAX)
                .map(|api| (api.api_key, (api.min_version, api.max_version)))
                .collect(),
        );
        match response.error_code {
            ErrorCode::NONE => Handshake::Done(versions),
            ErrorCode::UNSUPPORTED_VERSION if asked > 0 => {
                let known = versions.pick(ApiKey::ApiVersions, asked - 1);
                Handshake::AskAgain(known.unwrap_or(0))
            }
            code => Handshake::Refused(code),
        }
    }

    /// The newest version of `api` that both sides know, and at most `limit`.
    ///
    /// # Errors
    /// `Invalid` if there is none.
    pub(crate) fn pick(&self, api: ApiKey, limit: i16) -> Result<i16> {
        let ours = api.range();
        let Some(&(broker_min, broker_max)) = self.0.get(&api.number()) else {
            let message = format!("the broker does not offer {}", api.name());
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let version = ours.version_max.min(broker_max).min(limit);
        if version >= ours.version_min.max(broker_min) {
            return Ok(version);
        }
        let message = format!(
            "{} is needed in a version from {} to {}, the broker offers {broker_min} to {broker_max}",
            api.name(),
            ours.version_min,
            ours.version_max.min(limit)
        );
        Err(Error::new(ErrorKind::Invalid, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_kafka::messages::api_versions::ApiVersion;

    fn answer(error_code: ErrorCode, apis: &[(ApiKey, i16, i16)]) -> ApiVersionsResponse {
        let api_keys = apis.iter().map(|&(api, min_version, max_version)| ApiVersion {
            api_key: api.number(),
            min_version,
            max_version,
        });
        ApiVersionsResponse {
            error_code,
            api_keys: api_keys.collect(),
            ..ApiVersionsResponse::default()
        }
    }

    fn versions(apis: &[(ApiKey, i16, i16)]) -> Versions {
        match Versions::judge(&answer(ErrorCode::NONE, apis), 4) {
            Handshake::Done(versions) => versions,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_newest_common_version_within_the_limit_is_picked() {
        let versions = versions(&[(ApiKey::Fetch, 4, 13), (ApiKey::Metadata, 0, 99)]);
        assert_eq!(versions.pick(ApiKey::Fetch, ANY).unwrap(), 13);
        assert_eq!(versions.pick(ApiKey::Fetch, 12).unwrap(), 12);
        assert_eq!(versions.pick(ApiKey::Metadata, ANY).unwrap(), 13);
    }

    #[test]
    fn no_common_version_is_invalid_and_says_what_is_offered() {
        let versions = versions(&[(ApiKey::Fetch, 0, 3), (ApiKey::Produce, 14, 20)]);
        let error = versions.pick(ApiKey::Fetch, ANY).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("the broker offers 0 to 3"), "{error}");
        assert!(versions.pick(ApiKey::Produce, ANY).is_err());
        assert!(versions.pick(ApiKey::Metadata, ANY).is_err());
    }

    #[test]
    fn an_old_broker_is_asked_again_with_what_it_knows() {
        let old = answer(ErrorCode::UNSUPPORTED_VERSION, &[(ApiKey::ApiVersions, 0, 2)]);
        assert_eq!(Versions::judge(&old, 4), Handshake::AskAgain(2));
        let silent = answer(ErrorCode::UNSUPPORTED_VERSION, &[]);
        assert_eq!(Versions::judge(&silent, 4), Handshake::AskAgain(0));
    }

    #[test]
    fn asking_again_never_goes_on_for_ever() {
        let stubborn = answer(ErrorCode::UNSUPPORTED_VERSION, &[(ApiKey::ApiVersions, 0, 4)]);
        let (mut asked, mut rounds) = (4, 0);
        while let Handshake::AskAgain(next) = Versions::judge(&stubborn, asked) {
            assert!(next < asked);
            (asked, rounds) = (next, rounds + 1);
        }
        assert_eq!(rounds, 4);
    }
}

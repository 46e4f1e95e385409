//! ApiVersions (18): what a broker speaks. A client's first request.
//!
//! A version that the broker does not know is answered with UNSUPPORTED_VERSION in the shape of
//! version 0, listing at least ApiVersions itself (KIP-511). The response's header is always of
//! version 0.

use crate::api::API_TABLE;
use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Asks what the broker speaks.
    message ApiVersionsRequest, versions 0..=4, flexible 3 {
        /// The client library's name.
        client_software_name: KString [3..],
        /// The client library's version.
        client_software_version: KString [3..],
    }

    /// What the broker speaks.
    message ApiVersionsResponse, versions 0..=4, flexible 3 {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The APIs and their versions.
        api_keys: Vec<ApiVersion> [0..],
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
    } tagged {
        /// The features that the broker could use.
        0 => supported_features: Vec<SupportedFeatureKey> [3..],
        /// The epoch of the features in use; -1 if unknown.
        1 => finalized_features_epoch: i64 [3..] = -1,
        /// The features in use.
        2 => finalized_features: Vec<FinalizedFeatureKey> [3..],
        /// A remnant of Kafka's migration from ZooKeeper.
        3 => zk_migration_ready: bool [3..],
    }

    /// The versions of an API.
    struct ApiVersion {
        /// The API's number.
        api_key: i16 [0..],
        /// Its lowest version.
        min_version: i16 [0..],
        /// Its highest version.
        max_version: i16 [0..],
    }

    /// A feature that the broker could use.
    struct SupportedFeatureKey {
        /// Its name.
        name: KString [3..],
        /// Its lowest level.
        min_version: i16 [3..],
        /// Its highest level.
        max_version: i16 [3..],
    }

    /// A feature in use.
    struct FinalizedFeatureKey {
        /// Its name.
        name: KString [3..],
        /// The highest level that brokers use.
        max_version_level: i16 [3..],
        /// The lowest level that brokers use.
        min_version_level: i16 [3..],
    }
}

impl ApiVersionsResponse {
    /// The answer that lists every API of [`API_TABLE`].
    #[must_use]
    pub fn served() -> Self {
        let api_keys = API_TABLE.iter().map(|range| ApiVersion {
            api_key: range.api.number(),
            min_version: range.version_min,
            max_version: range.version_max,
        });
        Self { api_keys: api_keys.collect(), ..Self::default() }
    }
}

//! DescribeConfigs (32): the configs of topics and brokers.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Whose configs to tell.
    message DescribeConfigsRequest, versions 1..=4, flexible 4 {
        /// The resources.
        resources: Vec<DescribeConfigsResource> [0..],
        /// Whether to tell where else a value could come from.
        include_synonyms: bool [1..],
        /// Whether to tell what each config means.
        include_documentation: bool [3..],
    }

    /// A resource whose configs to tell.
    struct DescribeConfigsResource {
        /// 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
        resource_type: i8 [0..],
        /// Its name: a topic's name, a broker's number.
        resource_name: KString [0..],
        /// The configs to tell; null for all.
        configuration_keys: Option<Vec<KString>> [0..] null [0..],
    }

    /// The configs.
    message DescribeConfigsResponse, versions 1..=4, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The configs by resource.
        results: Vec<DescribeConfigsResult> [0..],
    }

    /// The configs of a resource.
    struct DescribeConfigsResult {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [0..] null [0..],
        /// The resource's type, as in the request.
        resource_type: i8 [0..],
        /// The resource's name.
        resource_name: KString [0..],
        /// Its configs.
        configs: Vec<DescribeConfigsResourceResult> [0..],
    }

    /// A config.
    struct DescribeConfigsResourceResult {
        /// Its name.
        name: KString [0..],
        /// Its value; null if it is a secret.
        value: Option<KString> [0..] null [0..],
        /// Whether it cannot be changed.
        read_only: bool [0..],
        /// Where the value comes from: 1 topic, 2 broker (dynamic), 3 all brokers (dynamic),
        /// 4 broker (static), 5 default, 6 broker logger; -1 if unknown.
        config_source: i8 [1..] = -1,
        /// Whether it is a secret.
        is_sensitive: bool [0..],
        /// Where else the value could come from, strongest first.
        synonyms: Vec<DescribeConfigsSynonym> [1..],
        /// 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password; 0 if
        /// unknown.
        config_type: i8 [3..],
        /// What it means.
        documentation: Option<KString> [3..] null [0..],
    }

    /// Where else a config's value could come from.
    struct DescribeConfigsSynonym {
        /// The config's name there.
        name: KString [1..],
        /// Its value there.
        value: Option<KString> [1..] null [0..],
        /// The source, as in `config_source`.
        source: i8 [1..],
    }
}

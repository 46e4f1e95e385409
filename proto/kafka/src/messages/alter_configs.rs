//! AlterConfigs (33): sets all configs of topics and brokers; what is not named is reset.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Configs to set.
    message AlterConfigsRequest, versions 0..=2, flexible 2 {
        /// The configs by resource.
        resources: Vec<AlterConfigsResource> [0..],
        /// Whether to check only, and change nothing.
        validate_only: bool [0..],
    }

    /// The configs of a resource.
    struct AlterConfigsResource {
        /// The resource's type, as in DescribeConfigs.
        resource_type: i8 [0..],
        /// The resource's name.
        resource_name: KString [0..],
        /// Its configs, all of them.
        configs: Vec<AlterableConfig> [0..],
    }

    /// A config.
    struct AlterableConfig {
        /// Its name.
        name: KString [0..],
        /// Its value.
        value: Option<KString> [0..] null [0..],
    }

    /// What became of the resources.
    message AlterConfigsResponse, versions 0..=2, flexible 2 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The outcome by resource.
        responses: Vec<AlterConfigsResourceResponse> [0..],
    }

    /// What became of a resource.
    struct AlterConfigsResourceResponse {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [0..] null [0..],
        /// The resource's type.
        resource_type: i8 [0..],
        /// The resource's name.
        resource_name: KString [0..],
    }
}

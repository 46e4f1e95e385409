//! IncrementalAlterConfigs (44): changes single configs of topics and brokers.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Configs to change.
    message IncrementalAlterConfigsRequest, versions 0..=1, flexible 1 {
        /// The changes by resource.
        resources: Vec<AlterConfigsResource> [0..],
        /// Whether to check only, and change nothing.
        validate_only: bool [0..],
    }

    /// The changes of a resource.
    struct AlterConfigsResource {
        /// The resource's type, as in DescribeConfigs.
        resource_type: i8 [0..],
        /// The resource's name.
        resource_name: KString [0..],
        /// Its changes.
        configs: Vec<AlterableConfig> [0..],
    }

    /// A change of a config.
    struct AlterableConfig {
        /// Its name.
        name: KString [0..],
        /// 0: set, 1: reset to the default, 2: append to a list, 3: take out of a list.
        config_operation: i8 [0..],
        /// The value to set, append or take out.
        value: Option<KString> [0..] null [0..],
    }

    /// What became of the resources.
    message IncrementalAlterConfigsResponse, versions 0..=1, flexible 1 {
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

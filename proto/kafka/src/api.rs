//! Which APIs are served, in which versions: one list.
//!
//! The version ranges are those of the message tables, which follow Apache Kafka 4.1. Produce is
//! listed from 0 because old clients look for it before they enable compression; versions 0 to 2
//! are answered with UNSUPPORTED_VERSION in their own shape.

use std::ops::RangeInclusive;

use crate::message::{Message, Request, Response};
use crate::messages::*;

/// Hands the list of APIs to another macro: name, number, request, response.
macro_rules! for_each_api {
    ($then:ident) => {
        $then! {
            Produce = 0, ProduceRequest => ProduceResponse;
            Fetch = 1, FetchRequest => FetchResponse;
            ListOffsets = 2, ListOffsetsRequest => ListOffsetsResponse;
            Metadata = 3, MetadataRequest => MetadataResponse;
            OffsetCommit = 8, OffsetCommitRequest => OffsetCommitResponse;
            OffsetFetch = 9, OffsetFetchRequest => OffsetFetchResponse;
            FindCoordinator = 10, FindCoordinatorRequest => FindCoordinatorResponse;
            JoinGroup = 11, JoinGroupRequest => JoinGroupResponse;
            Heartbeat = 12, HeartbeatRequest => HeartbeatResponse;
            LeaveGroup = 13, LeaveGroupRequest => LeaveGroupResponse;
            SyncGroup = 14, SyncGroupRequest => SyncGroupResponse;
            DescribeGroups = 15, DescribeGroupsRequest => DescribeGroupsResponse;
            ListGroups = 16, ListGroupsRequest => ListGroupsResponse;
            ApiVersions = 18, ApiVersionsRequest => ApiVersionsResponse;
            CreateTopics = 19, CreateTopicsRequest => CreateTopicsResponse;
            DeleteTopics = 20, DeleteTopicsRequest => DeleteTopicsResponse;
            DeleteRecords = 21, DeleteRecordsRequest => DeleteRecordsResponse;
            InitProducerId = 22, InitProducerIdRequest => InitProducerIdResponse;
            OffsetForLeaderEpoch = 23, OffsetForLeaderEpochRequest => OffsetForLeaderEpochResponse;
            DescribeConfigs = 32, DescribeConfigsRequest => DescribeConfigsResponse;
            AlterConfigs = 33, AlterConfigsRequest => AlterConfigsResponse;
            CreatePartitions = 37, CreatePartitionsRequest => CreatePartitionsResponse;
            DeleteGroups = 42, DeleteGroupsRequest => DeleteGroupsResponse;
            IncrementalAlterConfigs = 44, IncrementalAlterConfigsRequest => IncrementalAlterConfigsResponse;
            OffsetDelete = 47, OffsetDeleteRequest => OffsetDeleteResponse;
            DescribeCluster = 60, DescribeClusterRequest => DescribeClusterResponse;
            DescribeTopicPartitions = 75, DescribeTopicPartitionsRequest => DescribeTopicPartitionsResponse;
        }
    };
}
pub(crate) use for_each_api;

/// The versions of an API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApiRange {
    /// The API.
    pub api: ApiKey,
    /// Kafka's name of it.
    pub name: &'static str,
    /// The lowest version served.
    pub version_min: i16,
    /// The highest version served.
    pub version_max: i16,
    /// The first version with compact lengths and tagged fields; `i16::MAX` if there is none.
    pub flexible_from: i16,
}

impl ApiRange {
    /// The versions served.
    #[must_use]
    pub fn versions(&self) -> RangeInclusive<i16> {
        self.version_min..=self.version_max
    }

    /// Whether the messages and headers of a version have tagged fields.
    #[must_use]
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }
}

macro_rules! define_apis {
    ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {
        /// An API that is served.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("[`", stringify!($request), "`], number ", stringify!($number), ".")]
                $api = $number,
            )*
        }

        /// Every API that is served, by number.
        pub const API_TABLE: &[ApiRange] = &[$(
            ApiRange {
                api: ApiKey::$api,
                name: stringify!($api),
                version_min: *$request::VERSIONS.start(),
                version_max: *$request::VERSIONS.end(),
                flexible_from: $request::FLEXIBLE_FROM,
            },
        )*];

        impl ApiKey {
            /// The API of this number, if it is served.
            #[must_use]
            pub fn from_number(number: i16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$api),)*
                    _ => None,
                }
            }

            /// The versions in which it is served.
            #[must_use]
            pub fn range(self) -> &'static ApiRange {
                match self {
                    $(Self::$api => const { find(ApiKey::$api) },)*
                }
            }
        }

        $(
            impl Request for $request {
                const API: ApiKey = ApiKey::$api;
                type Response = $response;
            }

            impl Response for $response {
                const API: ApiKey = ApiKey::$api;
                type Request = $request;
            }
        )*
    };
}
for_each_api!(define_apis);

const fn find(api: ApiKey) -> &'static ApiRange {
    let mut index = 0;
    while API_TABLE[index].api as i16 != api as i16 {
        index += 1;
    }
    &API_TABLE[index]
}

impl ApiKey {
    /// The number on the wire.
    #[must_use]
    pub fn number(self) -> i16 {
        self as i16
    }

    /// Kafka's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.range().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_number_and_finds_itself() {
        assert!(API_TABLE.is_sorted_by_key(|range| range.api.number()));
        for range in API_TABLE {
            assert_eq!(ApiKey::from_number(range.api.number()), Some(range.api));
            assert_eq!(range.api.range(), range);
        }
    }

    #[test]
    fn requests_and_responses_have_the_same_versions() {
        macro_rules! check {
            ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {$(
                assert_eq!($request::VERSIONS, $response::VERSIONS, stringify!($api));
                assert_eq!($request::FLEXIBLE_FROM, $response::FLEXIBLE_FROM, stringify!($api));
            )*};
        }
        for_each_api!(check);
    }

    #[test]
    fn the_documented_list_is_the_table() {
        let document = include_str!("../../../docs/formats/kafka-wire.md");
        let documented: Vec<&str> = document
            .lines()
            .skip_while(|line| !line.starts_with("| key |"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        let expected: Vec<String> = API_TABLE
            .iter()
            .map(|range| {
                let flexible = match range.flexible_from {
                    i16::MAX => "never".to_owned(),
                    from => from.to_string(),
                };
                let versions = format!("{}-{}", range.version_min, range.version_max);
                format!("| {} | {} | {versions} | {flexible} |", range.api.number(), range.name)
            })
            .collect();
        assert_eq!(documented, expected);
    }
}

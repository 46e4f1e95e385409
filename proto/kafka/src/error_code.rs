//! Kafka's error codes: one table for broker and client.
//!
//! Codes, names and whether Kafka's own client retries are facts of Apache Kafka 4.1; the kinds say
//! what they mean in our words. The two answers differ on purpose where Kafka retries what has
//! first to be looked up again (`Conflict`, `NotFound`) or may have happened (`Ambiguous`).

use std::fmt;

use tidemill_base::ErrorKind;

/// An error code on the wire; 0 is success. A code that this table lacks keeps its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ErrorCode(pub i16);

/// One row of the table.
struct Row {
    name: &'static str,
    kind: ErrorKind,
    retriable: bool,
    description: &'static str,
}

macro_rules! retriable {
    (retriable) => {
        true
    };
    (fatal) => {
        false
    };
}

macro_rules! error_codes {
    ($($code:literal, $name:ident, $kind:ident, $retriable:ident, $description:literal;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!($code, ": ", $description, ".")]
                pub const $name: Self = Self($code);
            )*

            fn row(self) -> Option<&'static Row> {
                match self.0 {
                    $($code => Some(&const { Row {
                        name: stringify!($name),
                        kind: ErrorKind::$kind,
                        retriable: retriable!($retriable),
                        description: $description,
                    } }),)*
                    _ => None,
                }
            }

            /// Every error code of the table, by number.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

// Code, name, kind, whether Kafka's client retries, what it says.
error_codes! {
    -1, UNKNOWN_SERVER_ERROR, Bug, fatal, "the broker failed in a way it did not expect";
    1, OFFSET_OUT_OF_RANGE, NotFound, fatal, "the offset is not between the partition's log start and its end";
    2, CORRUPT_MESSAGE, Corrupt, retriable, "the batch fails its checksum or is malformed";
    3, UNKNOWN_TOPIC_OR_PARTITION, NotFound, retriable, "the broker does not know the topic or partition";
    4, INVALID_FETCH_SIZE, Invalid, fatal, "the fetch size is not valid";
    5, LEADER_NOT_AVAILABLE, Retry, retriable, "the partition has no leader at the moment";
    6, NOT_LEADER_OR_FOLLOWER, Conflict, retriable, "the broker does not lead this partition any more";
    7, REQUEST_TIMED_OUT, Ambiguous, retriable, "the request took too long; it may have taken effect";
    8, BROKER_NOT_AVAILABLE, Retry, fatal, "the broker is not available";
    9, REPLICA_NOT_AVAILABLE, Retry, retriable, "the replica is not available";
    10, MESSAGE_TOO_LARGE, Invalid, fatal, "the batch is larger than the topic allows";
    11, STALE_CONTROLLER_EPOCH, Fenced, fatal, "a newer controller exists";
    12, OFFSET_METADATA_TOO_LARGE, Invalid, fatal, "the metadata text of the offset is too long";
    13, NETWORK_EXCEPTION, Ambiguous, retriable, "the connection broke before the answer came";
    14, COORDINATOR_LOAD_IN_PROGRESS, Retry, retriable, "the coordinator is still loading the group";
    15, COORDINATOR_NOT_AVAILABLE, Retry, retriable, "the group has no coordinator at the moment";
    16, NOT_COORDINATOR, Conflict, retriable, "the broker does not coordinate this group any more";
    17, INVALID_TOPIC_EXCEPTION, Invalid, fatal, "the topic's name is not valid for this operation";
    18, RECORD_LIST_TOO_LARGE, Invalid, fatal, "the records are larger than the broker accepts in one piece";
    19, NOT_ENOUGH_REPLICAS, Retry, retriable, "too few replicas are in sync";
    20, NOT_ENOUGH_REPLICAS_AFTER_APPEND, Ambiguous, retriable, "written, but to too few replicas in sync";
    21, INVALID_REQUIRED_ACKS, Invalid, fatal, "acks must be 0, 1 or all (-1)";
    22, ILLEGAL_GENERATION, Conflict, fatal, "the group is in another generation";
    23, INCONSISTENT_GROUP_PROTOCOL, Invalid, fatal, "the member shares no protocol with the group, or names none";
    24, INVALID_GROUP_ID, Invalid, fatal, "the group id is not valid";
    25, UNKNOWN_MEMBER_ID, NotFound, fatal, "the coordinator does not know the member";
    26, INVALID_SESSION_TIMEOUT, Invalid, fatal, "the session timeout is outside the range that the broker allows";
    27, REBALANCE_IN_PROGRESS, Conflict, fatal, "the group is rebalancing; join again";
    28, INVALID_COMMIT_OFFSET_SIZE, Invalid, fatal, "the offsets to commit are too large";
    29, TOPIC_AUTHORIZATION_FAILED, Denied, fatal, "no permission for the topic";
    30, GROUP_AUTHORIZATION_FAILED, Denied, fatal, "no permission for the group";
    31, CLUSTER_AUTHORIZATION_FAILED, Denied, fatal, "no permission for the cluster";
    32, INVALID_TIMESTAMP, Invalid, fatal, "a record's timestamp is outside the range that the topic allows";
    33, UNSUPPORTED_SASL_MECHANISM, Invalid, fatal, "the broker does not offer this SASL mechanism";
    34, ILLEGAL_SASL_STATE, Invalid, fatal, "the request does not fit the state of the SASL handshake";
    35, UNSUPPORTED_VERSION, Invalid, fatal, "the broker does not support this version of the request";
    36, TOPIC_ALREADY_EXISTS, Conflict, fatal, "a topic of this name exists";
    37, INVALID_PARTITIONS, Invalid, fatal, "the number of partitions is not valid";
    38, INVALID_REPLICATION_FACTOR, Invalid, fatal, "the replication factor is not valid";
    39, INVALID_REPLICA_ASSIGNMENT, Invalid, fatal, "the assignment of replicas is not valid";
    40, INVALID_CONFIG, Invalid, fatal, "the configuration is not valid";
    41, NOT_CONTROLLER, Conflict, retriable, "the broker is not the controller";
    42, INVALID_REQUEST, Invalid, fatal, "the request is malformed or makes no sense here";
    43, UNSUPPORTED_FOR_MESSAGE_FORMAT, Invalid, fatal, "the message format does not support the request";
    44, POLICY_VIOLATION, Denied, fatal, "a policy of the cluster forbids the request";
    45, OUT_OF_ORDER_SEQUENCE_NUMBER, Conflict, fatal, "the batch's sequence does not follow the last one stored";
    46, DUPLICATE_SEQUENCE_NUMBER, Conflict, fatal, "the batch's sequence was stored before, too long ago to say where";
    47, INVALID_PRODUCER_EPOCH, Fenced, fatal, "a newer epoch of the producer exists";
    48, INVALID_TXN_STATE, Invalid, fatal, "the transaction is not in a state that allows this";
    49, INVALID_PRODUCER_ID_MAPPING, Conflict, fatal, "the producer id does not belong to the transactional id";
    50, INVALID_TRANSACTION_TIMEOUT, Invalid, fatal, "the transaction timeout is longer than the broker allows";
    51, CONCURRENT_TRANSACTIONS, Retry, retriable, "another operation on the same transaction is still going on";
    52, TRANSACTION_COORDINATOR_FENCED, Fenced, fatal, "a newer coordinator of the transaction exists";
    53, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Denied, fatal, "no permission for the transactional id";
    54, SECURITY_DISABLED, Invalid, fatal, "security features are switched off";
    55, OPERATION_NOT_ATTEMPTED, Retry, fatal, "not attempted, because another part of the request failed";
    56, KAFKA_STORAGE_ERROR, Retry, retriable, "the broker's storage failed";
    57, LOG_DIR_NOT_FOUND, NotFound, fatal, "the broker has no such log directory";
    58, SASL_AUTHENTICATION_FAILED, Denied, fatal, "authentication failed";
    59, UNKNOWN_PRODUCER_ID, NotFound, fatal, "the broker knows nothing of the producer id any more";
    60, REASSIGNMENT_IN_PROGRESS, Conflict, fatal, "the partition is being reassigned";
    61, DELEGATION_TOKEN_AUTH_DISABLED, Invalid, fatal, "delegation tokens are switched off";
    62, DELEGATION_TOKEN_NOT_FOUND, NotFound, fatal, "the delegation token does not exist";
    63, DELEGATION_TOKEN_OWNER_MISMATCH, Denied, fatal, "the delegation token belongs to someone else";
    64, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, Denied, fatal, "delegation tokens may not be asked for over this connection";
    65, DELEGATION_TOKEN_AUTHORIZATION_FAILED, Denied, fatal, "no permission for the delegation token";
    66, DELEGATION_TOKEN_EXPIRED, Denied, fatal, "the delegation token has expired";
    67, INVALID_PRINCIPAL_TYPE, Invalid, fatal, "the type of principal is not supported";
    68, NON_EMPTY_GROUP, Conflict, fatal, "the group has members";
    69, GROUP_ID_NOT_FOUND, NotFound, fatal, "the group does not exist";
    70, FETCH_SESSION_ID_NOT_FOUND, NotFound, retriable, "the broker does not know the fetch session any more";
    71, INVALID_FETCH_SESSION_EPOCH, Conflict, retriable, "the epoch of the fetch session is not the expected one";
    72, LISTENER_NOT_FOUND, Retry, retriable, "the leader has no listener that matches this one";
    73, TOPIC_DELETION_DISABLED, Denied, fatal, "topics may not be deleted";
    74, FENCED_LEADER_EPOCH, Conflict, retriable, "the leader epoch is older than the broker's";
    75, UNKNOWN_LEADER_EPOCH, Retry, retriable, "the leader epoch is newer than the broker's";
    76, UNSUPPORTED_COMPRESSION_TYPE, Invalid, fatal, "the client's version cannot read the topic's compression";
    77, STALE_BROKER_EPOCH, Fenced, fatal, "a newer registration of the broker exists";
    78, OFFSET_NOT_AVAILABLE, Retry, retriable, "the new leader does not know the high watermark yet";
    79, MEMBER_ID_REQUIRED, Conflict, fatal, "join again with the member id of this answer";
    80, PREFERRED_LEADER_NOT_AVAILABLE, Retry, retriable, "the preferred leader is not available";
    81, GROUP_MAX_SIZE_REACHED, Throttled, fatal, "the group has as many members as it may have";
    82, FENCED_INSTANCE_ID, Fenced, fatal, "another member has taken over the group instance id";
    83, ELIGIBLE_LEADERS_NOT_AVAILABLE, Retry, retriable, "no replica may become leader at the moment";
    84, ELECTION_NOT_NEEDED, Conflict, retriable, "the partition's leader is already the wanted one";
    85, NO_REASSIGNMENT_IN_PROGRESS, NotFound, fatal, "the partition is not being reassigned";
    86, GROUP_SUBSCRIBED_TO_TOPIC, Conflict, fatal, "the group is subscribed to the topic";
    87, INVALID_RECORD, Invalid, fatal, "a record is not valid for the topic";
    88, UNSTABLE_OFFSET_COMMIT, Retry, retriable, "an open transaction holds offsets of the group";
    89, THROTTLING_QUOTA_EXCEEDED, Throttled, retriable, "a quota is used up";
    90, PRODUCER_FENCED, Fenced, fatal, "a newer producer with the same transactional id exists";
    91, RESOURCE_NOT_FOUND, NotFound, fatal, "the request names something that does not exist";
    92, DUPLICATE_RESOURCE, Invalid, fatal, "the request names the same thing twice";
    93, UNACCEPTABLE_CREDENTIAL, Invalid, fatal, "the credential is not acceptable";
    94, INCONSISTENT_VOTER_SET, Conflict, fatal, "sender or receiver is not one of the expected voters";
    95, INVALID_UPDATE_VERSION, Invalid, fatal, "the version of the update is not valid";
    96, FEATURE_UPDATE_FAILED, Conflict, fatal, "the features could not be updated";
    97, PRINCIPAL_DESERIALIZATION_FAILURE, Corrupt, fatal, "the forwarded principal could not be read";
    98, SNAPSHOT_NOT_FOUND, NotFound, fatal, "the snapshot does not exist";
    99, POSITION_OUT_OF_RANGE, Invalid, fatal, "the position is outside the snapshot";
    100, UNKNOWN_TOPIC_ID, NotFound, retriable, "the broker does not know the topic id";
    101, DUPLICATE_BROKER_REGISTRATION, Conflict, fatal, "the broker id is in use";
    102, BROKER_ID_NOT_REGISTERED, NotFound, fatal, "the broker id is not registered";
    103, INCONSISTENT_TOPIC_ID, Conflict, retriable, "the topic id is not that of the stored topic";
    104, INCONSISTENT_CLUSTER_ID, Invalid, fatal, "the cluster id is not that of this cluster";
    105, TRANSACTIONAL_ID_NOT_FOUND, NotFound, fatal, "the transactional id does not exist";
    106, FETCH_SESSION_TOPIC_ID_ERROR, Conflict, retriable, "the fetch session mixes topic ids and names";
    107, INELIGIBLE_REPLICA, Conflict, fatal, "a replica may not be in sync";
    108, NEW_LEADER_ELECTED, Conflict, fatal, "the partition changed, and so did its leader";
    109, OFFSET_MOVED_TO_TIERED_STORAGE, NotFound, fatal, "the offset lies in tiered storage";
    110, FENCED_MEMBER_EPOCH, Fenced, fatal, "the member's epoch is over; give up all partitions and join again";
    111, UNRELEASED_INSTANCE_ID, Conflict, fatal, "another member still uses the group instance id";
    112, UNSUPPORTED_ASSIGNOR, Invalid, fatal, "the group does not support the assignor";
    113, STALE_MEMBER_EPOCH, Conflict, fatal, "the member's epoch is old; wait for the next heartbeat's";
    114, MISMATCHED_ENDPOINT_TYPE, Invalid, fatal, "the endpoint is of another type";
    115, UNSUPPORTED_ENDPOINT_TYPE, Invalid, fatal, "the type of endpoint is not supported";
    116, UNKNOWN_CONTROLLER_ID, NotFound, fatal, "the controller id is not known";
    117, UNKNOWN_SUBSCRIPTION_ID, NotFound, fatal, "the telemetry subscription is not known any more";
    118, TELEMETRY_TOO_LARGE, Invalid, fatal, "the telemetry is larger than the broker accepts";
    119, INVALID_REGISTRATION, Invalid, fatal, "the registration of the broker is not valid";
    120, TRANSACTION_ABORTABLE, Conflict, fatal, "the transaction failed and must be aborted";
    121, INVALID_RECORD_STATE, Conflict, fatal, "the records are not in a state to be acknowledged";
    122, SHARE_SESSION_NOT_FOUND, NotFound, retriable, "the share session does not exist";
    123, INVALID_SHARE_SESSION_EPOCH, Conflict, retriable, "the epoch of the share session is not the expected one";
    124, FENCED_STATE_EPOCH, Fenced, fatal, "the epoch of the share group's state is over";
    125, INVALID_VOTER_KEY, Invalid, fatal, "the voter's key is not that of the replica";
    126, DUPLICATE_VOTER, Conflict, fatal, "the voter is in the set already";
    127, VOTER_NOT_FOUND, NotFound, fatal, "the voter is not in the set";
    128, INVALID_REGULAR_EXPRESSION, Invalid, fatal, "the regular expression is not valid";
    129, REBOOTSTRAP_REQUIRED, Conflict, fatal, "the client's metadata is stale; bootstrap again";
    130, STREAMS_INVALID_TOPOLOGY, Invalid, fatal, "the topology is not valid";
    131, STREAMS_INVALID_TOPOLOGY_EPOCH, Invalid, fatal, "the epoch of the topology is not valid";
    132, STREAMS_TOPOLOGY_FENCED, Fenced, fatal, "a newer epoch of the topology exists";
    133, SHARE_SESSION_LIMIT_REACHED, Throttled, retriable, "there are as many share sessions as there may be";
}

impl ErrorCode {
    /// 0: success.
    pub const NONE: Self = Self(0);

    /// Whether this is success.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self == Self::NONE
    }

    /// Whether this is an error.
    #[must_use]
    pub fn is_error(self) -> bool {
        !self.is_ok()
    }

    /// What a caller may do; `None` for success. An unknown code is a `Bug`: of which side is not
    /// known, and repeating is not known to be safe.
    #[must_use]
    pub fn kind(self) -> Option<ErrorKind> {
        self.is_error().then(|| self.row().map_or(ErrorKind::Bug, |row| row.kind))
    }

    /// Kafka's name, `NONE` for success and `UNKNOWN` for a code that the table lacks.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.is_ok() { "NONE" } else { self.row().map_or("UNKNOWN", |row| row.name) }
    }

    /// Whether Kafka's own client sends the request again, after it has refreshed its metadata.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        self.row().is_some_and(|row| row.retriable)
    }

    /// What the code says, as a phrase without a full stop.
    #[must_use]
    pub fn description(self) -> &'static str {
        if self.is_ok() {
            "success"
        } else {
            self.row().map_or("an error code that is not known here", |row| row.description)
        }
    }

    /// The code as a result.
    ///
    /// # Errors
    /// The code itself, unless it is success.
    pub fn check(self) -> Result<(), Self> {
        if self.is_ok() { Ok(()) } else { Err(self) }
    }
}

impl From<i16> for ErrorCode {
    fn from(code: i16) -> Self {
        Self(code)
    }
}

impl std::error::Error for ErrorCode {}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.description())
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::ResponseError;
    use kafka_protocol::error::ParseResponseErrorCode;

    use super::*;

    /// Where the published crate is behind Kafka 4.1, whose classes say otherwise.
    const RETRIABLE_IN_KAFKA_ONLY: [ErrorCode; 1] = [ErrorCode::CONCURRENT_TRANSACTIONS];

    #[test]
    fn every_code_from_minus_one_to_133_is_in_the_table() {
        let codes: Vec<i16> = ErrorCode::ALL.iter().map(|code| code.0).collect();
        let expected: Vec<i16> = std::iter::once(-1).chain(1..=133).collect();
        assert_eq!(codes, expected);
    }

    #[test]
    fn names_and_retriability_agree_with_the_published_crate() {
        for code in ErrorCode::ALL {
            let theirs: ResponseError = code.0.err().unwrap();
            let letters = code.name().replace('_', "").to_lowercase();
            assert_eq!(letters, format!("{theirs:?}").to_lowercase(), "{code}");
            let expected = theirs.is_retriable() || RETRIABLE_IN_KAFKA_ONLY.contains(code);
            assert_eq!(code.is_retriable(), expected, "{code}");
        }
    }

    #[test]
    fn every_code_has_a_row_and_is_no_success() {
        for code in ErrorCode::ALL {
            assert!(code.row().is_some());
            assert_eq!(code.check(), Err(*code));
        }
    }

    #[test]
    fn unknown_codes_keep_their_number_and_are_no_success() {
        let code = ErrorCode(4711);
        assert_eq!((code.name(), code.kind()), ("UNKNOWN", Some(ErrorKind::Bug)));
        assert!(code.to_string().contains("4711"));
        assert_eq!(ErrorCode::NONE.kind(), None);
        assert_eq!(ErrorCode::NONE.check(), Ok(()));
    }

    #[test]
    fn what_kafka_retries_is_never_invalid_or_fenced_or_denied() {
        use ErrorKind::{Denied, Fenced, Invalid};
        for code in ErrorCode::ALL.iter().filter(|code| code.is_retriable()) {
            assert!(!matches!(code.kind(), Some(Invalid | Fenced | Denied)), "{code}");
        }
    }
}

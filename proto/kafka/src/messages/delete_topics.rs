//! DeleteTopics (20).

use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Topics to delete.
    message DeleteTopicsRequest, versions 1..=6, flexible 4 {
        /// The topics, by name or id.
        topics: Vec<DeleteTopicState> [6..],
        /// The topics' names.
        topic_names: Vec<KString> [..=5],
        /// How long the broker may take.
        timeout_ms: i32 [0..],
    }

    /// A topic to delete.
    struct DeleteTopicState {
        /// Its name; null to go by the id.
        name: Option<KString> [6..] null [6..],
        /// Its id; zero to go by the name.
        topic_id: Uuid [6..],
    }

    /// What became of the topics.
    message DeleteTopicsResponse, versions 1..=6, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// The outcome by topic.
        responses: Vec<DeletableTopicResult> [0..],
    }

    /// What became of a topic.
    struct DeletableTopicResult {
        /// Its name; null if it was asked by an unknown id.
        name: Option<KString> [0..] null [6..],
        /// Its id.
        topic_id: Uuid [6..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [5..] null [5..],
    }
}

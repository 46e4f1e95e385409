//! Every message as a table, one file per API.
//!
//! Fields are named as in Kafka's message definitions (of Apache Kafka 4.1), in snake case; their
//! meaning is Kafka's. A field's documentation says in which versions it is on the wire.

pub mod api_versions;
pub mod create_topics;
pub mod fetch;
pub mod init_producer_id;
pub mod leader_hint;
pub mod list_offsets;
pub mod metadata;
pub mod produce;

pub use api_versions::{ApiVersionsRequest, ApiVersionsResponse};
pub use create_topics::{CreateTopicsRequest, CreateTopicsResponse};
pub use fetch::{FetchRequest, FetchResponse};
pub use init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
pub use list_offsets::{ListOffsetsRequest, ListOffsetsResponse};
pub use metadata::{MetadataRequest, MetadataResponse};
pub use produce::{ProduceRequest, ProduceResponse};

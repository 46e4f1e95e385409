//! The Kafka wire codec: messages as tables, decoded from bytes, written as parts.

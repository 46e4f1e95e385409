//! A Kafka client: batching producer, manual and group consumer, admin.

//! Benchmarks: an open-loop Kafka load driver, peers and floors.

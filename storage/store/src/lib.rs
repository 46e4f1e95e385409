//! Log stores, the log writer and reader, the hot cache and the garbage collector.

//! What a broker decides: groups, fetch waiting, fetch sessions, produce admission (pure).

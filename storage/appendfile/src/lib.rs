//! Appending to files so that a torn tail is always found and never mistaken for data.

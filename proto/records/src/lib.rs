//! Record batch v2 as a view over bytes, and its codecs, with bounded output.

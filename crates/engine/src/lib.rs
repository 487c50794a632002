//! Wiring and the access loop.

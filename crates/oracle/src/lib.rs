//! Slow, obvious models to compare with.

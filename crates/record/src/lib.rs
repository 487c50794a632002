//! Recorders and importers of foreign traces.

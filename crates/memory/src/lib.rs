//! Address spaces, reservations, population maps.

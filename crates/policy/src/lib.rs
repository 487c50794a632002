//! The policy contract and the catalogue of policies.

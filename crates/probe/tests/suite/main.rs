//! The chases against every machine of the catalogue, and against times with jitter.

mod catalogue;
mod noisy;

mod whole;

//! Counters with a name, a unit and a sentence, and the result record.

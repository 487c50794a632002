//! Requests for memory without a size.

use super::{Amount, MemoryRequest};
use crate::failure::Failure;

/// An option, true if it was given, and the reason why it needs a size of memory. No reason means
/// that memory without limit serves the option.
type AskedOption = (&'static str, bool, Option<&'static str>);

impl MemoryRequest {
    /// Returns the request with memory without limit, if it has no size and an option asks for
    /// memory that is modelled down to the frame.
    ///
    /// # Errors
    /// [`Failure::Wrong`] if an option needs a size, with the reason.
    pub fn sized(mut self) -> Result<Self, Failure> {
        if self.memory.is_some() || self.pagetypeinfo.is_some() {
            return Ok(self);
        }
        let given = self
            .options()
            .into_iter()
            .filter(|(_, is_given, _)| *is_given);
        let given: Vec<AskedOption> = given.collect();
        let reason = |(option, _, why): &AskedOption| {
            why.map(|why| format!("{option} {why}: add a size, such as --memory 75%"))
        };
        if let Some(why) = given.iter().find_map(reason) {
            return Err(Failure::Wrong(why));
        }
        if let Some((option, ..)) = given.first() {
            self.memory = Some(Amount::Unlimited);
            self.implied_by = Some(option);
        }
        Ok(self)
    }

    /// All options but the sizes. A value that is the default has no effect.
    fn options(&self) -> [AskedOption; 13] {
        let usual = Self::unlimited();
        let occupied = self.occupied > usual.occupied;
        [
            ("--after", !self.after.is_empty(), None),
            (
                "--occupied",
                occupied,
                Some("is a share of memory, and memory without limit has no shares"),
            ),
            (
                "--fragmentation",
                self.fragmentation.is_some(),
                Some("divides the free part of memory, and memory without limit has no parts"),
            ),
            (
                "--buddyinfo",
                self.buddyinfo.is_some(),
                Some("lists free memory, and the rest of memory is occupied up to its size"),
            ),
            (
                "--movable",
                self.movable != usual.movable,
                Some("is a share of occupied memory, and memory without limit is not occupied"),
            ),
            (
                "--seed",
                self.seed != usual.seed,
                Some("places occupied memory, and memory without limit is not occupied"),
            ),
            (
                "--swap",
                self.swap.is_some(),
                Some("serves memory that runs short, and memory without limit never does"),
            ),
            ("--code", self.code != usual.code, None),
            ("--files", self.files != usual.files, None),
            ("--allocator", self.allocator != usual.allocator, None),
            ("--pools", self.pools.is_some(), None),
            ("--rate", self.rate != usual.rate, None),
            ("--costs", self.costs.is_some(), None),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::part;
    use std::path::PathBuf;

    /// A request without a size.
    fn without_size() -> MemoryRequest {
        MemoryRequest {
            memory: None,
            ..MemoryRequest::unlimited()
        }
    }

    #[test]
    fn options_that_need_no_size_have_memory_without_limit() {
        let nothing = without_size().sized().expect("a request");
        assert_eq!((nothing.memory, nothing.implied_by), (None, None));
        let asked = [
            MemoryRequest {
                after: vec![PathBuf::from("x.bl")],
                ..without_size()
            },
            MemoryRequest {
                rate: 7,
                ..without_size()
            },
        ];
        for (request, option) in asked.into_iter().zip(["--after", "--rate"]) {
            let sized = request.sized().expect("a request");
            assert_eq!(sized.memory, Some(Amount::Unlimited));
            assert_eq!(sized.implied_by, Some(option));
        }
    }

    #[test]
    fn options_that_need_a_size_are_refused_with_the_reason() {
        let request = MemoryRequest {
            after: vec![PathBuf::from("x.bl")],
            occupied: part("30%").expect("a part"),
            ..without_size()
        };
        let sized = MemoryRequest {
            memory: Some(Amount::Bytes(1 << 20)),
            ..request.clone()
        };
        assert_eq!(sized.sized().expect("a request").implied_by, None);
        let Err(Failure::Wrong(text)) = request.sized() else {
            panic!("it is not refused");
        };
        assert_eq!(
            text,
            "--occupied is a share of memory, and memory without limit has no shares: add a size, \
             such as --memory 75%"
        );
    }
}

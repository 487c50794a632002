//! MT19937, the random numbers of C++'s `std::mt19937`.

/// The length of the state.
const WORDS: usize = 624;

/// The generator of Matsumoto and Nishimura 1998, with the seeding of the C++ standard.
#[derive(Clone, Debug)]
pub(in crate::replacement) struct MersenneTwister {
    state: Box<[u32; WORDS]>,
    next: usize,
}

impl MersenneTwister {
    pub(in crate::replacement) fn new(seed: u32) -> Self {
        let mut state = Box::new([seed; WORDS]);
        for at in 1..WORDS {
            let before = state[at - 1];
            let mixed = before ^ (before >> 30);
            state[at] = mixed.wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        Self { state, next: WORDS }
    }

    /// The next number.
    pub(in crate::replacement) fn next(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut number = self.state[self.next];
        self.next += 1;
        number ^= number >> 11;
        number ^= (number << 7) & 0x9d2c_5680;
        number ^= (number << 15) & 0xefc6_0000;
        number ^ (number >> 18)
    }

    fn twist(&mut self) {
        for at in 0..WORDS {
            let following = self.state[(at + 1) % WORDS];
            let joined = (self.state[at] & 0x8000_0000) | (following & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + 397) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_the_c_plus_plus_standard() {
        // ISO C++, [rand.predef]: the 10,000th number of a generator with the default seed.
        let mut numbers = MersenneTwister::new(5489);
        let last = (0..10_000).map(|_| numbers.next()).last();
        assert_eq!(last, Some(4_123_659_995));
    }
}

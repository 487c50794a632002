//! Timing several things in turn, so that what disturbs the machine for a while disturbs all of them.

use crate::Failed;
use std::time::Instant;

/// Something to time. It sees to it that its answer is right; that is timed too, and takes no time beside the rest.
pub struct Contestant<'a> {
    /// What it is called in results.
    pub name: &'static str,
    /// Does it once.
    pub run: Box<dyn FnMut() -> Result<(), Failed> + 'a>,
}

/// How long each took in each round, in seconds of the wall clock, in the order in which they were given.
///
/// Every round runs each of them once and begins with another one, so that none always follows the same.
///
/// # Errors
/// The first that a contestant has.
pub fn race(rounds: usize, contestants: &mut [Contestant<'_>]) -> Result<Vec<Vec<f64>>, Failed> {
    let mut seconds = vec![Vec::with_capacity(rounds); contestants.len()];
    for round in 0..rounds {
        for step in 0..contestants.len() {
            let at = (round + step) % contestants.len();
            let began = Instant::now();
            (contestants[at].run)()?;
            seconds[at].push(began.elapsed().as_secs_f64());
        }
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn each_has_its_turn_at_each_place() {
        let order = RefCell::new(String::new());
        let contestant = |name: &'static str| Contestant {
            name,
            run: Box::new(|| {
                order.borrow_mut().push_str(name);
                Ok(())
            }),
        };
        let mut contestants = ["a", "b", "c"].map(contestant);
        let seconds = race(3, &mut contestants).expect("they succeed");
        assert!(seconds.iter().all(|of_one| of_one.len() == 3));
        assert_eq!(*order.borrow(), "abcbcacab");
    }

    #[test]
    fn a_wrong_answer_ends_it() {
        let mut contestants = [Contestant {
            name: "wrong",
            run: Box::new(|| Err("wrong".into())),
        }];
        assert!(race(3, &mut contestants).is_err());
    }
}

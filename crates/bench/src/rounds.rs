//! Times several things in turn, so that a disturbance of the machine affects all of them.

use crate::Failed;
use std::time::Instant;

/// A thing to time. It checks its answer. The check is timed too, and takes hardly any time.
pub struct Contestant<'a> {
    /// The name in results.
    pub name: &'static str,
    /// Runs once.
    pub run: Box<dyn FnMut() -> Result<(), Failed> + 'a>,
}

/// Returns the seconds of the wall clock of each contestant in each round, in the given order.
///
/// Every round runs each contestant once and begins with another one, so that none always follows
/// the same.
///
/// # Errors
/// Returns the first error of a contestant.
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

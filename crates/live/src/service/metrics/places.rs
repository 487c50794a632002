//! The places of clients. There are few, and a waiting client takes the oldest place.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

/// The most clients that are connected at a time. One of them may be waiting for a place.
pub(super) const CLIENTS: usize = 16;
const PLACES: usize = CLIENTS - 1;
/// The time for which a client cannot lose its place. On a machine that is not overloaded, a scrape
/// takes less. The longest wait for a place is this time for each 15 clients that wait before: 0.7
/// s for a full queue of 1,024 clients, which is the backlog that the server asks for.
const GRACE: Duration = Duration::from_millis(10);

/// Tasks, one for each client that is connected.
#[derive(Default)]
pub(super) struct ClientPlaces {
    tasks: JoinSet<()>,
    /// When each client came, in that order.
    clients: VecDeque<(Instant, AbortHandle)>,
}

impl ClientPlaces {
    /// Waits until a place is free. If all are taken, the client that has been connected longest
    /// loses its place.
    pub(super) async fn free_one(&mut self) {
        // Answers that are ready end first, however late this task runs.
        tokio::task::yield_now().await;
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.clients.retain(|(_, task)| !task.is_finished());
            let Some((since, oldest)) = self.clients.front() else {
                return;
            };
            if self.tasks.len() < PLACES {
                return;
            }
            let ended = timeout_at(*since + GRACE, self.tasks.join_next()).await;
            if ended.is_err() {
                oldest.abort();
                self.tasks.join_next().await;
            }
        }
    }

    /// Gives a client a place.
    pub(super) fn give(&mut self, client: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(client);
        self.clients.push_back((Instant::now(), task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn the_oldest_client_loses_its_place_and_not_before_its_time() {
        runtime().block_on(async {
            let mut places = ClientPlaces::default();
            let began = Instant::now();
            for _ in 0..PLACES {
                places.free_one().await;
                places.give(pending());
            }
            assert!(began.elapsed() < GRACE, "nobody waits for a free place");
            let oldest = places.clients[0].1.clone();
            let second = places.clients[1].1.clone();
            places.free_one().await;
            assert!(began.elapsed() >= GRACE);
            assert!(oldest.is_finished() && !second.is_finished());
            places.give(pending());
            assert_eq!(places.clients.len(), PLACES);
        });
    }

    #[test]
    fn a_client_that_has_ended_makes_room() {
        runtime().block_on(async {
            let mut places = ClientPlaces::default();
            for _ in 0..PLACES - 1 {
                places.give(pending());
            }
            for _ in 0..1000 {
                places.free_one().await;
                places.give(async {});
            }
            let living = places
                .clients
                .iter()
                .filter(|(_, task)| !task.is_finished());
            assert!(living.count() >= PLACES - 1, "only those that ended went");
        });
    }
}

//! Live statistics: one sample a second, however many clients look on.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use hyper::body::Bytes;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_local;
use tokio::time::sleep;

use net::prelude::*;

use crate::sample::Sample;
use crate::work::{Counts, Link};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_secs(1);
/// Clients at a time.
const MOST: usize = 32;
/// Samples that may wait for a client; one that is slower misses some.
const WAITING: usize = 4;

/// Clients and the sample before.
pub struct Live {
    clients: RefCell<Vec<Sender<Bytes>>>,
    last: RefCell<Option<Rc<Sample>>>,
    counts: Arc<Counts>,
}

impl Live {
    pub fn new(counts: Arc<Counts>) -> Rc<Self> {
        Rc::new(Self { clients: RefCell::default(), last: RefCell::default(), counts })
    }

    /// A client more; `None` when there are too many. The first one has samples taken.
    pub fn join(self: &Rc<Self>, link: &Rc<RefCell<Link>>) -> Option<Receiver<Bytes>> {
        let (sender, receiver) = channel(WAITING);
        let mut clients = self.clients.borrow_mut();
        clients.retain(|client| !client.is_closed());
        if clients.len() >= MOST {
            return None;
        }
        let is_first = clients.is_empty() && self.counts.live.load(Ordering::Relaxed) == 0;
        // The head of the answer is sent with the first bytes.
        let _ = sender.try_send(Bytes::from_static(b": one sample a second\n\n"));
        clients.push(sender);
        self.counts.live.store(clients.len() as u64, Ordering::Relaxed);
        drop(clients);
        if is_first {
            spawn_local(Rc::clone(self).run(Rc::clone(link)));
        }
        Some(receiver)
    }

    /// A sample now, with rates since the last one if that is not long ago.
    pub async fn sample(&self, link: &RefCell<Link>) -> Result<Rc<Sample>, String> {
        let busy = "the router has too much to do".to_owned();
        let asked = link.borrow_mut().sample();
        let Ok(wait) = asked else { return Err(busy) };
        let mut now = wait.await.map_err(|_| busy)??;
        if let Some(before) = self.last.borrow().as_ref() {
            now.rate_since(before);
        }
        let now = Rc::new(now);
        Ok(now)
    }

    async fn run(self: Rc<Self>, link: Rc<RefCell<Link>>) {
        loop {
            if let Ok(now) = self.sample(&link).await {
                let text = serde_json::to_string(&*now).unwrap_or_default();
                let event = Bytes::from(format!("event: sample\ndata: {text}\n\n"));
                self.last.replace(Some(now));
                let mut clients = self.clients.borrow_mut();
                clients.retain(|client| {
                    // One that is full misses this sample.
                    let _ = client.try_send(event.clone());
                    !client.is_closed()
                });
            }
            let left = self.clients.borrow().len();
            self.counts.live.store(left as u64, Ordering::Relaxed);
            if left == 0 {
                self.last.replace(None);
                return;
            }
            sleep(INTERVAL).await;
        }
    }
}

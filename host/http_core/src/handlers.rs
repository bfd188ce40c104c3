//! URL handlers: functions of features that answer requests for certain paths, for servers that
//! enable them (`url-handlers` of the static server).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use net::Router;

use crate::request::Request;
use crate::response::Answer;

/// Answers a request, on a data-plane thread.
pub type Respond = Arc<dyn Fn(&Request<'_>) -> Answer + Send + Sync>;

/// Handlers by path: `/stats.prom`.
pub type Handlers = BTreeMap<&'static str, Respond>;

/// The current handlers, for sites on data-plane threads; clones share them.
#[derive(Clone, Default)]
pub struct Shelf(Arc<Mutex<Handlers>>);

impl Shelf {
    /// The handler of a path.
    pub fn get(&self, path: &str) -> Option<Respond> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

/// The handlers, shared with sites on data-plane threads.
pub fn handlers(router: &mut Router) -> Shelf {
    if router.state::<Shelf>().is_none() {
        router.insert(Shelf::default());
    }
    router.own_mut::<Shelf>().clone()
}

/// Sets the handler of a path, or removes it.
pub fn set_handler(router: &mut Router, path: &'static str, handler: Option<Respond>) {
    let shelf = handlers(router);
    let mut all = shelf.0.lock().unwrap_or_else(PoisonError::into_inner);
    match handler {
        Some(handler) => all.insert(path, handler),
        None => all.remove(path),
    };
}

//! Handling of requests: by a URL handler, with a recently read file, or by the thread that reads
//! files.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use http_core::{Answer, Method, Request, Response, Shelf, Site, Ticket};

use crate::files::Ask;

/// Small files that a thread may serve again without a check, and for how many seconds.
const FRESH: usize = 256;
const FRESH_SECONDS: f64 = 1.0;

/// The site of a server on one thread.
pub struct FileSite {
    /// `None` for a server with URL handlers only.
    asks: Option<SyncSender<Ask>>,
    handlers: Option<Shelf>,
    found: Receiver<(String, Response)>,
    put: SyncSender<(String, Response)>,
    fresh: HashMap<String, (Response, f64)>,
}

impl FileSite {
    /// Creates a site from the queue of the thread that reads files, and the URL handlers.
    pub fn new(asks: Option<SyncSender<Ask>>, handlers: Option<Shelf>) -> Self {
        let (put, found) = sync_channel(FRESH);
        Self { asks, handlers, found, put, fresh: HashMap::new() }
    }

    /// A file that was read less than a second ago.
    fn fresh(&mut self, path: &str, now: f64) -> Option<Response> {
        for (path, response) in self.found.try_iter() {
            if self.fresh.len() >= FRESH {
                self.fresh.clear();
            }
            self.fresh.insert(path, (response, now + FRESH_SECONDS));
        }
        let (response, until) = self.fresh.get(path)?;
        if *until < now {
            self.fresh.remove(path);
            return None;
        }
        Some(response.clone())
    }

    fn file(&mut self, request: &Request<'_>, now: f64) -> Answer {
        if !matches!(request.method, Method::Get | Method::Head) {
            let mut response = Response::status(405);
            response.headers.push(("Allow", "GET, HEAD".to_owned()));
            return Answer::Now(response);
        }
        let Some(asks) = self.asks.clone() else { return Answer::Now(Response::status(404)) };
        let Some(path) = decoded(request.path) else { return Answer::Now(Response::status(400)) };
        let since = request.header("if-modified-since");
        if since.is_none()
            && let Some(response) = self.fresh(&path, now)
        {
            return Answer::Now(response);
        }
        let ticket = Ticket::default();
        let (since, found) = (since.map(str::to_owned), self.put.clone());
        let is_head = request.method == Method::Head;
        match asks.try_send(Ask { path, since, is_head, ticket: ticket.clone(), found }) {
            Ok(()) => Answer::Later(ticket),
            Err(_) => Answer::Now(Response::status(503)),
        }
    }
}

impl Site for FileSite {
    fn answer(&mut self, request: &Request<'_>, now: f64) -> Answer {
        match self.handlers.as_ref().and_then(|shelf| shelf.get(request.path)) {
            Some(handler) => handler(request),
            None => self.file(request, now),
        }
    }
}

/// Decodes `%XX` in a path; `None` if it is not a path or has bytes not allowed in names.
pub fn decoded(path: &str) -> Option<String> {
    if !path.starts_with('/') {
        return None;
    }
    http_core::decoded(path, |byte| byte >= b' ' && byte != 0x7f)
}

//! The thread that reads the statistics segment for scrapes.

use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use control::stats::gauges::Published;
use control::stats::prometheus::{Format, Selection, Source};
use http_core::{Answer, Method, Request, Respond, Response, Ticket};
use net::prelude::*;

use super::Settings;

/// Limit of queued scrapes.
const WAITING: usize = 8;

/// A substring of a path; `^` matches the beginning and `$` the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether a path matches.
    pub fn is_in(&self, path: &str) -> bool {
        let (is_first, part) = match self.0.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, self.0.as_str()),
        };
        let (is_last, part) = match part.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, part),
        };
        match (is_first, is_last) {
            (true, true) => path == part,
            (true, false) => path.starts_with(part),
            (false, true) => path.ends_with(part),
            (false, false) => path.contains(part),
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('^').unwrap_or(text);
        let inner = inner.strip_suffix('$').unwrap_or(inner);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_. :".contains(c);
        if inner.is_empty() || !inner.chars().all(is_plain) {
            return Err(format!("`{text}' is not a substring of a path, optionally with ^ and $"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Handle of the thread, which ends when the handle is dropped and no scrape is queued.
pub struct Scraper {
    asks: SyncSender<Ticket>,
    settings: Arc<Mutex<Settings>>,
}

impl Scraper {
    /// Starts the thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(segment: OwnedFd, state: Published, settings: Settings) -> io::Result<Self> {
        let source = Source::new(segment, state)?;
        let (asks, taken) = sync_channel(WAITING);
        let settings = Arc::new(Mutex::new(settings));
        let with = Arc::clone(&settings);
        thread::Builder::new()
            .name("prom".to_owned())
            .spawn(move || serve(&taken, &source, &with))?;
        Ok(Self { asks, settings })
    }
    /// Changes the settings.
    pub fn set(&self, settings: Settings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }
    /// The function that answers requests on data-plane threads.
    pub fn handler(&self) -> Respond {
        let asks = self.asks.clone();
        Arc::new(move |request: &Request<'_>| {
            if !matches!(request.method, Method::Get | Method::Head) {
                return Answer::Now(Response::status(405));
            }
            let ticket = Ticket::default();
            match asks.try_send(ticket.clone()) {
                Ok(()) => Answer::Later(ticket),
                Err(_) => Answer::Now(Response::status(503)),
            }
        })
    }
}

/// Answers scrapes until all senders are dropped.
fn serve(asks: &Receiver<Ticket>, source: &Source, settings: &Mutex<Settings>) {
    let mut last: Option<(Instant, Settings, Response)> = None;
    while let Ok(ticket) = asks.recv() {
        let settings = settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let interval = Duration::from_secs_f64(settings.interval);
        #[allow(clippy::disallowed_methods, reason = "scrapes are received in real time")]
        let now = Instant::now();
        let is_fresh = |(at, with, _): &&(Instant, Settings, Response)| {
            now.duration_since(*at) < interval && *with == settings
        };
        let response = match last.as_ref().filter(is_fresh) {
            Some((_, _, response)) => response.clone(),
            None => render(source, &settings),
        };
        ticket.fill(response.clone());
        if last.as_ref().filter(is_fresh).is_none() {
            last = Some((now, settings, response));
        }
    }
}

fn render(source: &Source, settings: &Settings) -> Response {
    let is_all = settings.all || settings.patterns.is_empty();
    let wants = |path: &str| is_all || settings.patterns.iter().any(|p| p.is_in(path));
    let selection = Selection { wants: &wants, with_state: is_all, prefix: &settings.prefix };
    match source.render_selected(Format::Prometheus, &selection) {
        Ok(text) => Response::new(200, Format::Prometheus.content_type(), text.into_bytes()),
        Err(why) => Response::plain(500, &why.to_string()),
    }
}

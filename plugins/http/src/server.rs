//! The server: a thread of its own with connections, TLS and requests.
//!
//! Bounds: connections at a time, of which those that never had a right request make room for new
//! ones; time for a handshake and for the head and the body of a request; bytes of both.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread;

use control::cli::io_text;
use control::stats::prometheus::{Format, Source};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use net::prelude::*;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::body::{self, Answer, Content, answer};
use crate::comparison::{self, Comparison};
use crate::guard::Guard;
use crate::history::History;
use crate::live::Live;
use crate::outcome::{outcome, status_of};
use crate::request::Input;
use crate::routes::{Plan, ROUTES, Route};
use crate::settings::{Listen, Loaded};
use crate::socket::{Bound, Stream};
use crate::texts::Folder;
use crate::tokens::{Holder, Tokens};
use crate::work::{self, Counts, Form, Link, Unanswered, count};
use crate::{assets, openapi};

/// Connections at a time.
const MOST: usize = 128;
/// Longest duration of a TLS handshake, and of the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// Longest duration of the body of a request.
const BODY: Duration = Duration::from_secs(30);
/// Longest duration of a command.
const COMMAND: Duration = Duration::from_secs(300);
/// Bytes of a request's head at most.
const HEAD_BYTES: usize = 16 << 10;
/// Bytes of a request's body at most.
const BODY_BYTES: usize = 4 << 20;
/// The same where the permissions of a socket admit clients.
const LOCAL_BODY_BYTES: usize = 64 << 20;

/// State shared by all connections.
struct Site {
    link: Rc<RefCell<Link>>,
    live: Rc<Live>,
    statistics: Source,
    history: History,
    folder: RefCell<Folder>,
    counts: Arc<Counts>,
    connections: RefCell<BTreeMap<u64, Rc<Connection>>>,
    /// Whether a holder of a read-only token is comparing configurations.
    is_comparing: Cell<bool>,
}

/// A connection, from outside.
#[derive(Default)]
struct Connection {
    /// Whether it had a request with the right token.
    is_known: Cell<bool>,
    end: Notify,
}

/// Addresses that are listened on, and the work of the thread that serves them.
pub struct Ready {
    /// The addresses as they are.
    pub served: Vec<String>,
    serve: Box<dyn FnOnce() + Send>,
}

impl Ready {
    /// Begins to serve them, on a thread of its own.
    ///
    /// # Errors
    /// The message.
    pub fn start(self) -> Result<Vec<String>, String> {
        let thread = thread::Builder::new().name("http".to_owned()).spawn(self.serve);
        thread.map_err(|e| format!("http: cannot start a thread: {}", io_text(&e)))?;
        Ok(self.served)
    }
}

/// The router, as far as the server knows it.
pub struct Known {
    /// The way to control.
    pub link: Link,
    /// Counters, and the state beside them.
    pub statistics: Source,
    /// The last hour.
    pub history: History,
    /// Numbers of the server.
    pub counts: Arc<Counts>,
}

/// Listens on addresses.
///
/// # Errors
/// The message.
pub fn bind(
    listen: Vec<Listen>,
    loaded: Loaded,
    known: Known,
    folder: &Path,
) -> Result<Ready, String> {
    let failed = |what: &str, e: std::io::Error| format!("http: {what}: {}", io_text(&e));
    let texts = Folder::new(folder).map_err(|e| failed(&folder.display().to_string(), e))?;
    let is_tcp = |l: &Listen| matches!(l, Listen::Tcp(_));
    let made = match &loaded.tokens {
        None if listen.iter().any(is_tcp) => Some(Tokens::make(&folder.join("http.token"))?),
        given => given.clone(),
    };
    let mut sockets = Vec::new();
    let mut served = Vec::new();
    for address in &listen {
        let socket =
            Bound::bind(address).map_err(|e| failed(&format!("listen {}", address.text()), e))?;
        served.push(socket.address(address));
        // A socket in the file system has permissions: they decide unless a file of tokens does.
        let tokens = if is_tcp(address) { made.clone() } else { loaded.tokens.clone() };
        let tls = loaded.tls.clone().filter(|_| is_tcp(address));
        let guard = Guard { tokens, names: loaded.names.clone(), is_tls: tls.is_some() };
        sockets.push((socket, guard, tls));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| failed("cannot start the event loop", e))?;
    let serve = move || {
        let Known { link, statistics, history, counts } = known;
        let live = Live::new(Arc::clone(&counts));
        let (link, folder) = (Rc::new(RefCell::new(link)), RefCell::new(texts));
        let (connections, is_comparing) = (RefCell::default(), Cell::new(false));
        let site = Rc::new(Site {
            link,
            live,
            statistics,
            history,
            folder,
            counts,
            connections,
            is_comparing,
        });
        let tasks = LocalSet::new();
        for (socket, guard, tls) in sockets {
            let (site, guard) = (Rc::clone(&site), Rc::new(guard));
            tasks.spawn_local(accept(site, socket, guard, tls.map(TlsAcceptor::from)));
        }
        runtime.block_on(tasks);
    };
    Ok(Ready { served, serve: Box::new(serve) })
}

async fn accept(site: Rc<Site>, socket: Bound, guard: Rc<Guard>, tls: Option<TlsAcceptor>) {
    // It was bound already.
    let Ok(socket) = socket.listen() else { return };
    loop {
        let Ok(stream) = socket.accept().await else {
            // No descriptors for the moment.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let key = site.counts.accepted.fetch_add(1, Ordering::Relaxed);
        let Some(connection) = site.admit(key) else { continue };
        let (site, guard, tls) = (Rc::clone(&site), Rc::clone(&guard), tls.clone());
        spawn_local(async move {
            let served = async {
                match tls {
                    None => serve(&site, stream, guard, &connection).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                            serve(&site, Box::new(stream), guard, &connection).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = served => {}
                () = connection.end.notified() => {}
            }
            site.leave(key);
        });
    }
}

async fn serve(
    site: &Rc<Site>,
    stream: Box<dyn Stream>,
    guard: Rc<Guard>,
    connection: &Rc<Connection>,
) {
    let service = service_fn(|request| {
        let (site, guard) = (Rc::clone(site), Rc::clone(&guard));
        let connection = Rc::clone(connection);
        async move { Ok::<_, Infallible>(site.answer(request, &guard, &connection).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    // Who went away or is too slow gets nothing.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

impl Site {
    /// A place for a connection. If all are taken, the oldest connection without a token is closed.
    fn admit(&self, key: u64) -> Option<Rc<Connection>> {
        let mut all = self.connections.borrow_mut();
        if all.len() >= MOST {
            count(&self.counts.turned_away);
            let oldest = all.iter().find(|(_, c)| !c.is_known.get()).map(|(key, _)| *key);
            all.remove(&oldest?)?.end.notify_one();
        }
        let connection = Rc::<Connection>::default();
        all.insert(key, Rc::clone(&connection));
        self.counts.connections.store(all.len() as u64, Ordering::Relaxed);
        Some(connection)
    }

    fn leave(&self, key: u64) {
        let mut all = self.connections.borrow_mut();
        all.remove(&key);
        self.counts.connections.store(all.len() as u64, Ordering::Relaxed);
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        guard: &Guard,
        connection: &Connection,
    ) -> Answer {
        count(&self.counts.requests);
        let headers = request.headers();
        if let Err((status, why)) = guard.check_origin(headers) {
            count(&self.counts.foreign);
            return body::error(status, why);
        }
        let path = request.uri().path().to_owned();
        let is_get = request.method() == "GET" || request.method() == "HEAD";
        if is_get && let Some(found) = assets::find(&path, headers) {
            return found;
        }
        let routes: Vec<_> = ROUTES.iter().filter(|route| route.path == path).collect();
        let holder = match guard.holder(headers) {
            Ok(holder) => holder,
            Err((status, why)) => {
                count(&self.counts.refused);
                let mut refused = body::error(status, why);
                let scheme = HeaderValue::from_static("Bearer");
                refused.headers_mut().insert(WWW_AUTHENTICATE, scheme);
                return refused;
            }
        };
        connection.is_known.set(true);
        if routes.is_empty() {
            return body::error(StatusCode::NOT_FOUND, "there is nothing at this path");
        }
        let Some(route) = routes.iter().find(|route| route.method == request.method()) else {
            let methods: Vec<_> = routes.iter().map(|route| route.method).collect();
            let mut refused =
                body::error(StatusCode::METHOD_NOT_ALLOWED, "this path does not do that");
            if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
                refused.headers_mut().insert(ALLOW, methods);
            }
            return refused;
        };
        if route.changes && holder.is_read_only {
            return body::error(StatusCode::FORBIDDEN, "this token may only look");
        }
        let format = match headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()) {
            Some(accept) if accept.contains(Format::OPEN_METRICS) => Format::OpenMetrics,
            _ => Format::Prometheus,
        };
        let most = if guard.tokens.is_none() { LOCAL_BODY_BYTES } else { BODY_BYTES };
        match plan(request, route, most).await {
            Ok(Plan::Metrics) => self.metrics(format),
            Ok(plan) => self.carry_out(plan, &holder).await,
            Err((status, why)) => body::error(status, &why),
        }
    }

    async fn carry_out(&self, plan: Plan, holder: &Holder) -> Answer {
        match plan {
            Plan::Version => self.version(holder).await,
            Plan::Document => body::json(StatusCode::OK, openapi::document().to_string()),
            Plan::Metrics => self.metrics(Format::Prometheus),
            Plan::Overview => body::json(StatusCode::OK, self.overview()),
            Plan::History(interface) => match self.history.json(interface.as_deref()) {
                Some(found) => body::json(StatusCode::OK, found.to_string()),
                None => body::error(StatusCode::NOT_FOUND, "there is no such interface"),
            },
            Plan::Complete(line) => self.complete(line).await,
            Plan::Sample => match self.live.sample(&self.link).await {
                Ok(now) => match serde_json::to_string(&*now) {
                    Ok(text) => body::json(StatusCode::OK, text),
                    Err(e) => body::error(StatusCode::INTERNAL_SERVER_ERROR, &e.to_string()),
                },
                Err(why) => body::error(StatusCode::SERVICE_UNAVAILABLE, &why),
            },
            Plan::Live => match self.live.join(&self.link) {
                Some(samples) => {
                    answer(StatusCode::OK, "text/event-stream", Content::Pieces(samples))
                }
                None => body::error(StatusCode::SERVICE_UNAVAILABLE, "too many look on already"),
            },
            Plan::Cli(text, form) => self.cli(text, form, holder).await,
            Plan::Command(text) => self.command(text, holder, None).await,
            Plan::Optional(path, words) => {
                self.command(format!("{path} {words}"), holder, Some(path)).await
            }
            Plan::Configuration(command, text) => {
                let begun = match holder.is_read_only {
                    true => Comparison::begin(&self.is_comparing).map(Some),
                    false => Some(None),
                };
                let Some(_comparison) = begun else {
                    return body::error(StatusCode::SERVICE_UNAVAILABLE, comparison::WHY);
                };
                let file = self.folder.borrow_mut().text(&text);
                match file {
                    Ok(file) => {
                        let words = command.replace("{}", &file.name());
                        let answer = self.run(words, Form::Json, holder).await;
                        let named = answer.map(|mut answer| {
                            // The client knows its text, and no file.
                            if let Some((_, why)) = &mut answer.error {
                                *why = why.replace(&file.name(), "line");
                            }
                            answer
                        });
                        outcome(named, None)
                    }
                    Err(e) => body::error(StatusCode::INTERNAL_SERVER_ERROR, &io_text(&e)),
                }
            }
            Plan::Capture(words) => {
                let file = self.capture_file();
                let _ = std::fs::remove_file(&file);
                let text = format!("capture start name http{words} file {}", file.display());
                self.command(text, holder, None).await
            }
            Plan::CaptureEnd => self.command("capture stop http".to_owned(), holder, None).await,
            Plan::CaptureState => self.command("show captures".to_owned(), holder, None).await,
            Plan::CaptureFile => match std::fs::read(self.capture_file()) {
                Ok(packets) => body::bytes("application/x-pcapng", packets),
                Err(_) => body::error(StatusCode::NOT_FOUND, "no capture has ended yet"),
            },
        }
    }

    fn capture_file(&self) -> std::path::PathBuf {
        self.folder.borrow().file("capture.pcapng")
    }

    async fn version(&self, holder: &Holder) -> Answer {
        let answer = match self.run("show version".to_owned(), Form::Json, holder).await {
            Ok(answer) => answer,
            unanswered => return outcome(unanswered, None),
        };
        let version: serde_json::Value = serde_json::from_str(&answer.output).unwrap_or_default();
        let text = serde_json::json!({
            "version": version["version"],
            "token": holder.name,
            "read_only": holder.is_read_only,
        });
        body::json(StatusCode::OK, text.to_string())
    }

    /// State of the router but for single interfaces.
    fn overview(&self) -> String {
        let state = self.statistics.state();
        let families = state.families.iter().filter(|(name, _)| !name.starts_with("interface_"));
        let mut all: serde_json::Map<_, _> = families
            .map(|(name, family)| ((*name).to_owned(), serde_json::json!(family.samples)))
            .collect();
        all.insert("health".to_owned(), state.health.clone());
        serde_json::Value::Object(all).to_string()
    }

    async fn complete(&self, line: String) -> Answer {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        let Ok(wait) = self.link.borrow_mut().complete(line) else {
            return body::error(unavailable, "the router has too much to do");
        };
        match wait.await {
            Ok(words) => body::json(StatusCode::OK, words),
            Err(_) => body::error(unavailable, "the router is ending"),
        }
    }

    fn metrics(&self, format: Format) -> Answer {
        match self.statistics.render(format) {
            Ok(text) => body::bytes(format.content_type(), text),
            Err(e) => body::error(StatusCode::SERVICE_UNAVAILABLE, &io_text(&e)),
        }
    }

    async fn cli(&self, text: String, form: Form, holder: &Holder) -> Answer {
        let answer = match self.run(text, form, holder).await {
            Ok(answer) => answer,
            unanswered => return outcome(unanswered, None),
        };
        let output = match form {
            Form::Text => serde_json::Value::String(answer.output),
            Form::Json => serde_json::from_str(&answer.output).unwrap_or_default(),
        };
        let (code, error) = answer.error.unzip();
        let status = status_of(error.is_some());
        let code = code.unwrap_or(0);
        body::json(
            status,
            serde_json::json!({ "output": output, "code": code, "error": error }).to_string(),
        )
    }

    async fn command(&self, text: String, holder: &Holder, absent: Option<&str>) -> Answer {
        outcome(self.run(text, Form::Json, holder).await, absent)
    }

    async fn run(
        &self,
        text: String,
        form: Form,
        holder: &Holder,
    ) -> Result<work::Answer, Option<Unanswered>> {
        let origin = format!("{} over HTTP", holder.name);
        let wait = self.link.borrow_mut().command(text, origin, form).map_err(Some)?;
        match timeout(COMMAND, wait).await {
            Ok(answer) => answer.map_err(|_| Some(Unanswered::Gone)),
            Err(_) => Err(None),
        }
    }
}

/// Reads what a request takes; what is to be done for it.
async fn plan(
    request: Request<Incoming>,
    route: &Route,
    most: usize,
) -> Result<Plan, (StatusCode, String)> {
    let wrong = |why: String| (StatusCode::BAD_REQUEST, why);
    let input = if route.method == "POST" {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| kind.split(';').next() == Some("application/json"));
        let body = Limited::new(request.into_body(), most).collect();
        let late = (StatusCode::REQUEST_TIMEOUT, "the body takes too long".to_owned());
        let body = timeout(BODY, body).await.map_err(|_| late)?;
        let body = body.map_err(|_| {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("a body is at most {most} bytes"))
        })?;
        let body = body.to_bytes();
        if !is_json && !body.is_empty() {
            let why = "the body has to be of the type application/json".to_owned();
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        Input::json(route.takes, &body).map_err(wrong)?
    } else {
        Input::query(route.takes, request.uri().query().unwrap_or_default()).map_err(wrong)?
    };
    (route.plan)(&input).map_err(wrong)
}

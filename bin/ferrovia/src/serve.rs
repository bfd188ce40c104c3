//! The main loop: CLI sessions, processes and signals on one thread.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use control::api;
use control::cli::io_text;
use control::config::{Config, Endpoint, Listen, Unix};
use control::log::{Log, Logger};
use control::session::{Listener, Server, Settings};
use control::stats::{prometheus, server};
use net::health::Severity;
use net::{Assembly, Router};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::background::Ready;
use crate::{notify, process};

/// First line of interactive sessions.
const BANNER: &str = "Ferrovia: `help' lists commands, `?' the next words, TAB completes\n";
/// Longest wait of sessions for the startup files of commands.
const START: Duration = Duration::from_secs(2);
/// Longest time between two looks at what needs tending.
const TEND: Duration = Duration::from_secs(1);
/// Time until the next look where much waits to be freed.
const SOON: Duration = Duration::from_millis(1);
/// Time of a turn of processes and timers, after which others have theirs.
const TURN: Duration = Duration::from_millis(2);
/// Longest duration of an orderly end before a disorderly one.
const PATIENCE: Duration = Duration::from_secs(4);

/// Serves the router until a signal or the end of standard input (when interactive) ends it.
pub fn run(parts: Assembly, config: &Config, background: Option<Ready>) -> Result<(), String> {
    let runtime = runtime()?;
    let stop = Arc::new(Notify::new());
    watch_signals(Arc::clone(&stop), config)?;
    let Assembly { mut router, cli, api, .. } = parts;
    let wake = Arc::new(Notify::new());
    let waker = || {
        let wake = Arc::clone(&wake);
        move || wake.notify_one()
    };
    router.processes.on_change(waker());
    router.engine.on_short_pool(waker());
    router.events.notify(Arc::new(waker()));
    let (log, clients) = (router.log.clone(), router.clients.clone());
    let (cli, api) = (Rc::new(cli), Rc::new(api));
    let router = Rc::new(RefCell::new(router));
    let tasks = LocalSet::new();
    let is_listening = Cell::new(false);
    let ended = tasks.block_on(&runtime, async {
        let settings = Settings::new(&config.unix, BANNER);
        let server = Server::new(Rc::clone(&cli), Rc::clone(&router), settings);
        let api =
            api::Server::new(api, cli, Rc::clone(&router), clients, log.class("api", "socket"));
        let listener = listen(&config.unix).await?;
        let statistics = statistics(&router.borrow(), config)?;
        spawn_local(tend(Rc::clone(&router), Arc::clone(&wake), log.clone()));
        // Clients that connect during the start wait until it is finished.
        let api_listener = listen_api(config)?;
        is_listening.set(true);
        configure::resume(&mut router.borrow_mut());
        let work = start(&server, &router, config, &log).await;
        // Giving a socket to a group needs privileges that are dropped below.
        let given = |path: &Path| process::give_to_group(&config.unix, path);
        let http = http_api::bind(&mut router.borrow_mut(), &config.unix.runtime_dir(), given)?;
        process::give_up(&config.unix, &log)?;
        http_api::serve(&mut router.borrow_mut(), http)?;
        spawn_local(async move {
            // A panic in there is in the log.
            if let Some(work) = work {
                let _ = work.await;
            }
            notify::ready();
        });
        spawn_local(notify::watchdog(Rc::clone(&router)));
        if let Some(ready) = background {
            ready.tell();
        }
        tokio::select! {
            () = stop.notified() => Ok(()),
            ended = api.serve(api_listener) => {
                ended.map_err(|e| format!("API socket: {}", io_text(&e)))
            }
            ended = server.serve(listener) => {
                ended.map_err(|e| format!("CLI socket: {}", io_text(&e)))
            }
            ended = statistics => {
                ended.map_err(|e| format!("statistics socket: {}", io_text(&e)))
            }
            ended = interactive(&server, config.unix.interactive) => ended,
        }
    });
    notify::stopping();
    drop(tasks); // ends the sessions, which hold the router
    if is_listening.get() {
        let _ = std::fs::remove_file(api_socket(config));
    }
    ended
}

fn runtime() -> Result<Runtime, String> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|e| format!("cannot start the event loop: {}", io_text(&e)))
}

/// Ends the router on a signal; on a thread of its own, so that it ends even when control or a
/// data-plane thread is stuck.
fn watch_signals(stop: Arc<Notify>, config: &Config) -> Result<(), String> {
    let unix = &config.unix;
    let cli = socket_path(&unix.cli_listen());
    let sockets = [cli, Some(config.statseg.socket(unix)), Some(api_socket(config))];
    let runtime = runtime()?;
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    let streams = runtime.block_on(async { kinds.map(signal) });
    let watch = move || {
        runtime.block_on(async {
            let mut streams: Vec<_> = streams.into_iter().flatten().collect();
            poll_fn(|cx| {
                let came = streams.iter_mut().any(|s| s.poll_recv(cx).is_ready());
                if came { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            stop.notify_one();
            sleep(PATIENCE).await;
            for path in sockets.into_iter().flatten() {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(0);
        })
    };
    let started = thread::Builder::new().name("signals".into()).spawn(watch);
    started.map(drop).map_err(|e| format!("cannot start a thread: {}", io_text(&e)))
}

async fn listen(unix: &Unix) -> Result<Listener, String> {
    let address = unix.cli_listen();
    let name = match &address {
        Listen::Unix(path) => path.display().to_string(),
        Listen::Tcp(address) => address.clone(),
    };
    let failed = |e| format!("cannot listen on {name}: {}", io_text(&e));
    let listener = Listener::bind(&address).await.map_err(failed)?;
    if let Some(path) = socket_path(&address) {
        process::give_to_group(unix, &path)?;
    }
    Ok(listener)
}

/// Servers of the statistics: the segment's socket, and Prometheus.
fn statistics(
    router: &Router,
    config: &Config,
) -> Result<impl Future<Output = std::io::Result<()>> + use<>, String> {
    let path = config.statseg.socket(&config.unix);
    let failed = |e| format!("cannot listen on {}: {}", path.display(), io_text(&e));
    let segment = router.stats.readable().map_err(failed)?;
    let server = server::Server::bind(&path).map_err(failed)?;
    process::give_to_group(&config.unix, &path)?;
    if let Some(Endpoint(address)) = config.statseg.prometheus {
        let failed = |e| format!("statseg: prometheus {address}: {}", io_text(&e));
        let segment = router.stats.readable().map_err(failed)?;
        let source = prometheus::Source::new(segment, router.published.clone()).map_err(failed)?;
        prometheus::start(address, source).map_err(failed)?;
    }
    Ok(server.serve(segment))
}

/// The socket of the binary API.
fn api_socket(config: &Config) -> PathBuf {
    let default = || config.unix.runtime_dir().join("api.sock");
    config.socksvr.socket_name.clone().unwrap_or_else(default)
}

/// Opens the binary API's socket after the files of commands have run.
fn listen_api(config: &Config) -> Result<Listener, String> {
    let path = api_socket(config);
    let failed = |e| format!("cannot listen on {}: {}", path.display(), io_text(&e));
    let listener = Listener::lasting(&path).map_err(failed)?;
    process::give_to_group(&config.unix, &path)?;
    Ok(listener)
}

fn socket_path(address: &Listen) -> Option<PathBuf> {
    match address {
        Listen::Unix(path) => Some(path.clone()),
        Listen::Tcp(_) => None,
    }
}

/// Runs the commands of the startup configuration and the files of commands; a long one continues
/// while sessions are served, and is returned.
async fn start(
    server: &Server<Router>,
    router: &Rc<RefCell<Router>>,
    config: &Config,
    log: &Log,
) -> Option<JoinHandle<()>> {
    let (server, log) = (server.clone(), log.class("cli", "startup"));
    let (unix, commands) = (&config.unix, config.commands.clone());
    let router = Rc::clone(router);
    let files = unix.exec.clone();
    let saved = unix.loads_startup_config().then(|| unix.startup_config());
    let mut work = spawn_local(async move {
        for command in commands {
            if let Err(error) = server.run(&command).await.result {
                log.error(&error);
                router.borrow_mut().note_start(Severity::Error, command, error);
            }
        }
        let mut read = files.clone();
        if let Some(saved) = saved.filter(|saved| saved.exists()) {
            load(&server, &router, &saved, &log).await;
            read.push(saved);
        }
        for file in files {
            let reply = server.run(&exec(&file)).await;
            // A closed standard output needs no answer.
            let _ = std::io::stdout().write_all(reply.output.to_text().as_bytes());
            if let Err(error) = reply.result {
                log.error(&error);
                let mut router = router.borrow_mut();
                router.note_start(Severity::Error, file.display(), error);
            }
        }
        // What comes later can be compared with this, and undone.
        server.run("commit the start").await;
        configure::started(&mut router.borrow_mut(), read);
        configure::go_on_waiting(&mut router.borrow_mut());
    });
    timeout(START, &mut work).await.is_err().then_some(work)
}

/// Runs the commands of a saved configuration. Failures, as for a missing device, are logged, and
/// the rest is run.
async fn load(server: &Server<Router>, router: &RefCell<Router>, file: &Path, log: &Logger) {
    let name = file.display();
    let failed = |place: String, error: String| {
        log.error(format_args!("{place}: {error}"));
        router.borrow_mut().note_start(Severity::Error, place, error);
    };
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) => return failed(name.to_string(), io_text(&e)),
    };
    for (line, command) in configure::commands(&text) {
        if let Err(error) = server.run(&command).await.result {
            failed(format!("{name}:{line}"), error.to_string());
        }
    }
}

fn exec(file: &Path) -> String {
    format!("exec {}", file.display())
}

async fn interactive(server: &Server<Router>, wanted: bool) -> Result<(), String> {
    if !wanted {
        return pending().await;
    }
    server.serve_stdio().await.map_err(|e| format!("standard input: {}", io_text(&e)))
}

/// Runs due processes, handles reports of the data plane, and does the remaining upkeep.
async fn tend(router: Rc<RefCell<Router>>, wake: Arc<Notify>, log: Log) {
    let (pool, panics) = (log.class("buffer", "default"), log.class("process", "panic"));
    let mut descriptors = None;
    loop {
        // A panic is in the log then, and the next turn comes.
        let turn = || run_due(&mut router.borrow_mut(), &pool);
        let pause = catch_unwind(AssertUnwindSafe(turn)).unwrap_or(TEND);
        let is_more = infra::rcu::reclaim() > infra::rcu::MOST_FREED;
        let pause = if is_more { pause.min(SOON) } else { pause };
        // Already on standard error: at this level it goes only to the log.
        process::panics().iter().for_each(|line| panics.notice(line));
        if descriptors.is_none() {
            descriptors = router.borrow().processes.descriptor().and_then(readable);
        }
        let called = async {
            tokio::select! {
                () = wake.notified() => (),
                () = something_came(descriptors.as_ref()) => (),
            }
        };
        let is_alarmed =
            !pause.is_zero() && descriptors.is_some() && router.borrow().processes.set_alarm(pause);
        let mut wait = pin!(async {
            match is_alarmed {
                true => called.await,
                false => drop(timeout(pause, called).await),
            }
        });
        let is_over = poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx).is_ready())).await;
        if is_over {
            // Others come first, however much is due.
            tokio::task::yield_now().await;
        } else {
            wait.await;
        }
    }
}

/// The descriptor that says that something has come for a process, as the main loop waits for it.
#[allow(deprecated, reason = "the same descriptor as long as it is registered: it is owned")]
fn readable(descriptor: BorrowedFd<'_>) -> Option<AsyncFd<OwnedFd>> {
    let own = descriptor.try_clone_to_owned().ok()?;
    AsyncFd::with_interest(own, Interest::READABLE).ok()
}

/// Waits for it. What came is taken in the next turn.
async fn something_came(descriptors: Option<&AsyncFd<OwnedFd>>) {
    match descriptors {
        Some(descriptors) => {
            if let Ok(mut ready) = descriptors.readable().await {
                ready.clear_ready();
            }
        }
        None => pending().await,
    }
}

/// One turn; returns how long until the next.
fn run_due(router: &mut Router, pool: &Logger) -> Duration {
    if let Err(e) = router.engine.tend_pool() {
        pool.error(format_args!("cannot add buffers: {}", io_text(&e)));
    }
    let pause = router.run_due_within(TURN).map_or(TEND.as_secs_f64(), |due| due - router.now());
    Duration::from_secs_f64(pause.clamp(0.0, TEND.as_secs_f64()))
}

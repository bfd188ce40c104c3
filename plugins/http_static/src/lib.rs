//! Static files over HTTP on the host stack: servers, each with an endpoint and a folder.
//!
//! Each server is an application. Its parts on data-plane threads ([`site`]) serve files that the
//! server's own thread ([`files`]) has read.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod files;
mod site;
mod types;

use host_stack::control::{Hook, follow, namespaces};
use host_stack::{Options, detach};
use http_core::{BadUri, Limits, endpoint, handlers, serve};
use net::prelude::*;

pub use api::*;
pub use files::{Ask, Ledger, MOST_FILE, Numbers, start};
pub use site::decoded;
pub use types::content_type;

use site::FileSite;

/// Limit of servers.
const MOST_SERVERS: usize = 16;
/// Default endpoint.
pub const DEFAULT_URI: &str = "tcp://0.0.0.0/80";

/// Static files over HTTP.
pub const FEATURE: Feature = Feature {
    name: "http_static",
    about: "HTTP Static Server",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["session"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Endpoint: `tcp://0.0.0.0/80`, `http://[2001:db8::1]:80`.
    pub uri: String,
    /// Folder of the files; empty for none.
    pub www_root: String,
    /// Whether paths of other features are served, such as `/stats.prom`.
    pub url_handlers: bool,
    /// FIFO size of a connection in bytes, for each direction; 0 for the default.
    pub fifo_size: u32,
    /// Size of the file cache in bytes.
    pub cache_size: u64,
    /// Seconds for which clients may cache a file.
    pub max_age: u32,
    /// Idle timeout of a connection between two requests in seconds.
    pub keepalive_timeout: u32,
    /// Largest request body in bytes.
    pub max_body_size: u64,
    /// Receive threshold in bytes; only stored and reported.
    pub rx_buff_thresh: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            uri: DEFAULT_URI.to_owned(),
            www_root: String::new(),
            url_handlers: false,
            fifo_size: 0,
            cache_size: 10 << 20,
            max_age: 600,
            keepalive_timeout: 60,
            max_body_size: 8192,
            rx_buff_thresh: 1 << 20,
        }
    }
}

/// A running server.
pub struct Running {
    app: u32,
    /// Settings.
    pub settings: Settings,
    /// Its cache.
    pub cache: Ledger,
}

/// State of the control thread: servers by endpoint, and the one that API messages refer to.
#[derive(Default)]
struct Servers {
    main: Option<String>,
    all: BTreeMap<String, Running>,
}

/// Reasons why a server cannot be added or removed.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0}
    #[from]
    Stack(host_stack::Error),
    /// {0}
    #[from]
    Sessions(host_stack::control::Error),
    /// {0}
    #[from]
    Uri(BadUri),
    /// a server already runs at {0}
    #[retval(INVALID_VALUE)]
    Running(String),
    /// no server runs at {0}
    #[retval(INVALID_VALUE)]
    NotRunning(String),
    /// no server runs
    #[retval(INVALID_VALUE)]
    None,
    /// nothing to serve: set www-root or url-handlers
    #[retval(INVALID_VALUE)]
    Nothing,
    /// www-root {0}: {1}
    #[retval(INVALID_VALUE)]
    Folder(String, String),
    /// at most {MOST_SERVERS} servers
    #[retval(LIMIT_EXCEEDED)]
    TooMany,
}

/// The running servers.
pub fn running(router: &Router) -> impl Iterator<Item = &Running> {
    router.own::<Servers>().all.values()
}

/// The server that API messages refer to.
pub fn main_server(router: &Router) -> Option<&Running> {
    let servers = router.own::<Servers>();
    servers.all.get(servers.main.as_ref()?)
}

/// Starts a server; `is_main` makes it the one that API messages refer to. Enables the session
/// layer if it is disabled.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, settings: Settings, is_main: bool) -> Result<(), Error> {
    let at = endpoint(&settings.uri)?;
    let servers = router.own::<Servers>();
    if let Some(main) = servers.main.as_ref().filter(|_| is_main) {
        return Err(Error::Running(main.clone()));
    }
    if servers.all.contains_key(&settings.uri) {
        return Err(Error::Running(settings.uri));
    }
    if servers.all.len() >= MOST_SERVERS {
        return Err(Error::TooMany);
    }
    if settings.www_root.is_empty() && !settings.url_handlers {
        return Err(Error::Nothing);
    }
    let cache = Ledger::default();
    let asks = match settings.www_root.as_str() {
        "" => None,
        root => {
            let (size, age) = (settings.cache_size, settings.max_age);
            let bad =
                |why: std::io::Error| Error::Folder(root.to_owned(), control::cli::io_text(&why));
            Some(files::start(root, size, age, cache.clone()).map_err(bad)?)
        }
    };
    let shelf = settings.url_handlers.then(|| handlers(router));
    let limits = Limits {
        body: usize::try_from(settings.max_body_size).unwrap_or(usize::MAX).min(1 << 20),
        idle: f64::from(settings.keepalive_timeout.max(1)),
        ..Limits::default()
    };
    let mut options = Options::default();
    if settings.fifo_size > 0 {
        (options.rx_fifo, options.tx_fifo) = (settings.fifo_size, settings.fifo_size);
    }
    let name = match is_main {
        true => "http_static_server".to_owned(),
        false => format!("http_static_server-{}", at.socket()),
    };
    let site = move || FileSite::new(asks.clone(), shelf.clone());
    let (app, _) = serve(router, &name, options, limits, at, site)?;
    let servers = router.own_mut::<Servers>();
    let uri = settings.uri.clone();
    if is_main {
        servers.main = Some(uri.clone());
    }
    servers.all.insert(uri, Running { app, settings, cache });
    Ok(())
}

/// Stops the server at an endpoint.
///
/// # Errors
/// [`Error::NotRunning`].
pub fn remove(router: &mut Router, uri: &str) -> Result<(), Error> {
    let servers = router.own_mut::<Servers>();
    let old = servers.all.remove(uri).ok_or_else(|| Error::NotRunning(uri.to_owned()))?;
    servers.main.take_if(|main| main == uri);
    detach(router, old.app);
    Ok(())
}

/// Stops all servers.
///
/// # Errors
/// [`Error::None`].
pub fn disable(router: &mut Router) -> Result<(), Error> {
    let servers = std::mem::take(router.own_mut::<Servers>());
    if servers.all.is_empty() {
        return Err(Error::None);
    }
    servers.all.values().for_each(|old| detach(router, old.app));
    Ok(())
}

/// Drops servers whose application was detached by `session disable`.
fn forget(router: &mut Router) {
    *router.own_mut::<Servers>() = Servers::default();
}

fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(Servers::default());
    let switch = |router: &mut Router, is_on: bool| {
        if !is_on {
            forget(router);
        }
    };
    let namespace = |router: &mut Router, index: u32, change: namespaces::Change| {
        let is_ours = namespaces::at(router, index).is_ok_and(|n| n.of.id == namespaces::DEFAULT);
        if is_ours && change == namespaces::Change::Deleting {
            forget(router);
        }
    };
    follow(router, Hook { switch, namespace });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

//! `http cli server`: show commands over HTTP.
//!
//! Requests are checked on data-plane threads ([`site`]). Commands are queued, up to a limit, and
//! the control thread runs a slice of one of them per turn ([`work`]).

mod cli;
mod site;
mod work;

use host_stack::control::{Hook, namespaces};
use host_stack::{Endpoint, Options, detach, listen, unlisten};
use http_core::{BadUri, Limits, endpoint, serve};
use net::prelude::*;

pub(crate) use cli::configuration;
pub use site::command_of;

use work::Work;

/// Name of the application.
const APP: &str = "http_cli_server";
/// Limit of connections per thread.
const CONNECTIONS: usize = 64;

/// The application, while it is attached.
struct Attached {
    app: u32,
    namespace: String,
    secret: u64,
    fifo: Option<u32>,
    /// Listeners by endpoint as configured.
    listeners: BTreeMap<String, u32>,
}

/// State of the control thread.
struct CliServer {
    work: Work,
    attached: Option<Attached>,
}

/// Parameters of a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewListener {
    /// ID of the namespace; empty for the default one.
    pub namespace: String,
    /// Its secret.
    pub secret: u64,
    /// FIFO size of a session in bytes, for each direction.
    pub fifo: Option<u32>,
    /// The endpoint: `http://10.0.0.1/80`.
    pub uri: String,
}

/// Default endpoint.
pub const DEFAULT_URI: &str = "http://0.0.0.0/80";

/// Reasons for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0}
    #[from]
    Stack(host_stack::Error),
    /// {0}
    #[from]
    Uri(BadUri),
    /// the server already listens on {0}
    #[retval(-17)]
    Listening(String),
    /// the server does not listen on {0}
    #[retval(-11)]
    NotListening(String),
    /// the server is in namespace `{0}'
    #[retval(-22)]
    OtherNamespace(String),
}

/// Adds a listener, and attaches the application with the first one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, new: NewListener) -> Result<(), Error> {
    let at = endpoint(&new.uri)?;
    match &router.own::<CliServer>().attached {
        Some(attached) if attached.listeners.contains_key(&new.uri) => {
            Err(Error::Listening(new.uri))
        }
        Some(attached) if !new.namespace.is_empty() && attached.namespace != new.namespace => {
            Err(Error::OtherNamespace(attached.namespace.clone()))
        }
        Some(attached) => {
            let listener = listen(router, attached.app, at, false)?;
            let attached = router.own_mut::<CliServer>().attached.as_mut();
            attached.expect("it is attached").listeners.insert(new.uri, listener);
            Ok(())
        }
        None => begin(router, new, at),
    }
}

/// Attaches the application with its first listener.
fn begin(router: &mut Router, new: NewListener, at: Endpoint) -> Result<(), Error> {
    let NewListener { namespace, secret, fifo, uri } = new;
    let mut options = Options { namespace: namespace.clone(), secret, ..Options::default() };
    if let Some(bytes) = fifo {
        (options.rx_fifo, options.tx_fifo) = (bytes, bytes);
    }
    let site = site::maker(router.own_mut::<CliServer>().work.open(), router.events.sender());
    let limits = Limits { connections: CONNECTIONS, body: 0, ..Limits::default() };
    let (app, listener) = serve(router, APP, options, limits, at, site)?;
    let listeners = BTreeMap::from([(uri, listener)]);
    let attached = Attached { app, namespace, secret, fifo, listeners };
    router.own_mut::<CliServer>().attached = Some(attached);
    Ok(())
}

/// Deletes a listener, and detaches the application after the last one.
///
/// # Errors
/// [`Error::NotListening`].
pub fn remove(router: &mut Router, uri: &str) -> Result<(), Error> {
    let attached = router.own_mut::<CliServer>().attached.as_mut();
    let listener = attached.and_then(|attached| attached.listeners.remove(uri));
    let listener = listener.ok_or_else(|| Error::NotListening(uri.to_owned()))?;
    // The listener exists.
    let _ = unlisten(router, listener);
    let attached = &mut router.own_mut::<CliServer>().attached;
    if let Some(idle) = attached.take_if(|attached| attached.listeners.is_empty()) {
        detach(router, idle.app);
    }
    Ok(())
}

/// Drops an application that was detached with the session layer or its namespace.
fn forget(router: &mut Router) {
    router.own_mut::<CliServer>().attached = None;
}

pub(super) fn register(parts: &mut Parts<'_>) {
    let work = Work::new(parts.cli.clone());
    let router = &mut *parts.router;
    router.insert(CliServer { work, attached: None });
    work::register(router);
    let switch = |router: &mut Router, is_on: bool| {
        if !is_on {
            forget(router);
        }
    };
    let namespace = |router: &mut Router, index: u32, change: namespaces::Change| {
        let id = namespaces::at(router, index).map(|found| found.of.id.clone());
        let attached = &router.own::<CliServer>().attached;
        let is_its = attached.as_ref().zip(id.ok()).is_some_and(|(attached, id)| {
            attached.namespace == id || attached.namespace.is_empty() && id == namespaces::DEFAULT
        });
        if is_its && change == namespaces::Change::Deleting {
            forget(router);
        }
    };
    host_stack::control::follow(router, Hook { switch, namespace });
    cli::register(&mut parts.cli);
}

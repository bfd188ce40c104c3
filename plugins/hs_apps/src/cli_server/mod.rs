//! `http cli server`: show commands over HTTP.
//!
//! Requests are checked on data-plane threads ([`site`]). Commands are queued, up to a limit, and
//! the control thread runs a slice of one of them per turn ([`work`]).

mod cli;
mod site;
mod work;

use host_stack::control::{Hook, namespaces};
use host_stack::{BadEndpoint, Endpoint, Options, attach, detach, listen, unlisten};
use http_core::{Limits, Server};
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
    Uri(BadEndpoint),
    /// {0}: TLS is not supported, use http:// or tcp://
    #[retval(-10)]
    NoTls(String),
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

/// Parses the TCP endpoint of a URI.
fn endpoint(uri: &str) -> Result<Endpoint, Error> {
    if uri.starts_with("https://") || uri.starts_with("tls://") {
        return Err(Error::NoTls(uri.to_owned()));
    }
    let tcp = match uri.strip_prefix("http://") {
        Some(rest) => format!("tcp://{rest}"),
        None => uri.to_owned(),
    };
    Ok(tcp.parse()?)
}

/// Adds a listener, and attaches the application with the first one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, new: NewListener) -> Result<(), Error> {
    let at = endpoint(&new.uri)?;
    let app = match &router.own::<CliServer>().attached {
        Some(attached) if attached.listeners.contains_key(&new.uri) => {
            return Err(Error::Listening(new.uri));
        }
        Some(attached) if !new.namespace.is_empty() && attached.namespace != new.namespace => {
            return Err(Error::OtherNamespace(attached.namespace.clone()));
        }
        Some(attached) => attached.app,
        None => begin(router, &new)?,
    };
    match listen(router, app, at, false) {
        Ok(listener) => {
            let attached = router.own_mut::<CliServer>().attached.as_mut();
            let attached = attached.expect("it was attached above");
            attached.listeners.insert(new.uri, listener);
            Ok(())
        }
        Err(why) => {
            end_if_idle(router);
            Err(why.into())
        }
    }
}

/// Attaches the application.
fn begin(router: &mut Router, new: &NewListener) -> Result<u32, Error> {
    let mut options =
        Options { namespace: new.namespace.clone(), secret: new.secret, ..Options::default() };
    if let Some(bytes) = new.fifo {
        (options.rx_fifo, options.tx_fifo) = (bytes, bytes);
    }
    let make = site::maker(router.own_mut::<CliServer>().work.open(), router.events.sender());
    let limits = Limits { connections: CONNECTIONS, body: 0, ..Limits::default() };
    let app = attach(router, APP, options, move |_| Box::new(Server::new(make(), limits)))?;
    let (namespace, secret, fifo) = (new.namespace.clone(), new.secret, new.fifo);
    let attached = Attached { app, namespace, secret, fifo, listeners: BTreeMap::new() };
    router.own_mut::<CliServer>().attached = Some(attached);
    Ok(app)
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
    end_if_idle(router);
    Ok(())
}

fn end_if_idle(router: &mut Router) {
    let attached = &mut router.own_mut::<CliServer>().attached;
    if let Some(idle) = attached.take_if(|attached| attached.listeners.is_empty()) {
        detach(router, idle.app);
    }
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

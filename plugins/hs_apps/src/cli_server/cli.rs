//! `http cli server`.

use control::Secret;
use net::prelude::*;

use super::{CliServer, DEFAULT_URI, NewListener, add, remove};

/// Serve show commands over HTTP, without a login: everyone who reaches the address may use it.
#[derive(Command, Print, Debug, PartialEq)]
#[command("http cli server")]
#[stage(State)]
#[undo("http cli server uri {uri} listener del")]
struct Serve {
    /// endpoint; default http://0.0.0.0/80
    uri: Option<String>,
    /// FIFO size of a connection in bytes, for each direction
    fifo_size: Option<u32>,
    /// accepted and ignored: memory is allocated as needed
    private_segment_size: Option<String>,
    /// accepted and ignored: memory is allocated as needed
    prealloc_fifos: Option<u32>,
    /// add or delete a listener
    #[words]
    listener: Option<Change>,
    /// namespace, if not the default one
    appns: Option<String>,
    /// its secret
    secret: Option<Secret<u64>>,
    /// accepted and ignored: only HTTP/1 is supported
    http1_only: bool,
    /// not supported
    http3_enabled: bool,
}

/// Add or delete.
#[derive(control::cli::Words, Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Add.
    Add,
    /// Delete.
    Del,
}

pub(crate) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let Some(attached) = &router.own::<CliServer>().attached else { return };
    for uri in attached.listeners.keys() {
        lines.push(&Serve {
            uri: Some(uri.clone()),
            fifo_size: attached.fifo,
            private_segment_size: None,
            prealloc_fifos: None,
            listener: None,
            appns: Some(attached.namespace.clone()).filter(|id| !id.is_empty()),
            secret: (attached.secret != 0).then_some(Secret(attached.secret)),
            http1_only: false,
            http3_enabled: false,
        });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Serve| -> Result<(), Error> {
        if c.http3_enabled {
            return Err(Error::new("only HTTP/1 is supported, not `http3-enabled'"));
        }
        let uri = c.uri.unwrap_or_else(|| DEFAULT_URI.to_owned());
        if c.listener == Some(Change::Del) {
            return Ok(remove(router, &uri)?);
        }
        let namespace = c.appns.unwrap_or_default();
        let secret = c.secret.map_or(0, |secret| *secret);
        Ok(add(router, NewListener { namespace, secret, fifo: c.fifo_size, uri })?)
    });
}

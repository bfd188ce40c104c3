//! `vperf server`, `vperf client`.

use control::cli::{Cli, Command, Error, Task};
use control::config::Size;
use host_stack::{Endpoint, Options, detach, serve};
use net::Router;

use crate::Servers;
use crate::client::Work;
use crate::plan::Plan;
use crate::run::{Run, Wanted};
use crate::server::Server;

/// Default endpoint of the server.
const URI: &str = "tcp://0.0.0.0/1234";
/// Default number of bytes that a client sends.
const BYTES: u64 = 8192;
/// Limit of sessions of a client.
const MOST: u32 = 1 << 16;
/// Default timeouts of a client in seconds: for connecting, and for the test.
const TIMEOUTS: [f64; 2] = [20.0, 20.0];

/// Start or stop the server, which echoes or counts data from clients.
#[derive(Command)]
#[command("vperf server")]
struct ServerCommand {
    /// listening endpoint; default tcp://0.0.0.0/1234
    uri: Option<Endpoint>,
    /// FIFO size of a session in bytes, for each direction; default 64K
    fifo_size: Option<Size>,
    /// ID of the namespace
    appns: Option<String>,
    /// secret of the namespace
    secret: Option<u64>,
    /// accepted for compatibility
    private_segment_size: Option<Size>,
    /// accepted: FIFOs grow as they fill
    #[keyword("prealloc-fifos")]
    _prealloc_fifos: Option<u32>,
    /// accepted: there is no TLS
    #[keyword("tls-engine")]
    _tls_engine: Option<u32>,
    /// stop the server
    stop: bool,
}

/// Send data to a server and show the throughput.
#[derive(Command)]
#[command("vperf client")]
struct ClientCommand {
    /// the server; default tcp://0.0.0.0/1234
    uri: Option<Endpoint>,
    /// number of parallel sessions; default 1
    nclients: Option<u32>,
    /// bytes that each session sends; default 8K
    bytes: Option<Size>,
    /// duration in seconds, instead of a number of bytes
    run_time: Option<f64>,
    /// the server echoes all data
    echo_bytes: bool,
    /// verify received data
    test_bytes: bool,
    /// send no request to the server first: for servers other than vperf
    plain: bool,
    /// FIFO size of a session in bytes, for each direction; default 64K
    fifo_size: Option<Size>,
    /// ID of the namespace
    appns: Option<String>,
    /// secret of the namespace
    secret: Option<u64>,
    /// accepted for compatibility
    private_segment_size: Option<Size>,
    /// timeout in seconds for connecting all sessions; default 20
    syn_timeout: Option<f64>,
    /// timeout in seconds for the test after that; default 20
    test_timeout: Option<f64>,
    /// accepted: FIFOs grow as they fill
    #[keyword("preallocate-fifos")]
    _preallocate_fifos: bool,
    /// accepted: tables grow as needed
    #[keyword("preallocate-sessions")]
    _preallocate_sessions: bool,
    /// accepted: all sessions connect at once
    #[keyword("client-batch")]
    _client_batch: Option<u32>,
    /// accepted: there is no TLS
    #[keyword("tls-engine")]
    _tls_engine: Option<u32>,
    /// accepted for compatibility
    verbose: bool,
}

fn options(
    fifo: Option<Size>,
    appns: Option<String>,
    secret: Option<u64>,
) -> Result<Options, Error> {
    let mut options = Options {
        namespace: appns.unwrap_or_default(),
        secret: secret.unwrap_or_default(),
        ..Options::default()
    };
    if let Some(Size(bytes)) = fifo {
        let bytes = u32::try_from(bytes).map_err(|_| Error::new("failed: fifo-size"))?;
        (options.rx_fifo, options.tx_fifo) = (bytes, bytes);
    }
    Ok(options)
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::new(format!("failed: {why}"))
}

fn server(router: &mut Router, c: ServerCommand) -> Result<(), Error> {
    let _ = c.private_segment_size;
    let running = router.own::<Servers>().0;
    if c.stop {
        let app = running.ok_or_else(|| Error::new("failed: server not running"))?;
        router.own_mut::<Servers>().0 = None;
        detach(router, app);
        return Ok(());
    }
    if running.is_some_and(|app| host_stack::control::apps::at(router, app).is_some()) {
        return Err(Error::new("failed: server already running"));
    }
    let uri = c.uri.map_or_else(|| URI.parse(), Ok).map_err(failed)?;
    let options = options(c.fifo_size, c.appns, c.secret)?;
    let make = |_| -> Box<dyn host_stack::Application> { Box::new(Server::default()) };
    let (app, _) = serve(router, "vperf-server", options, uri, make).map_err(failed)?;
    router.own_mut::<Servers>().0 = Some(app);
    Ok(())
}

fn client(router: &mut Router, c: ClientCommand) -> Result<Box<dyn Task<Router>>, Error> {
    let _ = (c.private_segment_size, c.verbose);
    let clients = c.nclients.unwrap_or(1);
    if !(1..=MOST).contains(&clients) {
        return Err(Error::new(format!("failed: nclients must be 1 to {MOST}")));
    }
    let is_time = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
    let times = [c.run_time, c.syn_timeout, c.test_timeout];
    if !times.iter().flatten().all(is_time) {
        return Err(Error::new("failed: times must not be negative"));
    }
    if c.run_time.is_some() && c.bytes.is_some() {
        return Err(Error::new("failed: bytes and run-time exclude each other"));
    }
    let bytes = match (c.bytes, c.run_time) {
        (Some(Size(0)), _) => return Err(Error::new("failed: bytes must be greater than 0")),
        (Some(Size(bytes)), _) => bytes,
        (None, Some(_)) => 0,
        (None, None) => BYTES,
    };
    let plan = Plan { echoes: c.echo_bytes, is_tested: c.test_bytes, bytes, ..Plan::default() };
    let wanted = Wanted {
        to: c.uri.map_or_else(|| URI.parse(), Ok).map_err(failed)?,
        clients,
        work: Work { plan, is_plain: c.plain, run_time: c.run_time },
        options: options(c.fifo_size, c.appns, c.secret)?,
        syn_timeout: c.syn_timeout.unwrap_or(TIMEOUTS[0]),
        test_timeout: c.test_timeout.unwrap_or(TIMEOUTS[1]),
    };
    Ok(Box::new(Run::start(wanted, router)?))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(server);
    cli.task(client);
}

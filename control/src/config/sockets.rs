//! `statseg { … }`, `socksvr { … }`, `api-trace { … }` and `api-segment { … }`.

use std::net::{AddrParseError, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use super::stanza::{Error, Section};
use super::values::Size;
use super::{PageSize, Unix};
use crate::cli::Args;

/// The statistics segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Socket of the segment; in the runtime folder when not given.
    pub socket_name: Option<PathBuf>,
    /// Size of the segment.
    pub size: Option<Size>,
    /// Pages of the segment.
    pub page_size: PageSize,
    /// Whether calls, vectors, clocks and suspends of each node are in the segment.
    pub per_node_counters: bool,
    /// Seconds between updates of what control computes; 10 when not given.
    pub update_interval: Option<f64>,
    /// Endpoint of the same numbers for Prometheus; none when not given.
    pub prometheus: Option<Endpoint>,
}

/// An address to listen on: `host:port`, or a port of this machine alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(pub SocketAddr);

impl FromStr for Endpoint {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(port) => Ok(Self((Ipv4Addr::LOCALHOST, port).into())),
            Err(_) => text.parse().map(Self),
        }
    }
}

impl Statistics {
    /// Socket of the segment.
    pub fn socket(&self, unix: &Unix) -> PathBuf {
        self.socket_name.clone().unwrap_or_else(|| unix.runtime_dir().join("stats.sock"))
    }
}

impl Section for Statistics {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "socket-name" => self.socket_name = Some(args.value(word)?),
            "default" => self.socket_name = None,
            "size" => self.size = Some(args.value(word)?),
            "page-size" => self.page_size = args.value(word)?,
            "per-node-counters" => self.per_node_counters = on_off(args, word)?,
            "prometheus" => self.prometheus = Some(args.value(word)?),
            "update-interval" => self.update_interval = Some(args.value(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// The binary-API socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Socket of clients; in the runtime folder when not given.
    pub socket_name: Option<PathBuf>,
}

impl Section for Sockets {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "socket-name" => self.socket_name = Some(args.value(word)?),
            "default" => self.socket_name = None,
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// Recording of binary-API messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiTrace {
    /// Record from the start.
    pub on: bool,
    /// Messages to keep.
    pub nitems: Option<u32>,
    /// File to write the message table to.
    pub save_api_table: Option<String>,
}

impl Section for ApiTrace {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "on" | "enable" => self.on = true,
            "off" | "disable" => self.on = false,
            "nitems" => self.nitems = Some(args.value(word)?),
            "save-api-table" => self.save_api_table = Some(args.value(word)?),
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// Names and owners of the API's shared files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiSegment {
    /// Prefix that tells several routers on one machine apart.
    pub prefix: Option<String>,
    /// Owner, by name or number.
    pub uid: Option<String>,
    /// Group, by name or number.
    pub gid: Option<String>,
}

impl Section for ApiSegment {
    fn word(&mut self, word: &str, args: &mut Args<'_>) -> Result<(), Error> {
        match word {
            "prefix" => self.prefix = Some(args.value(word)?),
            "uid" => self.uid = Some(args.value(word)?),
            "gid" => self.gid = Some(args.value(word)?),
            "baseva"
            | "global-size"
            | "global-pvt-heap-size"
            | "api-size"
            | "api-pvt-heap-size" => {
                args.keyword("size");
                drop(args.value::<String>(word)?);
            }
            _ => return Err(Error::unknown(word)),
        }
        Ok(())
    }
}

/// `on` or `off` (`enable`, `disable`).
pub(super) fn on_off(args: &mut Args<'_>, what: &str) -> Result<bool, Error> {
    let words = [("on", true), ("off", false), ("enable", true), ("disable", false)];
    let found = words.into_iter().find(|(word, _)| args.keyword(word));
    let missing = || args.error(format_args!("expected on or off after {what}, got")).into();
    found.map(|(_, is_on)| is_on).ok_or_else(missing)
}

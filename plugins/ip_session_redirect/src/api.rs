//! Messages of the module `ip_session_redirect`.

use net::fib::RouteOf;
use net::fib::types::{FibPath, FibPathNhProto};
use net::prelude::*;

use super::{LINKS, NewRedirect, Redirect};

/// Bytes of a match at most.
const MATCH: usize = 80;
/// All tables.
const ALL: u32 = u32::MAX;

/// Redirect the packets of a session; the address family is that of the next hops.
#[derive(Message)]
#[option("deprecated")]
#[option("status", "in_progress")]
pub struct IpSessionRedirectAdd {
    /// classifier table
    pub table_index: u32,
    /// bytes of the match in use
    pub match_len: u8,
    #[name("match")]
    /// match data: skipped bytes, then the bytes to match
    pub matched: [u8; MATCH],
    #[preset(4294967295)]
    /// opaque value for the client
    pub opaque_index: u32,
    /// true for punted packets
    pub is_punt: bool,
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// Redirect the packets of a session.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct IpSessionRedirectAddV2 {
    /// classifier table
    pub table_index: u32,
    #[preset(4294967295)]
    /// opaque value for the client
    pub opaque_index: u32,
    #[preset(4294967295)]
    /// address family of the packets; 4294967295 for that of the next hops
    pub proto: FibPathNhProto,
    /// true for punted packets
    pub is_punt: bool,
    /// bytes of the match in use
    pub match_len: u8,
    #[name("match")]
    /// match data: skipped bytes, then the bytes to match
    pub matched: [u8; MATCH],
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

/// Delete the redirect of a session.
#[derive(Message)]
#[option("status", "in_progress")]
pub struct IpSessionRedirectDel {
    /// classifier table
    pub table_index: u32,
    #[counted(match_len: u8)]
    #[name("match")]
    /// match data as configured
    pub matched: Vec<u8>,
}

/// List redirected sessions.
#[derive(Message)]
#[details(IpSessionRedirectDetails)]
pub struct IpSessionRedirectDump {
    /// classifier table; 4294967295 for all
    pub table_index: u32,
}

/// A redirected session.
#[derive(Message)]
pub struct IpSessionRedirectDetails {
    /// always 0
    pub retval: i32,
    /// classifier table
    pub table_index: u32,
    /// opaque value for the client
    pub opaque_index: u32,
    /// true for punted packets
    pub is_punt: bool,
    /// true for IPv6, false for IPv4
    pub is_ip6: bool,
    /// bytes of the match in use
    pub match_length: u32,
    #[name("match")]
    /// match data
    pub matched: [u8; MATCH],
    /// paths
    #[counted(n_paths: u8)]
    pub paths: Vec<FibPath>,
}

fn add(router: &mut Router, m: &IpSessionRedirectAddV2) -> Result<(), Retval> {
    let is_ip6 = match m.proto {
        FibPathNhProto::IP4 => false,
        FibPathNhProto::IP6 => true,
        proto if proto == FibPathNhProto(u32::MAX) => {
            m.paths.iter().any(|path| path.proto == FibPathNhProto::IP6)
        }
        _ => return Err(Retval::INVALID_VALUE),
    };
    let matched = m.matched.get(..m.match_len.into()).ok_or(Retval::INVALID_VALUE)?.to_vec();
    let version = usize::from(is_ip6);
    let path = |path: &FibPath| path.native_of(router, RouteOf::Link(LINKS[version]));
    let paths = m.paths.iter().map(path).collect::<Result<_, _>>()?;
    let (table, opaque, is_punt) = (m.table_index, m.opaque_index, m.is_punt);
    Ok(super::add(router, NewRedirect { table, matched, opaque, is_punt, version, paths })?)
}

impl IpSessionRedirectDetails {
    fn of(router: &Router, r: &Redirect) -> Self {
        let mut matched = [0; MATCH];
        let len = r.matched.len().min(MATCH);
        matched[..len].copy_from_slice(&r.matched[..len]);
        let paths = r.paths.iter().take(u8::MAX.into());
        Self {
            retval: 0,
            table_index: r.table,
            opaque_index: r.opaque,
            is_punt: r.is_punt,
            is_ip6: r.version == 1,
            match_length: len as u32,
            matched,
            paths: paths.map(|path| FibPath::of_link(router, LINKS[r.version], path)).collect(),
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("ip_session_redirect", "0.3.0")
        .call(|router: &mut Router, m: IpSessionRedirectAdd| {
            let v2 = IpSessionRedirectAddV2 {
                table_index: m.table_index,
                opaque_index: m.opaque_index,
                proto: FibPathNhProto(u32::MAX),
                is_punt: m.is_punt,
                match_len: m.match_len,
                matched: m.matched,
                paths: m.paths,
            };
            add(router, &v2)
        })
        .call(|router: &mut Router, m: IpSessionRedirectAddV2| add(router, &m))
        .call(|router: &mut Router, m: IpSessionRedirectDel| {
            Ok(super::remove(router, m.table_index, &m.matched)?)
        })
        .dump(|router: &mut Router, m: IpSessionRedirectDump| {
            let table = (m.table_index != ALL).then_some(m.table_index);
            super::all(router, table).map(|r| IpSessionRedirectDetails::of(router, r)).collect()
        });
}

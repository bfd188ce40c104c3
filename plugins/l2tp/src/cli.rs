//! Commands about L2TPv3 sessions.

use std::str::FromStr;

use control::{HIDDEN, Secret};
use net::prelude::*;
use net::tunnel::{Outer, command, show};

use super::{L2tp, TakesAny};

/// A cookie, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cookie(u64);

impl FromStr for Cookie {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        u64::from_str_radix(digits, 16).map(Self)
    }
}

impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

/// Create an L2TPv3 session.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create l2tpv3 tunnel")]
#[undo("delete l2tpv3 tunnel client {client} our {our} local-session {local-session}")]
struct Create {
    /// remote address
    client: Ipv6Addr,
    /// local address
    our: Ipv6Addr,
    /// local cookie
    local_cookie: Option<Secret<Cookie>>,
    /// remote cookie
    remote_cookie: Option<Secret<Cookie>>,
    /// local session ID
    #[alias("local-session-id")]
    local_session: u32,
    /// remote session ID
    #[alias("remote-session-id")]
    remote_session: u32,
    /// with a layer 2 sublayer header
    l2_sublayer_present: bool,
    /// table to route the outer packets in
    #[alias("fib-id")]
    encap_vrf_id: Option<u32>,
}

/// Delete an L2TPv3 session.
#[derive(Command)]
#[command("delete l2tpv3 tunnel")]
struct Delete {
    /// remote address
    client: Ipv6Addr,
    /// local address
    our: Ipv6Addr,
    /// local session ID
    local_session: u32,
}

fn create(router: &mut Router, c: &Create) -> Result<Output, Error> {
    let table = router.tunnel_table(c.our.into(), c.encap_vrf_id.unwrap_or_default())?;
    let cookie = |given: Option<Secret<Cookie>>| given.map_or(0, |cookie| cookie.0.0);
    let l2tp = L2tp {
        sessions: (c.local_session, c.remote_session),
        local_cookies: [cookie(c.local_cookie); 2],
        remote_cookie: cookie(c.remote_cookie),
        has_sublayer: c.l2_sublayer_present,
    };
    let made = super::add(router, Outer::new(c.our.into(), c.client.into(), table), l2tp)?;
    Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
}

/// Change the cookies of an L2TPv3 session; the previous local one stays valid.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set l2tpv3 tunnel cookie")]
#[stage(Attachments)]
struct SetCookies {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// local cookie
    local: Secret<Cookie>,
    /// remote cookie
    remote: Secret<Cookie>,
}

/// Enable or disable L2TPv3 reception on an interface, for any destination address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip6 l2tpv3")]
#[stage(Attachments)]
struct Take {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

/// Show L2TPv3 sessions.
#[derive(Command)]
#[command("show l2tpv3")]
struct Show {
    /// with what they carried
    #[alias("v")]
    verbose: bool,
}

/// Clear the counters of L2TPv3 sessions.
#[derive(Command)]
#[command("clear l2tp counters")]
struct Clear;

fn six(addr: std::net::IpAddr) -> Option<Ipv6Addr> {
    super::six(addr).ok()
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for t in super::sessions(router) {
        let (Some(client), Some(our)) = (six(t.outer.dst), six(t.outer.src)) else { continue };
        let [now, before] = t.kind.local_cookies;
        let cookie = |value: u64| Some(Secret(Cookie(value))).filter(|c| c.0.0 != 0);
        let create = Create {
            client,
            our,
            local_cookie: cookie(before),
            remote_cookie: cookie(t.kind.remote_cookie),
            local_session: t.kind.sessions.0,
            remote_session: t.kind.sessions.1,
            l2_sublayer_present: t.kind.has_sublayer,
            encap_vrf_id: Some(router.tunnel_table_id(&t.outer)).filter(|id| *id != 0),
        };
        command::push(router, lines, t.interface, &create);
        if now != before {
            let (local, remote) = (Cookie(now).into(), Cookie(t.kind.remote_cookie).into());
            lines.push(&SetCookies { interface: t.interface, local, remote });
        }
    }
    for (interface, on) in router.settings::<TakesAny>() {
        if on.0 {
            lines.push(&Take { interface, del: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| create(router, &c));
    cli.command(|router: &mut Router, c: Delete| {
        let is_it = |t: &&net::tunnel::Tunnel<L2tp>| {
            (t.outer.dst, t.outer.src) == (c.client.into(), c.our.into())
                && t.kind.sessions.0 == c.local_session
        };
        let found = super::sessions(router).find(is_it).map(|t| t.interface);
        let interface = found.ok_or("no such session")?;
        Ok::<_, Error>(super::remove(router, interface)?)
    });
    cli.command(|router: &mut Router, c: SetCookies| {
        Ok::<_, Error>(super::set_cookies(router, c.interface, (c.local.0.0, c.remote.0.0))?)
    });
    cli.command(|router: &mut Router, c: Take| {
        Ok::<_, Error>(super::take_any(router, c.interface, !c.del)?)
    });
    cli.command(|router: &mut Router, _: Clear| {
        let all: Vec<_> = super::sessions(router).map(|t| t.interface).collect();
        let clear = |on| router.clear_interface_counters(Some(on));
        all.into_iter().try_for_each(clear).map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, c: Show| {
        Ok(show::all::<L2tp>(router, "L2TPv3", |t, table| {
            let L2tp { sessions, local_cookies: [now, before], remote_cookie, .. } = t.kind;
            let sublayer = if t.kind.has_sublayer { " l2-sublayer" } else { "" };
            let [now, before, theirs] = [now, before, remote_cookie].map(shown);
            let mut more = format!(
                "session local {} remote {} cookie local {now} (before {before}) \
                 remote {theirs}{sublayer}",
                sessions.0, sessions.1
            );
            if c.verbose {
                let carried = router.interfaces.values(t.interface);
                let (rx, tx) = (carried.rx.packets, carried.tx.packets);
                more += &format!(" rx {rx} tx {tx}");
            }
            format!("{} {more}", show::line(t, table, ""))
        }))
    });
}

/// A cookie as it is shown: whether there is one.
fn shown(cookie: u64) -> &'static str {
    if cookie == 0 { "0x0" } else { HIDDEN }
}

//! `lb …`.

use net::prelude::*;
use translation::words::word;

use crate::nat::{self, Translating};
use crate::state::{self, BUCKETS, Conf, Lb, TIMEOUT};
use crate::vip::{Encap, FULL_WEIGHT, Key, PLACES, Service, Vip};
use crate::{servers, show};

/// Protocols that VIPs have.
const PROTOCOLS: [(&str, Protocol); 2] = [("tcp", Protocol::TCP), ("udp", Protocol::UDP)];

/// Set the global load balancer parameters
#[derive(Command, Print, Debug, PartialEq)]
#[command("lb conf")]
#[stage(Settings)]
#[undo("=lb conf ip4-src-address 0.0.0.0 ip6-src-address :: buckets 1024 timeout 40")]
struct SetConf {
    /// source address of GRE over IPv4; 0.0.0.0 for none
    ip4_src_address: Option<Ipv4Addr>,
    /// source address of GRE over IPv6; :: for none
    ip6_src_address: Option<Ipv6Addr>,
    /// sticky buckets of four flows per thread, a power of 2
    buckets: Option<u32>,
    /// its binary logarithm
    buckets_log2: Option<u32>,
    /// inactive timeout in seconds
    timeout: Option<u32>,
}

/// `protocol PROTOCOL port PORT`, if it comes next.
fn port(args: &mut Args<'_>) -> Result<Option<(Protocol, u16)>, Error> {
    if !args.keyword("protocol") {
        return Ok(None);
    }
    let found = PROTOCOLS.into_iter().find(|(word, _)| args.keyword(word));
    let (_, protocol) = found.ok_or_else(|| args.error("expected tcp or udp"))?;
    if !args.keyword("port") {
        return Err(args.error("expected port and its number"));
    }
    Ok(Some((protocol, args.value("port")?)))
}

/// Reads a prefix, a protocol with its port, and what `take` knows, in any order.
fn key(
    args: &mut Args<'_>,
    mut take: impl FnMut(&mut Args<'_>) -> Result<bool, Error>,
) -> Result<Key, Error> {
    let (mut prefix, mut of) = (None, None);
    while !args.is_empty() {
        if let Some(port) = port(args)? {
            of = Some(port);
        } else if !take(args)? {
            if prefix.is_some() {
                return Err(args.unknown());
            }
            prefix = Some(args.value::<Prefix>("prefix")?.network());
        }
    }
    let prefix = prefix.ok_or_else(|| args.error("expected a prefix"))?;
    Ok(Key { prefix, port: of })
}

fn print_key(line: &mut Line<'_>, key: &Key) {
    line.value(&key.prefix);
    if let Some((protocol, port)) = key.port {
        line.word("protocol").word(word(protocol)).keyword("port", &port);
    }
}

/// `lb vip`.
#[derive(Debug, PartialEq)]
struct SetVip {
    vip: Vip,
    del: bool,
}

impl Command for SetVip {
    const PATHS: &'static [&'static str] = &["lb vip"];
    const ABOUT: &'static str = "Add or delete a VIP: a prefix, or a port of it, balanced over \
        servers";
    const USAGE: &'static str = "<prefix> [protocol (tcp|udp) port <n>] \
        [encap (gre6|gre4|l3dsr|nat4|nat6)] [dscp <n>] \
        [type (nodeport|clusterip) target_port <n>] [node_port <n>] [new_len <n>] \
        [src_ip_sticky] [del]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut encap, mut dscp, mut target_port, mut places) = (Encap::default(), 0, 0, PLACES);
        let (mut is_sticky, mut del, mut is_node_port, mut node_port) = (false, false, false, None);
        let key = key(args, |args| {
            if args.keyword("encap") {
                let found = Encap::ALL.into_iter().find(|(_, word)| args.keyword(word));
                let all = "expected gre4, gre6, l3dsr, nat4 or nat6";
                (encap, _) = found.ok_or_else(|| args.error(all))?;
            } else if args.keyword("dscp") {
                dscp = args.value("dscp")?;
            } else if args.keyword("type") {
                is_node_port = args.keyword("nodeport");
                if !is_node_port && !args.keyword("clusterip") {
                    return Err(args.error("expected nodeport or clusterip"));
                }
            } else if args.keyword("target_port") {
                target_port = args.value("target_port")?;
            } else if args.keyword("node_port") {
                node_port = Some(args.value("node_port")?);
            } else if args.keyword("new_len") {
                places = args.value("new_len")?;
            } else if args.keyword("src_ip_sticky") {
                is_sticky = true;
            } else {
                let is_del = args.keyword("del");
                del |= is_del;
                return Ok(is_del);
            }
            Ok(true)
        })?;
        let service = Service::ClusterIp;
        let mut vip = Vip { key, encap, dscp, service, target_port, places, is_sticky };
        if is_node_port {
            let own = vip.key.port.map_or(0, |(_, port)| port);
            vip.service = Service::NodePort(node_port.unwrap_or(own));
        }
        Ok(Self { vip, del })
    }
}

impl Print for SetVip {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "lb vip {1} protocol {protocol} port {port} del|lb vip {1} del";
    fn print(&self, line: &mut Line<'_>) {
        let Vip { key, encap, dscp, service, target_port, places, is_sticky } = &self.vip;
        print_key(line, key);
        line.word("encap").word(encap.word());
        line.option("dscp", Some(dscp).filter(|dscp| **dscp != 0));
        let is_node_port = matches!(service, Service::NodePort(_));
        if *target_port != 0 || is_node_port {
            line.word("type").word(if is_node_port { "nodeport" } else { "clusterip" });
            line.keyword("target_port", target_port);
        }
        if let Service::NodePort(port) = service {
            line.option("node_port", Some(port).filter(|p| key.port.is_none_or(|k| k.1 != **p)));
        }
        line.option("new_len", Some(places).filter(|places| **places != PLACES));
        line.flag("src_ip_sticky", *is_sticky).flag("del", self.del);
    }
}

/// `lb as`.
#[derive(Debug, PartialEq)]
struct SetServers {
    key: Key,
    addrs: Vec<IpAddr>,
    weight: Option<u8>,
    del: bool,
    flush: bool,
}

impl Command for SetServers {
    const PATHS: &'static [&'static str] = &["lb as"];
    const ABOUT: &'static str = "Add servers to a VIP, set their weight, or delete them";
    const USAGE: &'static str = "<vip-prefix> [protocol (tcp|udp) port <n>] \
        [<address> ...] [weight <n:0-100>] [del] [flush]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut addrs, mut weight, mut del, mut flush) = (Vec::new(), None, false, false);
        let key = key(args, |args| {
            if args.keyword("weight") {
                weight = Some(args.value("weight")?);
            } else if args.keyword("del") {
                del = true;
            } else if args.keyword("flush") {
                flush = true;
            } else if let Some(addr) = args.optional() {
                addrs.push(addr);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        let new = Self { key, addrs, weight, del, flush };
        if new.addrs.is_empty() {
            return Err(args.error("expected the address of a server"));
        }
        Ok(new)
    }
}

impl Print for SetServers {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str =
        "lb as {1} protocol {protocol} port {port} {6} del flush|lb as {1} {2} del flush";
    fn print(&self, line: &mut Line<'_>) {
        print_key(line, &self.key);
        line.values(&self.addrs).option("weight", self.weight.as_ref());
        line.flag("del", self.del).flag("flush", self.flush);
    }
}

/// `lb flush vip`.
struct Flush(Key);

impl Command for Flush {
    const PATHS: &'static [&'static str] = &["lb flush vip"];
    const ABOUT: &'static str = "Delete the known flows of a VIP, or of all VIPs in a prefix";
    const USAGE: &'static str = "<prefix> [protocol (tcp|udp) port <n>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        key(args, |_| Ok(false)).map(Self)
    }
}

macro_rules! translating {
    ($($name:ident, $path:literal, $family:literal, $about:literal;)*) => {$(
        #[doc = $about]
        #[derive(Command, Print, Debug, PartialEq)]
        #[command($path)]
        #[stage(Attachments)]
        struct $name {
            /// interface index
            r#in: InterfaceIndex,
            /// delete
            del: bool,
        }
    )*};
}

translating! {
    SetNat4, "lb set interface nat4", 0,
        "Enable or disable translation of server replies on an interface";
    SetNat6, "lb set interface nat6", 1,
        "Enable or disable translation of IPv6 server replies on an interface";
}

/// Delete all known flows
#[derive(Command)]
#[command("test lb flowtable flush")]
struct ForgetFlows {}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let lb = router.own::<Lb>();
    let sources = lb.tables.sources.current();
    let conf = SetConf {
        ip4_src_address: Some(sources.ip4).filter(|addr| !addr.is_unspecified()),
        ip6_src_address: Some(sources.ip6).filter(|addr| !addr.is_unspecified()),
        buckets: Some(lb.buckets).filter(|buckets| *buckets != BUCKETS),
        buckets_log2: None,
        timeout: Some(lb.timeout).filter(|timeout| *timeout != TIMEOUT),
    };
    let SetConf { ip4_src_address, ip6_src_address, buckets, timeout, .. } = &conf;
    let is_usual = ip4_src_address.is_none() && ip6_src_address.is_none();
    if !(is_usual && buckets.is_none() && timeout.is_none()) {
        lines.push(&conf);
    }
    for (key, declared) in &lb.vips {
        lines.push(&SetVip { vip: declared.vip, del: false });
        for (addr, server) in declared.servers.iter().filter(|(_, server)| server.is_used) {
            let weight = Some(server.weight).filter(|weight| *weight != FULL_WEIGHT);
            let (key, addrs) = (*key, vec![*addr]);
            lines.push(&SetServers { key, addrs, weight, del: false, flush: false });
        }
    }
    for (interface, on) in router.settings::<Translating>() {
        if on.0[0] {
            lines.push(&SetNat4 { r#in: interface, del: false });
        }
        if on.0[1] {
            lines.push(&SetNat6 { r#in: interface, del: false });
        }
    }
}

fn set_servers(router: &mut Router, c: &SetServers) -> Result<(), Error> {
    let SetServers { key, addrs, weight, del, flush } = c;
    if *del {
        return Ok(servers::remove(router, key, addrs, *flush)?);
    }
    let all = router.own::<Lb>().vips.get(key).map(|declared| &declared.servers);
    let is_there = |addr| all.and_then(|all| all.get(addr)).is_some_and(|server| server.is_used);
    match weight {
        Some(weight) if addrs.iter().all(is_there) => {
            let mut all = addrs.iter();
            Ok(all.try_for_each(|addr| servers::set_weight(router, key, *addr, *weight, *flush))?)
        }
        _ => Ok(servers::add(router, key, addrs, weight.unwrap_or(FULL_WEIGHT))?),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetConf| {
        let SetConf { ip4_src_address: ip4, ip6_src_address: ip6, buckets, timeout, .. } = c;
        let power = |n: u32| {
            let bad = || Error::new(format!("buckets-log2 must be below 32, not {n}"));
            1u32.checked_shl(n).ok_or_else(bad)
        };
        let buckets = c.buckets_log2.map(power).transpose()?.or(buckets);
        Ok(state::configure(router, Conf { ip4, ip6, buckets, timeout })?)
    });
    cli.command(|router: &mut Router, c: SetVip| match c.del {
        true => Ok(state::remove_vip(router, &c.vip.key)?),
        false => Ok(state::add_vip(router, c.vip)?),
    });
    cli.command(|router: &mut Router, c: SetServers| set_servers(router, &c));
    cli.command(|router: &mut Router, c: Flush| Ok(servers::flush(router, &c.0)?));
    cli.command(|router: &mut Router, c: SetNat4| Ok(nat::set(router, c.r#in, 0, !c.del)?));
    cli.command(|router: &mut Router, c: SetNat6| Ok(nat::set(router, c.r#in, 1, !c.del)?));
    cli.command(|router: &mut Router, ForgetFlows {}| Ok(state::forget_flows(router)?));
    show::register(cli);
}

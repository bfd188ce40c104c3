//! `show lb`, `show lb vips`.

use net::prelude::*;

use crate::core::{KNOWN, NEW, NO_SERVER, UNTRACKED};
use crate::gc::count_flows;
use crate::maglev::share;
use crate::state::{Declared, Lb};
use crate::vip::Service;

/// Show the load balancer's parameters and totals
#[derive(Command)]
#[command("show lb")]
struct Show {}

/// Show VIPs
#[derive(Command)]
#[command("show lb vips")]
struct ShowVips {
    /// include packets and servers
    verbose: bool,
}

#[derive(Serialize)]
struct Shown {
    ip4_src_address: String,
    ip6_src_address: String,
    buckets: u32,
    timeout: u32,
    vips: usize,
    servers: usize,
    flows: u64,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "lb_main ip4-src-address: {}", self.ip4_src_address)?;
        writeln!(f, " ip6-src-address: {}", self.ip6_src_address)?;
        writeln!(f, " #vips: {}\n #ass: {}", self.vips, self.servers)?;
        writeln!(f, " flows: {} of {} buckets of 4 per thread", self.flows, self.buckets)?;
        writeln!(f, " timeout: {}s", self.timeout)
    }
}

#[derive(Serialize)]
struct ShownServer {
    address: IpAddr,
    weight: u8,
    buckets: u32,
    flows: u64,
    is_leaving: bool,
    since_s: f64,
}

#[derive(Serialize)]
struct ShownVip {
    index: u32,
    #[serde(skip)]
    is_6: bool,
    prefix: String,
    protocol: u8,
    port: Option<u16>,
    encap: &'static str,
    dscp: u8,
    target_port: u16,
    node_port: Option<u16>,
    new_len: u32,
    src_ip_sticky: bool,
    servers: usize,
    packets: [u64; 4],
    each: Vec<ShownServer>,
}

impl ShownVip {
    /// IP versions of packets and of the headers in front of them, and the kind of these.
    fn kind(&self) -> String {
        format!("ip{}-{}", if self.is_6 { 6 } else { 4 }, self.encap)
    }
    fn translation(&self) -> Option<String> {
        let kind = if self.node_port.is_some() { "nodeport" } else { "clusterip" };
        let port = self.node_port.or(self.port).unwrap_or_default();
        let target = self.target_port;
        (target != 0).then(|| format!("type:{kind} port:{port} target_port:{target}"))
    }
    fn protocol(&self) -> Option<String> {
        self.port.map(|port| format!("protocol:{} port:{port}", self.protocol))
    }
}

impl fmt::Display for ShownVip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sticky = if self.src_ip_sticky { " src_ip_sticky" } else { "" };
        write!(f, "{} {}{sticky} new_size:{}", self.kind(), self.prefix, self.new_len)?;
        write!(f, " #as:{}", self.servers)?;
        self.protocol().iter().try_for_each(|text| write!(f, "  {text}"))?;
        if self.encap == "l3dsr" {
            write!(f, "   dscp:{}", self.dscp)?;
        }
        self.translation().iter().try_for_each(|text| write!(f, "  {text}"))
    }
}

impl ShownVip {
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sticky = if self.src_ip_sticky { " src_ip_sticky" } else { "" };
        writeln!(f, " {} [{}] {}{sticky}", self.kind(), self.index, self.prefix)?;
        writeln!(f, "  new_size:{}", self.new_len)?;
        self.protocol().iter().try_for_each(|text| writeln!(f, "  {text}"))?;
        if self.encap == "l3dsr" {
            writeln!(f, "  dscp:{}", self.dscp)?;
        }
        self.translation().iter().try_for_each(|text| writeln!(f, "  {text}"))?;
        writeln!(f, "  counters:")?;
        let names = [
            "packet from existing sessions",
            "first session packet",
            "untracked packet",
            "no server configured",
        ];
        for (name, count) in names.iter().zip(self.packets) {
            writeln!(f, "    {name}: {count}")?;
        }
        writeln!(f, "  #as:{}", self.each.len())?;
        for server in &self.each {
            let ShownServer { address, weight, buckets, flows, is_leaving, .. } = server;
            let state = if *is_leaving { "removed" } else { "used" };
            writeln!(f, "    {address} weight:{weight} buckets:{buckets} flows:{flows} {state}")?;
        }
        writeln!(f)
    }
}

#[derive(Serialize)]
struct ShownVips {
    vips: Vec<ShownVip>,
    #[serde(skip)]
    is_verbose: bool,
}

impl fmt::Display for ShownVips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vips.iter().try_for_each(|vip| match self.is_verbose {
            true => vip.write_details(f),
            false => writeln!(f, "{vip}"),
        })
    }
}

fn shown_vip(router: &Router, declared: &Declared, flows: &BTreeMap<u32, u64>) -> ShownVip {
    let Declared { number, vip, servers } = declared;
    let tables = &router.own::<Lb>().tables;
    let places = tables.vips.at(*number).map_or(&[][..], |view| &view.places);
    let count = |at: usize| tables.counts[at].sum(*number as usize).packets;
    let now = router.now();
    let each = servers.iter().map(|(addr, server)| ShownServer {
        address: *addr,
        weight: server.weight,
        buckets: share(places, server.number),
        flows: flows.get(&server.number).copied().unwrap_or(0),
        is_leaving: !server.is_used,
        since_s: now - server.since,
    });
    ShownVip {
        index: *number,
        is_6: matches!(vip.key.prefix, Prefix::Ip6(_)),
        prefix: vip.key.prefix.to_string(),
        protocol: vip.key.port.map_or(0, |(protocol, _)| protocol.0),
        port: vip.key.port.map(|(_, port)| port),
        encap: vip.encap.word(),
        dscp: vip.dscp,
        target_port: vip.target_port,
        node_port: match vip.service {
            Service::NodePort(port) => Some(port),
            Service::ClusterIp => None,
        },
        new_len: vip.places,
        src_ip_sticky: vip.is_sticky,
        servers: servers.values().filter(|server| server.is_used).count(),
        packets: [KNOWN, NEW, UNTRACKED, NO_SERVER].map(count),
        each: each.collect(),
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, Show {}| {
        let flows = count_flows(router).values().sum();
        let lb = router.own::<Lb>();
        let sources = lb.tables.sources.current();
        let servers = lb.vips.values().map(|declared| declared.servers.len());
        Ok(Output::of(Shown {
            ip4_src_address: sources.ip4.to_string(),
            ip6_src_address: sources.ip6.to_string(),
            buckets: lb.buckets,
            timeout: lb.timeout,
            vips: lb.vips.len(),
            servers: servers.sum(),
            flows,
        }))
    });
    cli.command(|router: &mut Router, c: ShowVips| {
        let flows = if c.verbose { count_flows(router) } else { BTreeMap::new() };
        let all = router.own::<Lb>().vips.values();
        let vips = all.map(|declared| shown_vip(router, declared, &flows)).collect();
        Ok(Output::of(ShownVips { vips, is_verbose: c.verbose }))
    });
}

//! `show lb`, `show lb vips`.

use net::prelude::*;
use translation::words::word;

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
        writeln!(f, "lb")?;
        writeln!(f, " ip4-src-address: {}", self.ip4_src_address)?;
        writeln!(f, " ip6-src-address: {}", self.ip6_src_address)?;
        writeln!(f, " #vips: {}", self.vips)?;
        writeln!(f, " #ass: {}", self.servers)?;
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
    prefix: String,
    protocol: Option<&'static str>,
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

impl fmt::Display for ShownVip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.prefix)?;
        if let (Some(protocol), Some(port)) = (self.protocol, self.port) {
            write!(f, " protocol {protocol} port {port}")?;
        }
        write!(f, " encap {}", self.encap)?;
        if self.encap == "l3dsr" {
            write!(f, " dscp {}", self.dscp)?;
        }
        if self.target_port != 0 {
            let kind = if self.node_port.is_some() { "nodeport" } else { "clusterip" };
            write!(f, " type {kind} target_port {}", self.target_port)?;
        }
        if let Some(port) = self.node_port {
            write!(f, " node_port {port}")?;
        }
        write!(f, " new_len {}", self.new_len)?;
        if self.src_ip_sticky {
            write!(f, " src_ip_sticky")?;
        }
        write!(f, " #as {}", self.servers)
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
        for vip in &self.vips {
            writeln!(f, "{vip}")?;
            if !self.is_verbose {
                continue;
            }
            let names =
                ["known flows", "first packets", "untracked packets", "packets without a server"];
            for (name, count) in names.iter().zip(vip.packets) {
                writeln!(f, "  {name}: {count}")?;
            }
            for server in &vip.each {
                let ShownServer { address, weight, buckets, flows, is_leaving, since_s } = server;
                let state = if *is_leaving { "leaving" } else { "used" };
                write!(f, "  {address} {state} weight {weight} {buckets} buckets {flows} flows")?;
                writeln!(f, " for {since_s:.0}s")?;
            }
        }
        Ok(())
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
        prefix: vip.key.prefix.to_string(),
        protocol: vip.key.port.map(|(protocol, _)| word(protocol)),
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

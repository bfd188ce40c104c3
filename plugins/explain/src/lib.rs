//! `explain`: the fate of a packet that is not sent.
#![forbid(unsafe_code)]

mod headers;
mod packet;
mod story;

use net::interface::{DEVICE_INPUT, Kind};
use net::prelude::*;

use packet::{Packet, Start};

/// Explanations of packets.
pub const FEATURE: Feature = Feature {
    name: "explain",
    about: "Explanation of packet forwarding",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ethernet", "ip4", "ip6"],
    register,
    configuration: Configuration::None("nothing can be set"),
};

/// `explain INTERFACE PACKET`.
struct Explain {
    interface: InterfaceIndex,
    packet: Packet,
    /// Node that it enters at, if not where the interface's packets do.
    node: Option<String>,
}

impl Command for Explain {
    const PATHS: &'static [&'static str] = &["explain"];
    const ABOUT: &'static str = "Explain how a packet received on an interface would be handled, \
        step by step; nothing is sent, changed or counted";
    const USAGE: &'static str = "<interface> [node <node>] {hex <bytes...> | \
        pcap <file> packet <n> | data { <fields...> } | <fields...>}";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let node = if args.keyword("node") { Some(args.value("node")?) } else { None };
        Ok(Self { interface, node, packet: Packet::parse(args)? })
    }
}

impl Explain {
    fn carry_out(self, router: &mut Router) -> Result<Output, Error> {
        let name = router.interfaces.name(self.interface.0).to_owned();
        let entrance = match &self.node {
            Some(node) => node.clone(),
            None => self.entrance(router, &name)?,
        };
        let node = router.engine.index_of(&entrance);
        let node = node.filter(|node| !router.engine.is_input(*node));
        let node =
            node.ok_or_else(|| Error::new(format!("no node `{entrance}' accepts packets")))?;
        let rx = self.interface.0;
        let packets = router.engine.explain(node, &self.packet.bytes, move |p| p.set_rx(rx));
        if packets.is_empty() {
            return Err(Error::new("no buffer for the packet"));
        }
        Ok(Output::of(story::tell(router, name, self.packet.bytes.len(), &packets)))
    }
    /// The node that packets of the interface come to first.
    fn entrance(&self, router: &Router, name: &str) -> Result<String, Error> {
        let interface = router.interfaces.at(self.interface);
        let interface = interface.ok_or_else(|| Error::new("the interface is gone"))?;
        let is_ethernet = interface.kind == Kind::Ethernet;
        let node = match self.packet.start {
            Start::Ip4 => "ip4-input",
            Start::Ip6 => "ip6-input",
            Start::Ethernet if is_ethernet && interface.is_sub() => {
                return Err(Error::new(format!(
                    "{name} is a sub-interface: use its parent, and tags in the packet"
                )));
            }
            Start::Bytes if !is_ethernet || interface.is_sub() => {
                if self.packet.bytes.first().is_some_and(|b| b >> 4 == 6) {
                    "ip6-input"
                } else {
                    "ip4-input"
                }
            }
            Start::Ethernet | Start::Bytes => {
                let features = router.engine.features_of(self.interface.0);
                let first = features.iter().find(|(arc, _)| *arc == DEVICE_INPUT.name);
                first.and_then(|(_, nodes)| nodes.first().copied()).unwrap_or("ethernet-input")
            }
        };
        Ok(node.to_owned())
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    commands(&mut parts.cli);
    Ok(())
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Explain| c.carry_out(router));
}

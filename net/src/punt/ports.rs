//! Punted ports and protocols.

use std::collections::BTreeSet;

use control::feature::Refusal;
use wire::{IpVersion, Protocol};

use super::Punted;
use super::punt_test::TRIAL;
use super::reasons::Reason;
use crate::ip::{self};
use crate::router::Router;

/// The kind of punted packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// Version.
    pub version: IpVersion,
    /// UDP or TCP; ICMPv6 for sockets.
    pub protocol: Protocol,
    /// The port, or the type of ICMPv6; `None` for all without a listener.
    pub port: Option<u16>,
}

/// The state of control.
#[derive(Default)]
pub(super) struct Ports {
    ports: BTreeSet<Port>,
    /// Ports that a feature has punted.
    of_features: BTreeSet<Port>,
    /// Protocols, of IPv6 or not.
    protocols: BTreeSet<(IpVersion, Protocol)>,
}

/// Reasons why a port cannot be punted, or not left alone again.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum PortError {
    /// only UDP ports and TCP as a whole can be punted
    #[retval(INVALID_VALUE)]
    Protocol,
    /// the port has a listener
    #[retval(UDP_PORT_TAKEN)]
    Taken,
    /// not being punted
    #[retval(NO_SUCH_ENTRY)]
    Unknown,
}

impl Router {
    /// The kind of punted packets.
    pub fn punted_ports(&self) -> impl Iterator<Item = Port> {
        self.state::<Ports>().into_iter().flat_map(|ports| ports.ports.iter().copied())
    }
    /// Punts packets to a port of this router, or stops.
    ///
    /// # Errors
    /// [`PortError`]; nothing has changed then.
    pub fn set_punt(&mut self, port: Port, on: bool) -> Result<(), PortError> {
        let is_there = self.punted_ports().any(|p| p == port);
        if !on && !is_there {
            return Err(PortError::Unknown);
        }
        let ports = self.own_mut::<Ports>();
        ports.of_features.remove(&port);
        if on && is_there {
            return Ok(());
        }
        self.switch(port, on)?;
        let ports = &mut self.own_mut::<Ports>().ports;
        if on {
            ports.insert(port)
        } else {
            ports.remove(&port)
        };
        Ok(())
    }
    /// Punts packets to a port for a feature, unless the port is punted already.
    ///
    /// # Errors
    /// [`PortError`]; nothing has changed then.
    pub fn punt_for_feature(&mut self, port: Port) -> Result<(), PortError> {
        self.set_punt(port, true)?;
        self.own_mut::<Ports>().of_features.insert(port);
        Ok(())
    }
    /// Packets that the operator and clients have punted.
    pub(super) fn told_to_punt(&self) -> impl Iterator<Item = Punted> {
        let Ports { ports, of_features, protocols } = self.own();
        let ports = ports.difference(of_features).map(|port| Punted::Port(*port));
        let protocols = protocols.iter();
        let protocols =
            protocols.map(|&(version, protocol)| Punted::Protocol { version, protocol });
        let reasons = self.punt_reasons();
        let reasons = reasons.filter(|(_, info, takers, _)| takers.punt && info.client != TRIAL);
        ports.chain(protocols).chain(reasons.map(|(reason, ..)| Punted::Reason(reason)))
    }
    fn switch(&mut self, port: Port, on: bool) -> Result<(), PortError> {
        let nodes = ip::Nodes::of(port.version);
        let udp = on.then_some(nodes.udp_punt);
        let done = match (port.protocol, port.port) {
            (Protocol::UDP, Some(number)) => self.redispatch(nodes.udp_lookup, number, udp),
            (Protocol::UDP, None) => self.dispatch_others(nodes.udp_lookup, udp),
            (Protocol::TCP, None) => {
                self.redispatch_protocol(port.version, Protocol::TCP, on.then_some(nodes.punt))
            }
            _ => return Err(PortError::Protocol),
        };
        done.map_err(PortError::from)
    }
    /// Punts packets of a protocol for this router, or stops.
    ///
    /// # Errors
    /// [`PortError`]; nothing has changed then.
    pub fn set_punt_protocol(
        &mut self,
        version: IpVersion,
        protocol: Protocol,
        on: bool,
    ) -> Result<(), PortError> {
        let is_there = |router: &mut Self| {
            let ports = router.own_mut::<Ports>();
            ports.protocols.contains(&(version, protocol))
        };
        match (is_there(self), on) {
            (true, true) => return Ok(()),
            (false, false) => return Err(PortError::Unknown),
            _ => (),
        }
        let to = on.then_some(ip::Nodes::of(version).punt);
        self.redispatch_protocol(version, protocol, to)?;
        let ports = self.own_mut::<Ports>();
        if on {
            ports.protocols.insert((version, protocol))
        } else {
            ports.protocols.remove(&(version, protocol))
        };
        Ok(())
    }
    /// Adds packets that features punt for a reason to those punted by IP, or stops.
    ///
    /// # Errors
    /// [`PortError::Unknown`]: there is no such reason.
    pub fn set_punt_reason(&mut self, reason: Reason, on: bool) -> Result<(), PortError> {
        let is_there = self.set_takers(reason, |takers| takers.punt = on);
        if is_there { Ok(()) } else { Err(PortError::Unknown) }
    }
}

impl From<ip::Error> for PortError {
    fn from(why: ip::Error) -> Self {
        match why {
            ip::Error::Taken { .. } => Self::Taken,
            ip::Error::Graph(e) => panic!("the nodes are there since the features registered: {e}"),
        }
    }
}

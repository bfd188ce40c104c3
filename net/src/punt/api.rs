//! Messages about punting, of the modules `punt` and `ip`.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use control::api::types::{Address, AddressFamily, IpProto};
use control::api::{Api, Message, Overlay, Record, Retval, Text, Union};
use wire::Protocol;

use super::{Port, Punted, Reason, RedirectTo, Redirecting, SocketError};
use crate::fib::types::FibPath;
use crate::fib::{Family, Ip4, Ip6, Path, Target};
use crate::interface::InterfaceIndex;
use crate::ip::{V4, V6};
use crate::router::Router;

control::numbers! {
    /// Type of punted packets.
    pub enum PuntType: u32 = "punt_type" in "" {
        L4 = 0 => "PUNT_API_TYPE_L4",
        IP_PROTO = 1 => "PUNT_API_TYPE_IP_PROTO",
        EXCEPTION = 2 => "PUNT_API_TYPE_EXCEPTION",
    }
}

/// A port.
#[derive(Clone, Copy, Record)]
pub struct PuntL4 {
    /// version
    pub af: AddressFamily,
    /// protocol
    pub protocol: IpProto,
    /// 65535 for all
    pub port: u16,
}

/// A protocol.
#[derive(Clone, Copy, Record)]
pub struct PuntIpProto {
    /// version
    pub af: AddressFamily,
    /// protocol
    pub protocol: IpProto,
}

/// A punt reason.
#[derive(Clone, Copy, Record)]
pub struct PuntException {
    /// index
    pub id: u32,
}

/// Punted packets, by type.
#[derive(Union)]
pub enum PuntUnion {
    #[case("PUNT_API_TYPE_EXCEPTION")]
    /// A reason.
    Exception(PuntException),
    #[case("PUNT_API_TYPE_L4")]
    /// A port.
    L4(PuntL4),
    #[case("PUNT_API_TYPE_IP_PROTO")]
    /// A protocol.
    IpProto(PuntIpProto),
}

/// Punted packets.
#[derive(Record)]
struct Punt {
    #[name("type")]
    kind: PuntType,
    #[discriminator("type")]
    punt: Overlay<PuntUnion>,
}

/// Punt packets to a client socket.
#[derive(Message)]
#[reply(PuntSocketRegisterReply)]
struct PuntSocketRegister {
    /// 1
    header_version: u32,
    punt: Punt,
    /// path of the client's socket
    pathname: Text<108>,
}

/// Reply: path of the router's socket.
#[derive(Message)]
struct PuntSocketRegisterReply {
    /// path of the router's socket
    pathname: Text<108>,
}

/// Stop punting packets to a socket.
#[derive(Message)]
struct PuntSocketDeregister {
    punt: Punt,
}

/// List punt sockets.
#[derive(Message)]
#[details(PuntSocketDetails)]
struct PuntSocketDump {
    #[name("type")]
    kind: PuntType,
}

/// A punt socket registration.
#[derive(Message)]
struct PuntSocketDetails {
    punt: Punt,
    /// path of the client's socket
    pathname: Text<108>,
}

/// A punt reason.
#[derive(Record)]
struct PuntReason {
    id: u32,
    name: String,
}

/// List punt reasons.
#[derive(Message)]
#[details(PuntReasonDetails)]
struct PuntReasonDump {
    /// only the one with this name
    reason: PuntReason,
}

/// A punt reason.
#[derive(Message)]
struct PuntReasonDetails {
    reason: PuntReason,
}

/// Punt packets of a protocol or port, or stop.
#[derive(Message)]
struct SetPunt {
    is_add: bool,
    punt: Punt,
}

/// Redirect of punted packets.
#[derive(Clone, Copy, Record)]
struct PuntRedirect {
    /// 4294967295 for all interfaces without a redirect of their own
    rx_sw_if_index: InterfaceIndex,
    tx_sw_if_index: InterfaceIndex,
    nh: Address,
}

/// Set the redirect of punted packets.
#[derive(Message)]
#[option("deprecated")]
struct IpPuntRedirect {
    punt: PuntRedirect,
    #[preset(true)]
    is_add: bool,
}

/// List redirects of punted packets.
#[derive(Message)]
#[details(IpPuntRedirectDetails)]
#[option("deprecated")]
struct IpPuntRedirectDump {
    /// 4294967295 for all
    sw_if_index: InterfaceIndex,
    is_ipv6: bool,
}

/// Redirect of punted packets.
#[derive(Message)]
#[option("deprecated")]
struct IpPuntRedirectDetails {
    punt: PuntRedirect,
}

/// Redirect of punted packets.
#[derive(Clone, Record)]
struct PuntRedirectV2 {
    /// 4294967295 for all interfaces without a redirect of their own
    #[preset(4294967295)]
    rx_sw_if_index: InterfaceIndex,
    af: AddressFamily,
    #[counted(n_paths: u32)]
    paths: Vec<FibPath>,
}

/// Set the redirect of punted packets.
#[derive(Message)]
struct AddDelIpPuntRedirectV2 {
    #[preset(true)]
    is_add: bool,
    punt: PuntRedirectV2,
}

/// List redirects of punted packets.
#[derive(Message)]
#[details(IpPuntRedirectV2Details)]
struct IpPuntRedirectV2Dump {
    /// 4294967295 for all
    sw_if_index: InterfaceIndex,
    af: AddressFamily,
}

/// Redirect of punted packets.
#[derive(Message)]
struct IpPuntRedirectV2Details {
    punt: PuntRedirectV2,
}

/// All interfaces.
const ALL: InterfaceIndex = InterfaceIndex(u32::MAX);
/// All ports.
const ALL_PORTS: u16 = u16::MAX;

impl From<SocketError> for Retval {
    fn from(_: SocketError) -> Self {
        Self::UNSPECIFIED
    }
}

impl Punt {
    fn native(&self) -> Result<Punted, Retval> {
        let wrong = |_| Retval::INVALID_VALUE;
        match self.kind {
            PuntType::L4 => {
                let PuntL4 { af, protocol, port } = self.punt.read().map_err(wrong)?;
                Ok(Punted::Port(Port {
                    version: af.try_into()?,
                    protocol: Protocol(protocol.0),
                    port: Some(port).filter(|port| *port != ALL_PORTS),
                }))
            }
            PuntType::IP_PROTO => {
                let PuntIpProto { af, protocol } = self.punt.read().map_err(wrong)?;
                Ok(Punted::Protocol { version: af.try_into()?, protocol: Protocol(protocol.0) })
            }
            PuntType::EXCEPTION => {
                let PuntException { id } = self.punt.read().map_err(wrong)?;
                Ok(Punted::Reason(Reason(id)))
            }
            _ => Err(Retval::INVALID_VALUE),
        }
    }
    fn of(what: Punted) -> Self {
        let (kind, punt) = match what {
            Punted::Port(Port { version, protocol, port }) => {
                let (af, protocol) = (version.into(), IpProto(protocol.0));
                let port = port.unwrap_or(ALL_PORTS);
                (PuntType::L4, PuntUnion::L4(PuntL4 { af, protocol, port }))
            }
            Punted::Protocol { version, protocol } => {
                let ip_proto = PuntIpProto { af: version.into(), protocol: IpProto(protocol.0) };
                (PuntType::IP_PROTO, PuntUnion::IpProto(ip_proto))
            }
            Punted::Reason(Reason(id)) => {
                (PuntType::EXCEPTION, PuntUnion::Exception(PuntException { id }))
            }
        };
        Self { kind, punt: punt.into() }
    }
}

fn set_punt(router: &mut Router, m: &SetPunt) -> Result<(), Retval> {
    let done = match m.punt.native()? {
        Punted::Port(port) => router.set_punt(port, m.is_add),
        Punted::Protocol { version, protocol } => {
            router.set_punt_protocol(version, protocol, m.is_add)
        }
        Punted::Reason(reason) => router.set_punt_reason(reason, m.is_add),
    };
    done.map_err(Retval::from)
}

fn socket_register(
    router: &mut Router,
    m: &PuntSocketRegister,
) -> Result<PuntSocketRegisterReply, Retval> {
    let what = m.punt.native()?;
    router.register_punt_socket(what, m.header_version, m.pathname.as_str().as_ref())?;
    let path = router.punt_socket().map(|path| path.display().to_string());
    Ok(PuntSocketRegisterReply { pathname: path.unwrap_or_default().into() })
}

fn sockets(router: &Router, kind: PuntType) -> Vec<PuntSocketDetails> {
    let all = router.punt_clients().map(|client| PuntSocketDetails {
        punt: Punt::of(client.what),
        pathname: client.path.display().to_string().into(),
    });
    all.filter(|details| details.punt.kind == kind).collect()
}

fn reasons(router: &Router, only: &str) -> Vec<PuntReasonDetails> {
    let all = router.punt_reasons().filter(|(_, info, ..)| only.is_empty() || only == info.name);
    let details = all.map(|(Reason(id), info, ..)| PuntReasonDetails {
        reason: PuntReason { id, name: info.name.to_owned() },
    });
    details.collect()
}

fn dump<V: Redirecting>(router: &Router, only: InterfaceIndex) -> Vec<IpPuntRedirectDetails> {
    let chosen = |from: &Option<InterfaceIndex>| only == ALL || *from == Some(only);
    let all = router.punt_redirects::<V>().filter(|(from, _)| chosen(from));
    let details = all.map(|(from, to)| IpPuntRedirectDetails {
        punt: PuntRedirect {
            rx_sw_if_index: from.unwrap_or(ALL),
            tx_sw_if_index: to.map_or(ALL, |to| to.tx),
            nh: to.map_or_else(|| V::UNSPECIFIED, |to| to.next_hop).into(),
        },
    });
    details.collect()
}

fn set_v2<V: Redirecting, F: Family>(
    router: &mut Router,
    m: &AddDelIpPuntRedirectV2,
) -> Result<(), Retval> {
    let from = Some(m.punt.rx_sw_if_index).filter(|i| *i != ALL);
    if !m.is_add {
        return Ok(router.remove_punt_redirect::<V>(from)?);
    }
    let to = match &m.punt.paths[..] {
        [] => None,
        [path] => Some(match path.native::<F>(router)?.target {
            Target::Neighbor { interface, addr } => RedirectTo { tx: interface, next_hop: addr },
            Target::Attached { interface, .. } => {
                RedirectTo { tx: interface, next_hop: F::LINK.unspecified() }
            }
            _ => return Err(Retval::UNIMPLEMENTED),
        }),
        _ => return Err(Retval::UNIMPLEMENTED),
    };
    Ok(router.set_punt_redirect::<V>(from, to)?)
}

fn dump_v2<V: Redirecting, F: Family>(
    router: &Router,
    m: &IpPuntRedirectV2Dump,
) -> Vec<IpPuntRedirectV2Details> {
    let chosen =
        |from: &Option<InterfaceIndex>| m.sw_if_index == ALL || *from == Some(m.sw_if_index);
    let all = router.punt_redirects::<V>().filter(|(from, _)| chosen(from));
    let details = all.map(|(from, to)| {
        let target = |to: RedirectTo| match to.next_hop.is_unspecified() {
            true => Target::Attached { interface: to.tx, own: to.next_hop },
            false => Target::Neighbor { interface: to.tx, addr: to.next_hop },
        };
        let path = |to| FibPath::of::<F>(router, &Path::to(target(to)));
        let paths = to.map(path).into_iter().collect();
        let punt = PuntRedirectV2 { rx_sw_if_index: from.unwrap_or(ALL), af: m.af, paths };
        IpPuntRedirectV2Details { punt }
    });
    details.collect()
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("punt", "2.2.1")
        .call(|router: &mut Router, m: SetPunt| set_punt(router, &m))
        .call(|router, m: PuntSocketRegister| socket_register(router, &m))
        .call(
            |router, m: PuntSocketDeregister| Ok(router.deregister_punt_socket(m.punt.native()?)?),
        )
        .dump(|router: &mut Router, m: PuntSocketDump| sockets(router, m.kind))
        .dump(|router, m: PuntReasonDump| reasons(router, m.reason.name.trim_end_matches('\0')));
    api.core("ip", "3.2.0")
        .call(|router: &mut Router, m: IpPuntRedirect| {
            let from = Some(m.punt.rx_sw_if_index).filter(|i| *i != ALL);
            let (tx, next_hop) = (m.punt.tx_sw_if_index, m.punt.nh.native()?);
            let to = Some(RedirectTo { tx, next_hop });
            let done = match (next_hop, m.is_add) {
                (IpAddr::V4(_), true) => router.set_punt_redirect::<V4>(from, to),
                (IpAddr::V6(_), true) => router.set_punt_redirect::<V6>(from, to),
                (IpAddr::V4(_), false) => router.remove_punt_redirect::<V4>(from),
                (IpAddr::V6(_), false) => router.remove_punt_redirect::<V6>(from),
            };
            done.map_err(Retval::from)
        })
        .call(|router, m: AddDelIpPuntRedirectV2| match m.punt.af {
            AddressFamily::IP4 => set_v2::<V4, Ip4>(router, &m),
            AddressFamily::IP6 => set_v2::<V6, Ip6>(router, &m),
            _ => Err(Retval::INVALID_ADDRESS_FAMILY),
        })
        .dump(|router, m: IpPuntRedirectV2Dump| match m.af {
            AddressFamily::IP4 => dump_v2::<V4, Ip4>(router, &m),
            _ => dump_v2::<V6, Ip6>(router, &m),
        })
        .dump(|router, m: IpPuntRedirectDump| {
            if m.is_ipv6 {
                dump::<V6>(router, m.sw_if_index)
            } else {
                dump::<V4>(router, m.sw_if_index)
            }
        });
}

#[cfg(test)]
mod tests {
    use wire::IpVersion;

    use super::*;
    use crate::ip::testing::Bench;

    #[test]
    fn redirects_are_set_and_told() {
        let mut bench = Bench::new();
        let (pg0, pg1) = (bench.pg0, bench.pg1);
        bench.talk(|local, router| {
            let set = |rx_sw_if_index, nh: &str, is_add| {
                let nh = nh.parse::<IpAddr>().unwrap().into();
                let punt = PuntRedirect { rx_sw_if_index, tx_sw_if_index: pg1, nh };
                IpPuntRedirect { punt, is_add }
            };
            let ask = |sw_if_index, is_ipv6| IpPuntRedirectDump { sw_if_index, is_ipv6 };
            local.call(router, &set(pg0, "10.0.1.2", true)).unwrap();
            local.call(router, &set(ALL, "0.0.0.0", true)).unwrap();
            local.call(router, &set(pg1, "2001:db8:1::2", true)).unwrap();
            assert_eq!(local.dump(router, &ask(ALL, false)).len(), 2);
            assert_eq!(local.dump(router, &ask(pg0, false)).len(), 1);
            let told = local.dump(router, &ask(pg1, true));
            assert_eq!((told[0].punt.rx_sw_if_index, told[0].punt.tx_sw_if_index), (pg1, pg1));
            local.call(router, &set(pg0, "10.0.1.2", false)).unwrap();
            let gone = local.call(router, &set(pg0, "10.0.1.2", false)).err();
            assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
            let nowhere = local.call(router, &set(InterfaceIndex(9), "10.0.1.2", true)).err();
            assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        });
    }

    #[test]
    fn redirects_have_paths() {
        let mut bench = Bench::new();
        let (pg0, pg1) = (bench.pg0, bench.pg1);
        bench.talk(|local, router| {
            let hop = "10.0.1.2".parse::<IpAddr>().unwrap();
            let path = Path::to(Target::Neighbor { interface: pg1, addr: hop });
            let path = FibPath::of::<Ip4>(router, &path);
            let set = |paths: Vec<FibPath>, is_add| AddDelIpPuntRedirectV2 {
                is_add,
                punt: PuntRedirectV2 { rx_sw_if_index: pg0, af: AddressFamily::IP4, paths },
            };
            local.call(router, &set(vec![path], true)).unwrap();
            let ask = IpPuntRedirectV2Dump { sw_if_index: ALL, af: AddressFamily::IP4 };
            let told = local.dump(router, &ask);
            assert_eq!(told.len(), 1);
            assert_eq!((told[0].punt.rx_sw_if_index, told[0].punt.paths[0]), (pg0, path));
            let two = local.call(router, &set(vec![path, path], true)).err();
            assert_eq!(two, Some(Retval::UNIMPLEMENTED));
            assert_eq!(local.dump(router, &ask)[0].punt.paths.len(), 1);
            local.call(router, &set(Vec::new(), true)).unwrap();
            assert!(local.dump(router, &ask)[0].punt.paths.is_empty());
            let old = IpPuntRedirectDump { sw_if_index: ALL, is_ipv6: false };
            assert_eq!(local.dump(router, &old)[0].punt.tx_sw_if_index, ALL);
            local.call(router, &set(Vec::new(), false)).unwrap();
            assert!(local.dump(router, &ask).is_empty());
        });
    }

    #[test]
    fn sockets_are_registered_listed_and_taken_back() {
        let path = std::env::temp_dir().join(format!("punt-api-{}", std::process::id()));
        let server = path.clone();
        let socket = |router: &mut Router| {
            router.insert(crate::punt::Settings { socket: Some(server) });
        };
        let mut bench = Bench::made(1, socket, |_| ());
        bench.talk(|local, router| {
            let port = |port| {
                let port = Some(port);
                Punted::Port(Port { version: IpVersion::V6, protocol: Protocol::UDP, port })
            };
            let ospf = Punted::Protocol { version: IpVersion::V4, protocol: Protocol(89) };
            let reason = Punted::Reason(Reason(2));
            let add = |what, header_version| PuntSocketRegister {
                header_version,
                punt: Punt::of(what),
                pathname: "/run/program".into(),
            };
            for what in [port(1111), port(2222), ospf, reason, port(1111)] {
                let reply = local.call(router, &add(what, 1)).unwrap();
                assert_eq!(reply.pathname.as_str(), path.to_str().unwrap());
            }
            let refused = local.call(router, &add(ospf, 7)).map(drop).err();
            assert_eq!(refused, Some(Retval::UNSPECIFIED));
            let del = |what| PuntSocketDeregister { punt: Punt::of(what) };
            local.call(router, &del(port(1111))).unwrap();
            local.call(router, &del(port(1111))).unwrap(); // deleting a missing one succeeds
            let none = local.call(router, &del(Punted::Reason(Reason(99)))).err();
            assert_eq!(none, Some(Retval::UNSPECIFIED));
            local.call(router, &add(port(3333), 1)).unwrap();
            let mut list = |kind| local.dump(router, &PuntSocketDump { kind });
            let told = list(PuntType::L4);
            let told: Vec<_> = told.iter().map(|d| d.punt.native().unwrap()).collect();
            assert_eq!(told, [port(3333), port(2222)], "a free place is used again");
            assert_eq!(list(PuntType::IP_PROTO).len(), 1);
            assert_eq!(list(PuntType::EXCEPTION)[0].pathname.as_str(), "/run/program");
            let ask =
                |name: &str| PuntReasonDump { reason: PuntReason { id: 0, name: name.to_owned() } };
            let reasons = local.dump(router, &ask(""));
            assert_eq!((reasons.len(), reasons[1].reason.id), (4, 2));
            assert_eq!(reasons[1].reason.name, "ipsec4-no-such-tunnel");
            assert_eq!(local.dump(router, &ask("ipsec6-spi-o-udp-0"))[0].reason.id, 4);
        });
    }

    #[test]
    fn ports_are_punted_once_and_told_apart() {
        let mut bench = Bench::new();
        bench.talk(|local, router| {
            let set = |protocol, port, is_add| {
                let l4 = PuntL4 { af: AddressFamily::IP4, protocol, port };
                let punt = Punt { kind: PuntType::L4, punt: PuntUnion::L4(l4).into() };
                SetPunt { is_add, punt }
            };
            local.call(router, &set(IpProto::UDP, 7654, true)).unwrap();
            local.call(router, &set(IpProto::UDP, 7654, true)).unwrap();
            local.call(router, &set(IpProto::TCP, ALL_PORTS, true)).unwrap();
            assert_eq!(router.punted_ports().count(), 2);
            local.call(router, &set(IpProto::UDP, 7654, false)).unwrap();
            let gone = local.call(router, &set(IpProto::UDP, 7654, false)).err();
            assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
            let other = local.call(router, &set(IpProto::SCTP, 1, true)).err();
            assert_eq!(other, Some(Retval::INVALID_VALUE));
            let other = |what| SetPunt { is_add: true, punt: Punt::of(what) };
            let ospf = Punted::Protocol { version: IpVersion::V4, protocol: Protocol(89) };
            local.call(router, &other(ospf)).unwrap();
            let udp = Punted::Protocol { version: IpVersion::V6, protocol: Protocol::UDP };
            assert_eq!(local.call(router, &other(udp)).err(), Some(Retval::UDP_PORT_TAKEN));
            local.call(router, &other(Punted::Reason(Reason(1)))).unwrap();
            let none = local.call(router, &other(Punted::Reason(Reason(0)))).err();
            assert_eq!(none, Some(Retval::NO_SUCH_ENTRY));
        });
    }
}

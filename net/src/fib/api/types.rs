//! Paths as messages of the binary API have them (`fib_types`).

use std::net::IpAddr;

use control::api::types::AddressUnion;
use control::api::{Record, Retval};

use crate::adjacency::Link;
use crate::fib::control::labels::RouteOf;
use crate::fib::control::path::{Gateway, Label, Path, TableIndex, Target, Through};
use crate::fib::family::Family;
use crate::interface::InterfaceIndex;
use crate::router::Router;

pub use super::hashes::IpFlowHashConfigV2;

/// No interface, no object.
const NONE: u32 = u32::MAX;
/// Most labels of a path.
const LABELS: usize = 16;

control::numbers! {
    /// Protocol of a path's next hop.
    pub enum FibPathNhProto: u32 = "fib_path_nh_proto" in "vnet/fib/fib_types.api" {
        IP4 = 0 => "FIB_API_PATH_NH_PROTO_IP4",
        IP6 = 1 => "FIB_API_PATH_NH_PROTO_IP6",
        MPLS = 2 => "FIB_API_PATH_NH_PROTO_MPLS",
        ETHERNET = 3 => "FIB_API_PATH_NH_PROTO_ETHERNET",
        BIER = 4 => "FIB_API_PATH_NH_PROTO_BIER",
    }
    /// Properties of a path.
    pub enum FibPathFlags: u32 = "fib_path_flags" in "vnet/fib/fib_types.api" {
        NONE = 0 => "FIB_API_PATH_FLAG_NONE",
        RESOLVE_VIA_ATTACHED = 1 => "FIB_API_PATH_FLAG_RESOLVE_VIA_ATTACHED",
        RESOLVE_VIA_HOST = 2 => "FIB_API_PATH_FLAG_RESOLVE_VIA_HOST",
        POP_PW_CW = 4 => "FIB_API_PATH_FLAG_POP_PW_CW",
    }
    /// Kind of a path: forwarding, dropping, local and so on.
    pub enum FibPathType: u32 = "fib_path_type" in "vnet/fib/fib_types.api" {
        NORMAL = 0 => "FIB_API_PATH_TYPE_NORMAL",
        LOCAL = 1 => "FIB_API_PATH_TYPE_LOCAL",
        DROP = 2 => "FIB_API_PATH_TYPE_DROP",
        UDP_ENCAP = 3 => "FIB_API_PATH_TYPE_UDP_ENCAP",
        BIER_IMP = 4 => "FIB_API_PATH_TYPE_BIER_IMP",
        ICMP_UNREACH = 5 => "FIB_API_PATH_TYPE_ICMP_UNREACH",
        ICMP_PROHIBIT = 6 => "FIB_API_PATH_TYPE_ICMP_PROHIBIT",
        SOURCE_LOOKUP = 7 => "FIB_API_PATH_TYPE_SOURCE_LOOKUP",
        DVR = 8 => "FIB_API_PATH_TYPE_DVR",
        INTERFACE_RX = 9 => "FIB_API_PATH_TYPE_INTERFACE_RX",
        CLASSIFY = 10 => "FIB_API_PATH_TYPE_CLASSIFY",
    }
}

impl FibPathNhProto {
    fn of(link: Link) -> Self {
        match link {
            Link::Ip4 => Self::IP4,
            Link::Ip6 => Self::IP6,
            Link::Mpls => Self::MPLS,
            Link::Ethernet => Self::ETHERNET,
        }
    }
}

/// A label of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
#[file("vnet/fib/fib_types.api")]
pub struct FibMplsLabel {
    /// true for the uniform model: TTL and traffic class are copied from the packet
    pub is_uniform: u8,
    /// 20 bits
    pub label: u32,
    /// time to live
    pub ttl: u8,
    /// traffic class
    pub exp: u8,
}

/// The next hop of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
#[file("vnet/fib/fib_types.api")]
pub struct FibPathNh {
    /// address
    pub address: AddressUnion,
    /// label to resolve through
    pub via_label: u32,
    /// object, for the types that refer to one
    pub obj_id: u32,
    /// classifier table
    pub classify_table_index: u32,
}

/// A path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
#[file("vnet/fib/fib_types.api")]
pub struct FibPath {
    /// interface; 4294967295 for none
    pub sw_if_index: u32,
    /// table to resolve or look up in
    pub table_id: u32,
    /// RPF ID
    pub rpf_id: u32,
    /// weight
    pub weight: u8,
    /// only paths with the lowest preference are used
    pub preference: u8,
    /// type of path
    #[name("type")]
    pub kind: FibPathType,
    /// properties
    pub flags: FibPathFlags,
    /// protocol of the next hop
    pub proto: FibPathNhProto,
    /// next hop
    pub nh: FibPathNh,
    /// number of labels
    pub n_labels: u8,
    /// label stack, outermost first
    pub label_stack: [FibMplsLabel; LABELS],
}

impl FibPath {
    /// The path, of a route of family `F`.
    ///
    /// # Errors
    /// As [`FibPath::native_of`].
    pub fn native<F: Family>(&self, router: &Router) -> Result<Path, Retval> {
        self.native_of(router, RouteOf::Link(F::LINK))
    }
    /// The path, of a route of any kind.
    ///
    /// # Errors
    /// -2 for a missing interface, -3 for a table, -97 for a next hop of no family, or an attribute
    /// that only the route may have, -9 for an unknown type, -7 for impossible labels.
    pub fn native_of(&self, router: &Router, of: RouteOf) -> Result<Path, Retval> {
        let labels = self.label_stack.get(..usize::from(self.n_labels));
        let labels = labels.ok_or(Retval::INVALID_VALUE)?.iter();
        let label = |l: &FibMplsLabel| Label {
            value: l.label,
            ttl: l.ttl,
            exp: l.exp,
            is_uniform: l.is_uniform != 0,
        };
        let labels: Vec<Label> = labels.map(label).collect();
        if labels.iter().any(|l| l.value >= 1 << 20) {
            return Err(Retval::INVALID_VALUE);
        }
        let weight = u16::from(self.weight.max(1));
        let mut target = Err(Retval::INVALID_VALUE);
        let has_control_word = self.flags.contains(FibPathFlags::POP_PW_CW);
        let path = of.path(&labels, has_control_word, self.rpf_id, |link| {
            target = self.target(router, of, link);
            target.ok()
        });
        match path {
            Some(path) => Ok(Path { weight, preference: self.preference, ..path }),
            None => Err(target.err().unwrap_or(Retval::INVALID_VALUE)),
        }
    }
    /// Target of packets that are of `link` when they get there.
    fn target(&self, router: &Router, of: RouteOf, link: Link) -> Result<Target, Retval> {
        let interface = Some(InterfaceIndex(self.sw_if_index)).filter(|i| i.0 != NONE);
        if interface.is_some_and(|i| router.interfaces.at(i).is_none()) {
            return Err(Retval::INVALID_SW_IF_INDEX);
        }
        let is_zero = self.nh.address.0 == [0; 16];
        Ok(match self.kind {
            FibPathType::NORMAL if self.proto == FibPathNhProto::MPLS => {
                let label = self.nh.via_label;
                let is_bare = link != Link::Mpls;
                if link == Link::Ethernet || is_bare && interface.is_some() || label >= 1 << 20 {
                    return Err(Retval::INVALID_ADDRESS_FAMILY);
                }
                Target::Label { table: self.table_id, label }
            }
            FibPathType::NORMAL if is_zero => match interface {
                Some(interface) => Target::attached(link, interface),
                None => self.lookup(router, of)?,
            },
            FibPathType::NORMAL => self.hop(router, link, interface)?,
            FibPathType::LOCAL => {
                let addr = if is_zero { None } else { Some(self.addr()?) };
                if addr.is_some_and(|addr| Link::of(addr) != of.link()) {
                    return Err(Retval::INVALID_ADDRESS_FAMILY);
                }
                Target::Receive { interface, addr }
            }
            FibPathType::DROP => Target::Drop,
            FibPathType::ICMP_UNREACH => Target::Unreachable,
            FibPathType::ICMP_PROHIBIT => Target::Prohibit,
            FibPathType::SOURCE_LOOKUP => {
                let (link, table) = (of.link(), self.table(router, of.link())?);
                Target::SourceLookup { link, table }
            }
            FibPathType::INTERFACE_RX => {
                let interface = interface.ok_or(Retval::INVALID_SW_IF_INDEX)?;
                Target::InterfaceRx { interface }
            }
            _ => router.read_path(self, of)?,
        })
    }
    /// A neighbour, or an address to resolve through.
    fn hop(
        &self,
        router: &Router,
        link: Link,
        interface: Option<InterfaceIndex>,
    ) -> Result<Target, Retval> {
        let addr = self.addr()?;
        if let Some(interface) = interface {
            return Ok(Target::neighbor(link, interface, addr));
        }
        let through = if self.flags.contains(FibPathFlags::RESOLVE_VIA_HOST) {
            Through::Host
        } else if self.flags.contains(FibPathFlags::RESOLVE_VIA_ATTACHED) {
            Through::Attached
        } else {
            Through::Any
        };
        let table = self.table(router, Link::of(addr))?;
        Ok(Target::Recursive { to: Gateway { link, table, addr }, through })
    }
    fn lookup(&self, router: &Router, of: RouteOf) -> Result<Target, Retval> {
        let link = of.link();
        // Labels need not say what is below them.
        let is_own = self.proto == FibPathNhProto::of(link) || of == RouteOf::Label(Link::Mpls);
        match self.proto {
            _ if is_own => Ok(Target::Lookup { link, table: self.table(router, link)? }),
            FibPathNhProto::IP4 | FibPathNhProto::IP6 => Err(Retval::INVALID_ADDRESS_FAMILY),
            _ => Err(Retval::UNIMPLEMENTED),
        }
    }
    fn addr(&self) -> Result<IpAddr, Retval> {
        match self.proto {
            FibPathNhProto::IP4 => Ok(self.nh.address.ip4().into()),
            FibPathNhProto::IP6 => Ok(self.nh.address.ip6().into()),
            _ => Err(Retval::INVALID_ADDRESS_FAMILY),
        }
    }
    fn table(&self, router: &Router, link: Link) -> Result<TableIndex, Retval> {
        router.table_of(link, self.table_id).ok_or(Retval::NO_SUCH_FIB)
    }
    /// A path of a route of family `F`, as clients see it.
    pub fn of<F: Family>(router: &Router, path: &Path) -> Self {
        Self::of_link(router, F::LINK, path)
    }
    /// A path of a route whose packets are of a link, without the label that led there, as clients
    /// see it.
    pub fn of_link(router: &Router, link: Link, path: &Path) -> Self {
        let proto = FibPathNhProto::of(link);
        let mut new = Self {
            sw_if_index: path.target.interface().map_or(NONE, |i| i.0),
            weight: path.weight.min(255) as u8,
            preference: path.preference,
            proto,
            rpf_id: path.pop.map_or(0, |pop| pop.rpf_id),
            ..Self::default()
        };
        let id = |table| router.table_id_of(link, table).unwrap_or(NONE);
        match path.target {
            Target::Neighbor { addr, .. } | Target::ForeignNeighbor { addr, .. } => {
                new.nh.address = addr.into();
                new.proto = FibPathNhProto::of(Link::of(addr));
            }
            Target::Recursive { to: Gateway { table, addr, .. }, through } => {
                new.nh.address = addr.into();
                let link = Link::of(addr);
                new.proto = FibPathNhProto::of(link);
                new.table_id = router.fib.table_id_for(addr, table).unwrap_or(NONE);
                new.flags = match through {
                    Through::Any => FibPathFlags::NONE,
                    Through::Host => FibPathFlags::RESOLVE_VIA_HOST,
                    Through::Attached => FibPathFlags::RESOLVE_VIA_ATTACHED,
                };
            }
            Target::Receive { interface, addr } => {
                new.kind = FibPathType::LOCAL;
                new.sw_if_index = interface.map_or(NONE, |i| i.0);
                new.nh.address = addr.map(Into::into).unwrap_or_default();
            }
            Target::Lookup { table, .. } => new.table_id = id(table),
            Target::SourceLookup { table, .. } => {
                new.kind = FibPathType::SOURCE_LOOKUP;
                new.table_id = id(table);
            }
            Target::InterfaceRx { .. } => new.kind = FibPathType::INTERFACE_RX,
            Target::Drop | Target::Exempt | Target::Punt => new.kind = FibPathType::DROP,
            Target::Unreachable => new.kind = FibPathType::ICMP_UNREACH,
            Target::Prohibit => new.kind = FibPathType::ICMP_PROHIBIT,
            Target::Label { table, label } => {
                new.proto = FibPathNhProto::MPLS;
                (new.nh.via_label, new.table_id) = (label, table);
            }
            Target::Object(object) => router.write_path(object, &mut new),
            Target::Attached { .. } | Target::LinkLocal => (),
        }
        for (to, label) in new.label_stack.iter_mut().zip(path.labels.iter().flat_map(|l| &**l)) {
            let is_uniform = label.is_uniform.into();
            *to = FibMplsLabel { is_uniform, label: label.value, ttl: label.ttl, exp: label.exp };
            new.n_labels += 1;
        }
        if path.pop.is_some_and(|pop| pop.has_control_word) {
            new.flags = FibPathFlags::POP_PW_CW;
        }
        new
    }
}

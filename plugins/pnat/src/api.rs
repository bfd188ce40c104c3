//! Messages of the module `pnat`.

use control::api::types::IpProto;
use control::api::{Fields, Record};
use net::prelude::*;

use super::tuple::has_ports;
use super::{Binding, End, Ends, Error, Mask, Match, Rewrite};

control::numbers! {
    /// Fields to match or rewrite.
    pub enum PnatMask: u32 = "pnat_mask" in "" {
        SA = 1 => "PNAT_SA",
        DA = 2 => "PNAT_DA",
        SPORT = 4 => "PNAT_SPORT",
        DPORT = 8 => "PNAT_DPORT",
        COPY_BYTE = 16 => "PNAT_COPY_BYTE",
        CLEAR_BYTE = 32 => "PNAT_CLEAR_BYTE",
        PROTO = 64 => "PNAT_PROTO",
    }
    /// Attachment point on an interface.
    pub enum PnatAttachmentPoint: u32 = "pnat_attachment_point" in "" {
        INPUT = 0 => "PNAT_IP4_INPUT",
        OUTPUT = 1 => "PNAT_IP4_OUTPUT",
        MAX = 2 => "PNAT_ATTACHMENT_POINT_MAX",
    }
}

/// Match.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct PnatMatchTuple {
    /// source address
    pub src: Ipv4Addr,
    /// destination address
    pub dst: Ipv4Addr,
    /// protocol
    pub proto: IpProto,
    /// source port
    pub sport: u16,
    /// destination port
    pub dport: u16,
    /// mask
    pub mask: PnatMask,
}

/// Rewrite.
#[derive(Clone, Copy, Debug, Record)]
#[file("")]
pub struct PnatRewriteTuple {
    /// new source address
    pub src: Ipv4Addr,
    /// new destination address
    pub dst: Ipv4Addr,
    /// new source port
    pub sport: u16,
    /// new destination port
    pub dport: u16,
    /// fields to rewrite
    pub mask: PnatMask,
    /// byte to copy, from the start of the IP header
    pub from_offset: u8,
    /// byte to copy it to
    pub to_offset: u8,
    /// byte to clear
    pub clear_offset: u8,
}

impl PnatMatchTuple {
    fn native(self) -> Match {
        let Self { src, dst, proto, sport, dport, mask } = self;
        Match { src, dst, protocol: Protocol(proto.0), sport, dport, mask: Mask(mask.0) }
    }
}

impl From<Match> for PnatMatchTuple {
    fn from(m: Match) -> Self {
        let Match { src, dst, protocol, sport, dport, mask } = m;
        Self { src, dst, proto: IpProto(protocol.0), sport, dport, mask: PnatMask(mask.0) }
    }
}

impl From<PnatRewriteTuple> for Rewrite {
    fn from(r: PnatRewriteTuple) -> Self {
        Self {
            src: r.src,
            dst: r.dst,
            sport: r.sport,
            dport: r.dport,
            mask: Mask(r.mask.0),
            from: r.from_offset,
            to: r.to_offset,
            clear: r.clear_offset,
        }
    }
}

impl From<Rewrite> for PnatRewriteTuple {
    fn from(r: Rewrite) -> Self {
        Self {
            src: r.src,
            dst: r.dst,
            sport: r.sport,
            dport: r.dport,
            mask: PnatMask(r.mask.0),
            from_offset: r.from,
            to_offset: r.to,
            clear_offset: r.clear,
        }
    }
}

/// A binding.
#[derive(Fields)]
pub struct BindingReply {
    /// index
    pub binding_index: u32,
}

/// Add a binding.
#[derive(Message)]
#[replies(BindingReply)]
pub struct PnatBindingAdd {
    /// match
    pub r#match: PnatMatchTuple,
    /// action
    pub rewrite: PnatRewriteTuple,
}

/// Add a binding.
#[derive(Message)]
#[replies(BindingReply)]
pub struct PnatBindingAddV2 {
    /// match
    pub r#match: PnatMatchTuple,
    /// action
    pub rewrite: PnatRewriteTuple,
}

/// Delete a binding.
#[derive(Message)]
pub struct PnatBindingDel {
    /// index
    pub binding_index: u32,
}

/// Attach a binding to an interface.
#[derive(Message)]
pub struct PnatBindingAttach {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// attachment
    pub attachment: PnatAttachmentPoint,
    /// binding index
    pub binding_index: u32,
}

/// Detach a binding from an interface.
#[derive(Message)]
pub struct PnatBindingDetach {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// attachment
    pub attachment: PnatAttachmentPoint,
    /// binding index
    pub binding_index: u32,
}

/// List bindings.
#[derive(Message)]
#[stream(PnatBindingsDetails, PnatBindingsGetReply)]
pub struct PnatBindingsGet {
    /// cursor; 0 at first
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct PnatBindingsGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// A binding.
#[derive(Message)]
pub struct PnatBindingsDetails {
    /// match
    pub r#match: PnatMatchTuple,
    /// action
    pub rewrite: PnatRewriteTuple,
}

/// List interfaces with bindings.
#[derive(Message)]
#[stream(PnatInterfacesDetails, PnatInterfacesGetReply)]
pub struct PnatInterfacesGet {
    /// cursor; 0 at first
    pub cursor: u32,
}

/// End of the list.
#[derive(Message)]
pub struct PnatInterfacesGetReply {
    /// cursor for the next request; 4294967295 at the end
    pub cursor: u32,
}

/// An interface with bindings.
#[derive(Message)]
pub struct PnatInterfacesDetails {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// true where bindings are attached
    pub enabled: [bool; 2],
    /// fields used in lookups
    pub lookup_mask: [PnatMask; 2],
}

/// Find the binding for a flow.
#[derive(Message)]
#[replies(BindingReply)]
pub struct PnatFlowLookup {
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// attachment
    pub attachment: PnatAttachmentPoint,
    /// fields of the flow
    pub r#match: PnatMatchTuple,
}

fn end(point: PnatAttachmentPoint) -> Result<End, Retval> {
    match point {
        PnatAttachmentPoint::INPUT => Ok(End::Input),
        PnatAttachmentPoint::OUTPUT => Ok(End::Output),
        _ => Err(Retval::INVALID_VALUE),
    }
}

fn lookup(router: &mut Router, m: &PnatFlowLookup) -> Result<BindingReply, Retval> {
    router.interfaces.at(m.sw_if_index).ok_or(Retval::INVALID_SW_IF_INDEX)?;
    let ends = router.setting::<Ends>(m.sw_if_index);
    let attached = &ends[end(m.attachment)? as usize];
    let fields = m.r#match.native();
    let found = attached.flows.get(&fields.key()).filter(|_| attached.mask == fields.mask);
    Ok(BindingReply { binding_index: *found.ok_or(Retval::UNSPECIFIED)? })
}

/// Adds a binding. Its ports need a protocol that has some, even where they do not count.
fn add(
    router: &mut Router,
    matched: PnatMatchTuple,
    rewrite: PnatRewriteTuple,
) -> Result<BindingReply, Retval> {
    let matched = matched.native();
    if (matched.sport, matched.dport) != (0, 0) && !has_ports(matched.protocol) {
        return Err(Error::NoPorts.into());
    }
    let binding_index = super::add(router, Binding { matched, rewrite: rewrite.into() })?;
    Ok(BindingReply { binding_index })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("pnat", "0.1.1")
        .call(|router: &mut Router, m: PnatBindingAdd| add(router, m.r#match, m.rewrite))
        .call(|router: &mut Router, m: PnatBindingAddV2| add(router, m.r#match, m.rewrite))
        .call(|router: &mut Router, m: PnatBindingDel| Ok(super::remove(router, m.binding_index)?))
        .call(|router: &mut Router, m: PnatBindingAttach| {
            Ok(super::attach(router, m.sw_if_index, end(m.attachment)?, m.binding_index)?)
        })
        .call(|router: &mut Router, m: PnatBindingDetach| {
            Ok(super::detach(router, m.sw_if_index, end(m.attachment)?, m.binding_index)?)
        })
        .stream_rows(
            |m: &PnatBindingsGet| m.cursor,
            |router, _, piece| {
                let row = |b: &Binding| PnatBindingsDetails {
                    r#match: b.matched.into(),
                    rewrite: b.rewrite.into(),
                };
                super::all(router).all(|(number, b)| piece.offer(number, || row(b)));
                Ok(())
            },
            |cursor| PnatBindingsGetReply { cursor },
        )
        .stream_rows(
            |m: &PnatInterfacesGet| m.cursor,
            |router, _, piece| {
                let row = |i: InterfaceIndex, ends: &Ends| PnatInterfacesDetails {
                    sw_if_index: i,
                    enabled: [0, 1].map(|end: usize| !ends[end].flows.is_empty()),
                    lookup_mask: [0, 1].map(|end: usize| PnatMask(ends[end].mask.0)),
                };
                let mut all = router.settings::<Ends>();
                all.all(|(i, ends)| piece.offer(i.0, || row(i, ends)));
                Ok(())
            },
            |cursor| PnatInterfacesGetReply { cursor },
        )
        .call(|router: &mut Router, m: PnatFlowLookup| lookup(router, &m));
}

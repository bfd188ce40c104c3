//! Sub-interfaces: frames of an interface with certain VLAN tags (IEEE 802.1Q, 802.1ad).

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use wire::{MacAddr, vlan};

use super::Tags;
use super::{
    Change, Error, Flooding, INTERFACE_OUTPUT, Interface, InterfaceIndex, Kind, Mode, Mtu, Start,
};
use crate::router::Router;

/// The match of a sub-interface on frames of its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubInterface {
    /// Its number on the parent: the part of its name after the dot.
    pub id: u32,
    /// Tags that a frame has, 0 to 2; one that has more is matched by two, and by one unless the
    /// match is exact.
    pub tags: u8,
    /// The outer tag is a service tag.
    pub is_dot1ad: bool,
    /// A frame has no second tag if this matches one.
    pub is_exact: bool,
    /// Matches frames that no other sub-interface matches.
    pub is_default: bool,
    /// VLAN of the outer tag; any if `None`.
    pub outer: Option<u16>,
    /// VLAN of the inner tag; any if `None`.
    pub inner: Option<u16>,
    /// Receives the frames of this sender from a feature, and matches no tags.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sender_as_text")]
    pub sender: Option<MacAddr>,
}

fn sender_as_text<S: Serializer>(sender: &Option<MacAddr>, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(&sender.unwrap_or(MacAddr::ZERO))
}

/// The rewrite of bridged frames' tags, in the numbers of the binary API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TagRewrite {
    /// The operation; 0 for none.
    pub op: u32,
    /// The outer tag pushed is of 802.1Q, not of 802.1ad.
    pub push_dot1q: u32,
    /// VLANs of the tags pushed, the outer one first.
    pub tags: [u32; 2],
    /// The operation is one of provider backbone bridging.
    pub is_backbone: bool,
    /// Of provider backbone bridging: VLAN of the outer tag.
    pub outer_tag: u16,
    /// Its destination.
    pub b_dmac: MacAddr,
    /// Its source.
    pub b_smac: MacAddr,
    /// Its VLAN.
    pub b_vlanid: u16,
    /// Its service.
    pub i_sid: u32,
}

impl SubInterface {
    /// Frames with exactly one tag.
    pub fn dot1q(id: u32, vlan: u16) -> Self {
        Self { id, tags: 1, is_exact: true, outer: Some(vlan), ..Self::default() }
    }
    fn check(&self) -> Result<(), Error> {
        let is_vlan = |id: Option<u16>| id.is_none_or(|id| (1..=vlan::Id::MAX.get()).contains(&id));
        if self.sender.is_some() && (self.tags > 0 || self.is_exact || self.is_default) {
            return Err(Error::Invalid(
                "frames are matched by source address or by tags, not both",
            ));
        }
        if self.tags > 2 {
            return Err(Error::Invalid("frames are matched by at most two tags"));
        }
        if self.is_default && (self.tags > 0 || self.is_exact) {
            return Err(Error::Invalid("the default takes any tags"));
        }
        if !is_vlan(self.outer) || !is_vlan(self.inner) {
            return Err(Error::InvalidVlan);
        }
        Ok(())
    }
    /// Tags of the frames it sends; none where a frame's own are not known.
    fn tags_to_send(&self) -> Tags {
        match (self.tags, self.outer, self.inner) {
            (1, Some(outer), _) => Tags::one(self.is_dot1ad, outer),
            (2, Some(outer), Some(inner)) => Tags::two(self.is_dot1ad, outer, inner),
            _ => Tags::NONE,
        }
    }
}

impl Router {
    /// Makes a sub-interface, down.
    ///
    /// # Errors
    /// [`Error`]; nothing is made then.
    pub fn add_sub_interface(
        &mut self,
        parent: InterfaceIndex,
        sub: SubInterface,
    ) -> Result<InterfaceIndex, Error> {
        let p = self.interfaces.at(parent).ok_or(Error::Unknown)?;
        if p.kind != Kind::Ethernet || p.is_sub() {
            return Err(Error::Unfit);
        }
        sub.check()?;
        // Attributes of missing tags are meaningless.
        let sub = SubInterface {
            is_dot1ad: sub.is_dot1ad && sub.tags > 0,
            outer: sub.outer.filter(|_| sub.tags > 0),
            inner: sub.inner.filter(|_| sub.tags > 1),
            ..sub
        };
        let name = format!("{}.{}", p.name, sub.id);
        if self.interfaces.named(&name).is_some() {
            return Err(Error::SubExists(sub.id));
        }
        // Not its sub-interfaces, of which there may be thousands.
        let p = Interface {
            name: String::new(),
            tag: String::new(),
            made: p.made.clone(),
            subs: BTreeSet::new(),
            queues: Vec::new(),
            port: p.port.clone(),
            lent: Vec::new(),
            has_learned_mtu: false,
            own_mac: None,
            ..*p
        };
        let mut table = p.port.subs.as_deref().cloned().unwrap_or_default();
        let tx = self.engine.name_of(p.tx).to_owned();
        let edge = self.engine.connect(INTERFACE_OUTPUT.end, &tx)?;
        let (index, mut port) = self.interfaces.reserve(p.mac, Some(parent))?;
        if sub.sender.is_none() && !table.add(&sub, index) {
            self.interfaces.release(index);
            return Err(Error::VlanExists);
        }
        self.begin_counting(index, &name).inspect_err(|_| self.interfaces.release(index))?;
        port.tags = sub.tags_to_send();
        self.interfaces.set_edge(index, Some(edge));
        self.interfaces.put(Interface {
            index,
            name,
            sup: parent,
            sub: Some(sub),
            admin_up: false,
            mtu: Mtu { l3: 0, ip4: 0, ip6: 0, mpls: 0 },
            flooding: Flooding::default(),
            tag_rewrite: TagRewrite::default(),
            far_end: sub.sender,
            start: Start::default(),
            link_follows_admin: false,
            port,
            ..p
        });
        self.interfaces.change_port(index, |_| ());
        if let Some(p) = self.interfaces.at_mut(parent) {
            p.subs.insert(index);
        }
        if sub.sender.is_none() {
            self.interfaces.change_port(parent, |port| port.subs = Some(table.into()));
        }
        self.tell(index, Change::Added);
        Ok(index)
    }
    /// Says what is done with the frames that an interface receives. What it sends gets the tags of
    /// a sub-interface only while it is not bridged: bridged frames bring their own.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn set_mode(&mut self, index: InterfaceIndex, mode: Mode) -> Result<(), Error> {
        let i = self.interfaces.at(index).ok_or(Error::Unknown)?;
        let tags = i.sub.filter(|_| mode == Mode::Layer3).map(|sub| sub.tags_to_send());
        self.interfaces.change_port(index, |port| {
            (port.mode, port.tags) = (mode, tags.unwrap_or(Tags::NONE));
        });
        Ok(())
    }
    /// Notes how the tags of an interface's bridged frames are rewritten.
    pub fn note_tag_rewrite(&mut self, index: InterfaceIndex, rewrite: TagRewrite) {
        if let Some(i) = self.interfaces.at_mut(index) {
            i.tag_rewrite = rewrite;
        }
    }
    /// Deletes a sub-interface.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::Unfit`] when it is none.
    pub fn remove_sub_interface(&mut self, index: InterfaceIndex) -> Result<(), Error> {
        if !self.interfaces.at(index).ok_or(Error::Unknown)?.is_sub() {
            return Err(Error::Unfit);
        }
        self.remove_interface(index);
        Ok(())
    }
    /// Informs the parent of a deleted sub-interface.
    pub(super) fn forget_sub(&mut self, gone: &Interface) {
        if let Some(p) = self.interfaces.at_mut(gone.sup) {
            p.subs.remove(&gone.index);
        }
        let Some(sub) = gone.sub.filter(|sub| sub.sender.is_none()) else { return };
        self.interfaces.change_port(gone.sup, |port| {
            let mut table = port.subs.as_deref().cloned().unwrap_or_default();
            table.remove(&sub);
            port.subs = (!table.is_empty()).then(|| table.into());
        });
    }
}

//! Sides of interfaces.

use net::ip4::IP4_OUTPUT;
use net::prelude::*;

use crate::error::Error;

/// The node that gives transmitted fragments the ports of the first one.
const FRAGMENTS_SENT: &str = "ip4-sv-reassembly-output-feature";

/// NAT of a kind on an interface.
pub struct Role<K> {
    /// Hosts that are translated are there.
    pub is_inside: bool,
    /// Their far ends are there.
    pub is_outside: bool,
    /// Packets are translated when they are sent there.
    pub is_output: bool,
    /// Whether there are several threads.
    pub hands_off: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Role<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Role<K> {}

impl<K> Default for Role<K> {
    fn default() -> Self {
        let kind = PhantomData;
        Self { is_inside: false, is_outside: false, is_output: false, hands_off: false, kind }
    }
}

impl<K> PartialEq for Role<K> {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl<K> Eq for Role<K> {}

impl<K> Role<K> {
    fn all(self) -> [bool; 4] {
        [self.is_inside, self.is_outside, self.is_output, self.hands_off]
    }
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        !(self.is_inside || self.is_outside || self.is_output)
    }
    /// Whether packets are received from outside.
    pub fn receives_outside(self) -> bool {
        self.is_outside || self.is_output
    }
    /// Whether only hosts are there.
    pub fn is_only_inside(self) -> bool {
        self.is_inside && !self.receives_outside()
    }
    /// Whether only far ends are there.
    pub fn is_only_outside(self) -> bool {
        !self.is_inside && self.receives_outside()
    }
    /// Whether both are there.
    pub fn is_both(self) -> bool {
        self.is_inside && self.receives_outside()
    }
    /// Word of operators; empty for an output feature only.
    pub fn word(self) -> &'static str {
        match (self.is_inside, self.is_outside) {
            (true, true) => "in out",
            (true, false) => "in",
            (false, true) => "out",
            (false, false) => "",
        }
    }
}

/// Enables nodes on interfaces by role, and others in their place with several threads: for inside
/// only, outside only, both, and output.
pub fn attach<K: 'static>(router: &mut Router, alone: [&'static str; 4], over: [&'static str; 4]) {
    let at = |arc, node, is_on| AttachedAt { arc, node, is_on };
    let (unicast, output) = (&IP4_UNICAST, &IP4_OUTPUT);
    router.attach_at::<Role<K>, _>([
        at(unicast, alone[0], |r: &Role<K>| !r.hands_off && r.is_only_inside()),
        at(unicast, alone[1], |r| !r.hands_off && r.is_only_outside()),
        at(unicast, alone[2], |r| !r.hands_off && r.is_both()),
        at(output, alone[3], |r| !r.hands_off && r.is_output),
        at(unicast, over[0], |r| r.hands_off && r.is_only_inside()),
        at(unicast, over[1], |r| r.hands_off && r.is_only_outside()),
        at(unicast, over[2], |r| r.hands_off && r.is_both()),
        at(output, over[3], |r| r.hands_off && r.is_output),
    ]);
}

/// Gives an interface a role, and features what they need for it.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set<K: 'static>(
    router: &mut Router,
    interface: InterfaceIndex,
    new: Role<K>,
) -> Result<(), Error> {
    let old = router.setting::<Role<K>>(interface);
    router.put(interface, new)?;
    if old.is_none() != new.is_none() {
        router.need_fragment_ports(interface, 0, !new.is_none()).map_err(|_| Error::NoInterface)?;
        // Packets of interfaces without addresses are translated too.
        let held = router.hold_ip(interface, IpVersion::V4, !new.is_none());
        held.map_err(|_| Error::NoInterface)?;
    }
    if old.is_output != new.is_output {
        let (arc, node) = (&IP4_OUTPUT, FRAGMENTS_SENT);
        let done = match new.is_output {
            true => router.engine.require_feature(arc, node, interface.0),
            false => router.engine.release_feature(arc, node, interface.0),
        };
        done.expect("the node is on the arc since reassembly registered");
    }
    Ok(())
}

/// A side of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Hosts that are translated.
    Inside,
    /// Their far ends.
    Outside,
    /// Their far ends, translating on transmit. Excludes the other sides.
    Output,
}

/// A role with one side more, or less. A side that the interface has already is no error.
///
/// # Errors
/// The interface is missing, has a side that excludes the new one, or lacks the old one.
pub fn changed<K: 'static>(
    router: &Router,
    interface: InterfaceIndex,
    side: Side,
    is_add: bool,
    hands_off: bool,
) -> Result<Role<K>, Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let mut role = router.setting::<Role<K>>(interface);
    let excludes = match side {
        Side::Inside | Side::Outside => role.is_output,
        Side::Output => !role.is_none(),
    };
    let place = match side {
        Side::Inside => &mut role.is_inside,
        Side::Outside => &mut role.is_outside,
        Side::Output => &mut role.is_output,
    };
    if is_add && excludes {
        return Err(Error::Exists);
    }
    if !is_add && !*place {
        return Err(Error::Unknown);
    }
    *place = is_add;
    role.hands_off = !role.is_none() && hands_off;
    Ok(role)
}

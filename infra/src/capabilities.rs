//! Privileges of threads (capabilities(7)): the ones that a router needs, and how the others are
//! given up. A thread has those of the thread that started it.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

/// A set of capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(CapabilitySet);

impl Capabilities {
    /// All of them.
    pub const ALL: Self = Self(CapabilitySet::all());
    /// Capabilities of a running router: devices, raw sockets, namespaces of devices that
    /// are made later, also those of processes given by number, programs of AF_XDP, ports below
    /// 1024, files and sockets of other users that commands name.
    pub const ROUTER: Self = Self(
        CapabilitySet::NET_ADMIN
            .union(CapabilitySet::NET_RAW)
            .union(CapabilitySet::NET_BIND_SERVICE)
            .union(CapabilitySet::SYS_ADMIN)
            .union(CapabilitySet::SYS_PTRACE)
            .union(CapabilitySet::IPC_LOCK)
            .union(CapabilitySet::BPF)
            .union(CapabilitySet::PERFMON)
            .union(CapabilitySet::DAC_OVERRIDE),
    );
    /// Capabilities of the start alone: owners of sockets, priorities, limits, and the change of
    /// this very set.
    pub const START: Self = Self(
        CapabilitySet::CHOWN
            .union(CapabilitySet::FSETID)
            .union(CapabilitySet::SYS_NICE)
            .union(CapabilitySet::SYS_RESOURCE)
            .union(CapabilitySet::SETPCAP),
    );
    /// Capabilities that moving packets needs: sockets of other users that packets are punted to.
    pub const PACKETS: Self = Self(CapabilitySet::DAC_OVERRIDE);

    /// Capabilities of this set or the other one.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0.union(other.0))
    }

    /// Drops all capabilities of the calling thread, and of threads that it starts later, that are
    /// not in this set, permanently; returns the remaining ones.
    pub fn keep_only(self) -> io::Result<Self> {
        let now = capabilities(None)?;
        if self == Self::ALL {
            return Ok(Self(now.permitted));
        }
        for capability in CapabilitySet::all().difference(self.0).iter() {
            // Without the right to it, or on a kernel that does not know it. Programs are not
            // started anyway.
            let _ = remove_capability_from_bounding_set(capability);
        }
        let _ = set_no_new_privs(true);
        let permitted = now.permitted & self.0;
        let effective = now.effective & self.0;
        let inheritable = now.inheritable & self.0;
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
        Ok(Self(permitted))
    }
}

impl FromStr for Capabilities {
    type Err = String;

    /// Reads `all`, `none` or names as in capabilities(7), with commas between.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self(CapabilitySet::empty())),
            _ => {}
        }
        let one = |name: &str| {
            let upper = name.to_uppercase();
            let bare = upper.strip_prefix("CAP_").unwrap_or(&upper);
            CapabilitySet::from_name(bare).ok_or_else(|| format!("unknown capability '{name}'"))
        };
        text.split(',').map(one).collect::<Result<CapabilitySet, _>>().map(Self)
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (at, (name, _)) in self.0.iter_names().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}cap_{}", name.to_lowercase())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manual() {
        let text = "cap_net_admin,cap_net_raw";
        assert_eq!(text.parse::<Capabilities>().unwrap().to_string(), text);
        assert_eq!("NET_RAW,net_admin".parse::<Capabilities>(), text.parse());
        assert_eq!("all".parse(), Ok(Capabilities::ALL));
        assert_eq!("none".parse::<Capabilities>().unwrap().to_string(), "none");
        assert_eq!("cap_fly".parse::<Capabilities>().unwrap_err(), "unknown capability 'cap_fly'");
    }

    #[test]
    fn what_is_given_up_is_gone_and_others_keep_theirs() {
        let before = capabilities(None).unwrap().permitted;
        let wanted = Capabilities::PACKETS;
        let after = std::thread::spawn(move || {
            let left = wanted.keep_only().unwrap();
            assert_eq!(Capabilities::ALL.keep_only().unwrap(), left, "it came back");
            capabilities(None).unwrap()
        });
        let after = after.join().unwrap();
        assert_eq!(after.permitted, before & wanted.0);
        assert_eq!(after.effective & !wanted.0, CapabilitySet::empty());
        assert_eq!(capabilities(None).unwrap().permitted, before);
    }
}

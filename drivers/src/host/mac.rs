//! Addresses of interfaces for which none was chosen: `02:fe:…`, as those of software.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::MetadataExt;

use net::Router;
use wire::MacAddr;

/// Files that tell one machine from others, of those that have them.
const MACHINE: [&str; 2] = ["/sys/class/dmi/id/product_uuid", "/etc/machine-id"];

/// A random address.
pub fn random_mac() -> MacAddr {
    of(RandomState::new().build_hasher().finish())
}

/// The address of what `name` describes on this machine, in the network namespace of the router:
/// the same after a restart, so that neighbours need not learn another one, and no other
/// interface's.
pub fn stable_mac(router: &Router, name: fmt::Arguments<'_>) -> MacAddr {
    let namespace = fs::metadata("/proc/self/ns/net").map_or(0, |file| file.ino());
    let machine = MACHINE.map(|file| fs::read_to_string(file).unwrap_or_default());
    let mut name = format!("{machine:?} {namespace} {name}");
    loop {
        let mac = of(fnv(name.as_bytes()));
        if router.interfaces.iter().all(|i| i.mac != mac) {
            return mac;
        }
        // One that was renamed has it.
        name.push('+');
    }
}

fn of(bits: u64) -> MacAddr {
    let [a, b, c, d, ..] = bits.to_be_bytes();
    MacAddr([0x02, 0xfe, a, b, c, d])
}

/// FNV-1a, whose upper bits are mixed into once more: equal in every version of the router.
fn fnv(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
    });
    (hash ^ hash >> 32).wrapping_mul(PRIME)
}

#[cfg(test)]
mod tests {
    use net::testing::{Bench, Transmit, new_interface};

    use super::*;

    #[test]
    fn an_address_is_the_same_each_time_but_for_another_name_or_where_it_is_taken() {
        let mut b = Bench::new();
        let [one, again, other] = ["host eth0", "host eth0", "host eth1"]
            .map(|n| stable_mac(&b.router, format_args!("{n}")));
        assert_eq!((one, &one.0[..2]), (again, &[2, 0xfe][..]));
        assert_ne!(one, other);
        b.control(|router| router.add_interface(new_interface("x", one), Transmit).map(drop))
            .unwrap();
        assert_ne!(stable_mac(&b.router, format_args!("host eth0")), one);
    }
}

//! Places of a table of new flows (Maglev: Eisenbud et al., NSDI 2016, section 3.4), with weights.
//!
//! Each server has an order of its own in which it wants places, and they take turns. A round has
//! as many turns as the highest weight; a server takes part in as many of them as its own says. So
//! shares follow weights, and a server that goes leaves the places of others nearly as they were,
//! on any router that has the same servers.

use net::prelude::*;
use sessions::{Flow6, Key};

/// No server.
pub const FREE: u32 = u32::MAX;

/// The bits of an address of either version.
pub fn bits(addr: IpAddr) -> [u8; 16] {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().octets(),
        IpAddr::V6(addr) => addr.octets(),
    }
}

/// A hash of an address that is the same everywhere.
fn hash(addr: IpAddr, seed: u64) -> usize {
    Flow6::new((bits(addr), 0), ([0; 16], 0), Protocol(0), 0).hash(seed) as usize
}

/// A server that wants places.
struct Wish {
    number: u32,
    weight: u8,
    at: usize,
    skip: usize,
}

/// The server, by number, that has each of `count` places, a power of two; of `servers` in the
/// order of their addresses, with weights. Empty without servers that may have any.
pub fn places(servers: impl Iterator<Item = (u32, IpAddr, u8)>, count: u32) -> Vec<u32> {
    let count = count as usize;
    let mut wishes: Vec<Wish> = servers
        .filter(|(_, _, weight)| *weight > 0)
        .map(|(number, addr, weight)| Wish {
            number,
            weight,
            at: hash(addr, 0x6c62_6174) % count,
            // An odd step comes past every place.
            skip: (hash(addr, 0x6c62_736b) % count) | 1,
        })
        .collect();
    let Some(turns) = wishes.iter().map(|wish| wish.weight).max() else { return Vec::new() };
    let (mut places, mut left) = (vec![FREE; count], count);
    for turn in (0..turns).cycle() {
        for wish in wishes.iter_mut().filter(|wish| wish.weight > turn).take(left) {
            while places[wish.at] != FREE {
                wish.at = (wish.at + wish.skip) % count;
            }
            places[wish.at] = wish.number;
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    places
}

/// How many of the places each server has.
pub fn share(places: &[u32], number: u32) -> u32 {
    places.iter().filter(|place| **place == number).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(weights: &[u8], count: u32) -> Vec<u32> {
        let server =
            |(n, weight): (usize, &u8)| (n as u32, IpAddr::from([10, 0, 0, n as u8 + 1]), *weight);
        places(weights.iter().enumerate().map(server), count)
    }

    fn shares(weights: &[u8]) -> Vec<u32> {
        let places = table(weights, 1024);
        (0..weights.len() as u32).map(|n| share(&places, n)).collect()
    }

    #[test]
    fn shares_follow_weights() {
        assert_eq!(shares(&[100; 4]), [256; 4]);
        assert_eq!(shares(&[50, 100, 100, 100]), [150, 292, 291, 291]);
        assert_eq!(shares(&[50, 0, 100, 100]), [208, 0, 408, 408]);
        assert_eq!(shares(&[1]), [1024]);
        assert!(table(&[0, 0], 8).is_empty());
        assert!(table(&[], 8).is_empty());
    }

    #[test]
    fn a_server_that_goes_leaves_most_places_of_others() {
        let (before, after) = (table(&[100; 8], 1024), table(&[100; 7], 1024));
        let moved = before.iter().zip(&after).filter(|(a, b)| **a != 7 && a != b).count();
        assert!(moved < 1024 / 4, "{moved}");
        assert!(!after.contains(&7) && !after.contains(&FREE));
    }

    #[test]
    fn a_table_may_have_one_place() {
        assert_eq!(table(&[100, 100], 1), [0]);
    }
}

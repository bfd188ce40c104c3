//! A router that seals and opens, and receives anything: ESP and AH by policies and of protected
//! tunnels. Some associations neither encipher nor authenticate, so that hostile bytes get to what
//! reads a packet that was opened.

use super::Graphs;
use crate::Target;

const SETUP: &str = "ipsec sa add 1 spi 1 esp inbound
ipsec sa add 2 spi 2 esp inbound use-esn use-anti-replay tunnel-src 10.0.0.2 tunnel-dst 10.0.0.1
ipsec sa add 3 spi 3 ah integ-alg sha1-96 integ-key 5a5a use-anti-replay inbound
ipsec sa add 4 spi 4 crypto-alg aes-cbc-128 crypto-key 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a inbound
ipsec sa add 5 spi 5 ah integ-alg sha-512-256 integ-key 5a5a
ipsec sa add 6 spi 6 crypto-alg aes-gcm-128 crypto-key 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a udp-encap
ipsec sa add 7 spi 7 esp inbound udp-encap
ipsec sa add 8 spi 8 ah integ-alg md5-96 integ-key 5a inbound
ipsec spd add 1
ipsec policy add spd 1 priority 9 inbound ip4 action protect sa 1
ipsec policy add spd 1 priority 8 inbound ip4 action protect sa 2
ipsec policy add spd 1 priority 7 inbound ip4 action protect sa 3
ipsec policy add spd 1 priority 6 inbound ip4 action protect sa 4
ipsec policy add spd 1 priority 9 inbound ip6 action protect sa 1
ipsec policy add spd 1 priority 8 inbound ip6 action protect sa 8
ipsec policy add spd 1 priority 1 inbound ip4 action bypass
ipsec policy add spd 1 priority 1 inbound ip6 action bypass
ipsec spd add 2
ipsec policy add spd 2 priority 9 outbound ip4 protocol 17 action protect sa 5
ipsec policy add spd 2 priority 9 outbound ip6 protocol 17 action protect sa 5
ipsec policy add spd 2 priority 8 outbound ip4 protocol 1 action protect sa 6
ipsec policy add spd 2 priority 1 outbound ip4 action bypass
ipsec policy add spd 2 priority 1 outbound ip6 action bypass
set interface ipsec spd pg0 1
set interface ipsec spd pg1 2
create gre tunnel src 10.0.0.1 dst 10.0.0.2 teb instance 77
set interface state gre77 up
ipsec tunnel protect gre77 input-sa 1 input-sa 7 output-sa 6
ipsec itf create instance 77
ipsec tunnel protect ipsec77 input-sa 2 output-sa 2
set interface state ipsec77 up
";

/// As [`Graphs`] takes it.
pub struct Ipsec(Graphs);

impl Ipsec {
    /// A router with associations, policies and protected tunnels.
    pub fn new() -> Self {
        Self(Graphs::with(SETUP))
    }
}

impl Default for Ipsec {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Ipsec {
    const NAME: &'static str = "ipsec";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = self.0.seeds();
        seeds.extend(super::packets::sealed().into_iter().map(|p| [&[7], p.as_slice()].concat()));
        seeds
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        self.0.take(input)
    }
}

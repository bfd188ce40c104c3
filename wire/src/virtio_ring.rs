//! Rings of virtio devices (VIRTIO 1.2 sections 2.7 and 2.8), split and packed, and the bits of
//! network devices' features (section 5.1.3). Numbers are little endian.

/// Bytes of a descriptor.
pub const DESCRIPTOR: usize = 16;
/// Descriptors of a ring at most.
pub const MOST: u32 = 32_768;

/// Bits of [`Descriptor::flags`].
pub mod flag {
    /// It goes on in the next one.
    pub const NEXT: u16 = 1;
    /// The device writes to it.
    pub const WRITE: u16 = 2;
    /// A table of descriptors.
    pub const INDIRECT: u16 = 4;
    /// In a packed ring: the driver has put it there, in turns with its absence.
    pub const AVAILABLE: u16 = 1 << 7;
    /// In a packed ring: the device has used it, in turns with its absence.
    pub const USED: u16 = 1 << 15;
}

/// A word of either side of a split ring: no interrupts are wanted.
pub const NO_INTERRUPT: u16 = 1;

/// A stretch of the driver's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Its address in the machine.
    pub address: u64,
    /// Bytes.
    pub len: u32,
    /// See [`flag`].
    pub flags: u16,
    /// In a split ring the next one, in a packed ring the number of the buffer.
    pub link: u16,
}

impl Descriptor {
    /// From its halves as they lie in a split ring.
    #[inline(always)]
    pub fn of_split([low, high]: [u64; 2]) -> Self {
        let (address, high) = (u64::from_le(low), u64::from_le(high));
        let (flags, link) = ((high >> 32) as u16, (high >> 48) as u16);
        Self { address, len: high as u32, flags, link }
    }
    /// From its halves as they lie in a packed ring.
    #[inline(always)]
    pub fn of_packed([low, high]: [u64; 2]) -> Self {
        let (address, high) = (u64::from_le(low), u64::from_le(high));
        let (link, flags) = ((high >> 32) as u16, (high >> 48) as u16);
        Self { address, len: high as u32, flags, link }
    }
    /// Its halves as they lie in a split ring.
    pub fn to_split(self) -> [u64; 2] {
        let Self { address, len, flags, link } = self;
        let high = u64::from(len) | u64::from(flags) << 32 | u64::from(link) << 48;
        [address.to_le(), high.to_le()]
    }
    /// Its halves as they lie in a packed ring.
    #[inline(always)]
    pub fn to_packed(self) -> [u64; 2] {
        let Self { address, len, flags, link } = self;
        let high = u64::from(len) | u64::from(link) << 32 | u64::from(flags) << 48;
        [address.to_le(), high.to_le()]
    }
}

/// Positions of bits of features.
pub mod feature {
    /// The device takes packets without checksum.
    pub const CSUM: u32 = 0;
    /// The driver does.
    pub const GUEST_CSUM: u32 = 1;
    /// The driver takes big TCP packets over IPv4.
    pub const GUEST_TSO4: u32 = 7;
    /// The driver takes big TCP packets over IPv6.
    pub const GUEST_TSO6: u32 = 8;
    /// The driver takes those with CWR.
    pub const GUEST_ECN: u32 = 9;
    /// The device takes big TCP packets over IPv4.
    pub const HOST_TSO4: u32 = 11;
    /// The device takes big TCP packets over IPv6.
    pub const HOST_TSO6: u32 = 12;
    /// The device takes those with CWR.
    pub const HOST_ECN: u32 = 13;
    /// A received packet may be in several buffers.
    pub const MRG_RXBUF: u32 = 15;
    /// There is a queue for control.
    pub const CTRL_VQ: u32 = 17;
    /// The driver makes itself known when it has moved.
    pub const GUEST_ANNOUNCE: u32 = 21;
    /// There are several pairs of queues.
    pub const MQ: u32 = 22;
    /// Headers and bytes may be divided among descriptors anyhow.
    pub const ANY_LAYOUT: u32 = 27;
    /// Descriptors may be tables of descriptors.
    pub const INDIRECT_DESC: u32 = 28;
    /// Each side says at which place it wants to be woken.
    pub const EVENT_IDX: u32 = 29;
    /// vhost-user: there are features of the protocol.
    pub const PROTOCOL_FEATURES: u32 = 30;
    /// A VIRTIO 1 device.
    pub const VERSION_1: u32 = 32;
    /// Rings are packed.
    pub const RING_PACKED: u32 = 34;
}

/// Name of a feature by the position of its bit.
pub fn feature_name(bit: u32) -> &'static str {
    const NAMES: [(u32, &str); 26] = [
        (0, "VIRTIO_NET_F_CSUM"),
        (1, "VIRTIO_NET_F_GUEST_CSUM"),
        (3, "VIRTIO_NET_F_MTU"),
        (5, "VIRTIO_NET_F_MAC"),
        (6, "VIRTIO_NET_F_GSO"),
        (7, "VIRTIO_NET_F_GUEST_TSO4"),
        (8, "VIRTIO_NET_F_GUEST_TSO6"),
        (9, "VIRTIO_NET_F_GUEST_ECN"),
        (10, "VIRTIO_NET_F_GUEST_UFO"),
        (11, "VIRTIO_NET_F_HOST_TSO4"),
        (12, "VIRTIO_NET_F_HOST_TSO6"),
        (13, "VIRTIO_NET_F_HOST_ECN"),
        (14, "VIRTIO_NET_F_HOST_UFO"),
        (15, "VIRTIO_NET_F_MRG_RXBUF"),
        (16, "VIRTIO_NET_F_STATUS"),
        (17, "VIRTIO_NET_F_CTRL_VQ"),
        (21, "VIRTIO_NET_F_GUEST_ANNOUNCE"),
        (22, "VIRTIO_NET_F_MQ"),
        (26, "VHOST_F_LOG_ALL"),
        (27, "VIRTIO_F_ANY_LAYOUT"),
        (28, "VIRTIO_F_INDIRECT_DESC"),
        (29, "VIRTIO_F_EVENT_IDX"),
        (30, "VHOST_USER_F_PROTOCOL_FEATURES"),
        (32, "VIRTIO_F_VERSION_1"),
        (34, "VIRTIO_F_RING_PACKED"),
        (35, "VIRTIO_F_IN_ORDER"),
    ];
    let found = NAMES.iter().find(|(at, _)| *at == bit);
    found.map_or("unknown", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_lie_as_the_standard_says() {
        let d = Descriptor { address: 0x1122, len: 0x33, flags: flag::WRITE, link: 0x55 };
        let bytes = |words: [u64; 2]| words.map(u64::to_ne_bytes).concat();
        assert_eq!(bytes(d.to_split())[8..], [0x33, 0, 0, 0, 2, 0, 0x55, 0]);
        assert_eq!(bytes(d.to_packed())[8..], [0x33, 0, 0, 0, 0x55, 0, 2, 0]);
        assert_eq!(Descriptor::of_split(d.to_split()), d);
        assert_eq!(Descriptor::of_packed(d.to_packed()), d);
        assert_eq!(feature_name(feature::RING_PACKED), "VIRTIO_F_RING_PACKED");
    }
}

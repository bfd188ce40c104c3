//! The maximum segment size that TCP ends tell each other, lowered.

use net::prelude::*;
use wire::checksum;
use zerocopy::byteorder::network_endian::U16;

/// Option: nothing follows.
const END: u8 = 0;
/// Option: padding.
const NO_OPERATION: u8 = 1;
/// Option: maximum segment size.
const MSS: u8 = 2;

/// Lowers the option in a TCP header that is `at` bytes from the start of a packet, if it exists
/// and is greater.
#[cold]
pub fn clamp(p: &mut Buffer<'_>, at: usize, most: u16) -> Option<()> {
    let is_summed = !p.flags().has(Flags::CHECKSUM_TODO);
    let bytes = p.bytes_mut().get_mut(at..)?;
    let (header, rest) = tcp::Header::mut_from_prefix(bytes).ok()?;
    let len = header.header_len().saturating_sub(size_of::<tcp::Header>());
    let options = rest.get_mut(..len)?;
    let mut place = 0;
    loop {
        match *options.get(place)? {
            END => return None,
            NO_OPERATION => place += 1,
            MSS if options.get(place + 1) == Some(&4) => break,
            _ => place += usize::from(*options.get(place + 1)?).max(2),
        }
    }
    place += 2;
    let value = options.get_mut(place..place + 2)?;
    let told = u16::from_be_bytes([value[0], value[1]]);
    if told <= most {
        return None;
    }
    value.copy_from_slice(&most.to_be_bytes());
    if is_summed {
        // At an odd place the bytes of a word of the sum are swapped.
        let swap = |n: u16| if place % 2 == 1 { n.swap_bytes() } else { n };
        let (old, new) = (U16::new(swap(told)), U16::new(swap(most)));
        header.checksum = checksum::update(header.checksum, old, new);
    }
    Some(())
}

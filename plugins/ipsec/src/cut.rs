//! Packets that are cut where they leave, sealed ones behind their seal (RFC 4303 section 3.3.4):
//! `ip4-rewrite` and `ip6-rewrite` leave that to interfaces with policies.

use graph::{Flags, Node, Packet};
use net::fragment::{self, Error};
use net::ip::{V4, V6};

/// Longest header of layer 2.
const LAYER_2: usize = 32;

/// Makes an IP packet behind `front` bytes of layer 2 its first fragment of at most `mtu` bytes,
/// which the others follow. All have these marks.
///
/// # Errors
/// Why it cannot be cut.
#[cold]
#[inline(never)]
pub fn cut<N: Node>(
    p: &mut Packet<'_, N>,
    front: usize,
    (mtu, is_6): (u16, bool),
    marks: Flags,
    sequence: &mut u64,
) -> Result<(), Error> {
    let mut layer_2 = [0; LAYER_2];
    let layer_2 = layer_2.get_mut(..front).ok_or(Error::CantFragmentHeader)?;
    layer_2.copy_from_slice(p.bytes().get(..front).ok_or(Error::Malformed)?);
    p.advance(front).ok_or(Error::Malformed)?;
    let layer_2 = &*layer_2;
    let wrap = |new: &mut graph::NewPacket<'_, N>, header: &mut [u8], _: usize| {
        let at = new.offset();
        new.set_l2_offset(at);
        new.add_flags(marks);
        new.append(layer_2)?;
        new.append(header)
    };
    let mtu = usize::from(mtu);
    match is_6 {
        true => fragment::cut::<V6, N>(p, mtu, sequence, wrap)?,
        false => fragment::cut::<V4, N>(p, mtu, sequence, wrap)?,
    }
    p.prepend(front).ok_or(Error::CantFragmentHeader)?.copy_from_slice(layer_2);
    let at = p.offset();
    p.set_l2_offset(at);
    p.add_flags(marks);
    Ok(())
}

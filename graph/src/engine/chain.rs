//! Chains of buffers: packets of several segments, made longer and shorter.

use super::core::Core;
use crate::buffer::Buffer;

impl Core {
    /// Cuts a packet to `n` bytes, giving back segments it no longer needs.
    pub(super) fn truncate_chain(&mut self, packet: &mut Buffer<'_>, n: usize) {
        let first = packet.len();
        if n > first
            && let Some(next) = packet.next_segment()
        {
            // SAFETY: the segments after the first belong to the packet.
            unsafe { self.truncate_rest(next, n - first) };
            packet.set_next(next, (n.min(packet.total_len()) - first) as u32);
            return;
        }
        packet.truncate(n);
        if let Some(next) = packet.take_next() {
            self.free_chain(next);
        }
    }
    /// Cuts the chain that starts at `at` to `n` bytes.
    ///
    /// # Safety
    /// The chain belongs to this thread, and no [`Buffer`] of it is in use.
    unsafe fn truncate_rest(&mut self, mut at: u32, mut n: usize) {
        loop {
            // SAFETY: the caller's.
            let mut p = unsafe { Buffer::new(self.base, at) };
            if n > p.len()
                && let Some(next) = p.next_segment()
            {
                (at, n) = (next, n - p.len());
                continue;
            }
            p.truncate(n);
            if let Some(next) = p.take_next() {
                self.free_chain(next);
            }
            return;
        }
    }
    /// Hangs `bytes` after the chain that starts at `first` and ends in `last`, in as many further
    /// segments as it takes. `None` when buffers ran out; what was added stays in the chain.
    ///
    /// # Safety
    /// The chain belongs to this thread, and no [`Buffer`] of it is in use.
    pub(super) unsafe fn extend_chain(
        &mut self,
        first: u32,
        last: &mut Option<u32>,
        mut bytes: &[u8],
    ) -> Option<()> {
        while !bytes.is_empty() {
            // SAFETY: the caller's: the chain is ours and has no other user.
            let (mut head, end) = unsafe {
                (Buffer::new(self.base, first), Buffer::new(self.base, last.unwrap_or(first)))
            };
            let mut at = if end.tailroom() > 0 {
                end
            } else {
                let new = self.fresh()?;
                let mut end = end;
                if last.is_none() {
                    head.set_next(new.index(), 0)
                } else {
                    end.set_next(new.index(), 0)
                }
                *last = Some(new.index());
                new
            };
            let k = bytes.len().min(at.tailroom());
            at.append(&bytes[..k])?;
            if last.is_some() {
                head.add_rest(k as u32);
            }
            bytes = &bytes[k..];
        }
        Some(())
    }
}

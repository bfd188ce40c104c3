//! Sending the packets of a frame straight out of their buffers, many in one system call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use graph::{Frame, Node, Packet};
use wire::virtio_net::Header;

/// Packets in one system call at most.
const BATCH: usize = 64;
/// Stretches of memory in one system call at most.
const SLICES: usize = 1024;
/// Stretches of one packet at most, its header included; what the kernel allows is 1024.
const MOST: usize = 512;

/// Lists for the kernel, one for each queue. Empty except while [`Outbox::send`] runs.
#[derive(Default)]
pub struct Outbox {
    lists: Vec<List>,
}

/// Packets that wait for one queue.
struct List {
    headers: Vec<Header>,
    slices: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the lists hold no pointers between two calls of `send`.
unsafe impl Send for List {}

/// The outcome of sending a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets the kernel took.
    pub sent: u64,
    /// Packets it had no room for.
    pub refused: u64,
    /// Packets it cannot send.
    pub failed: u64,
}

/// Each thread begins without lists.
impl Clone for Outbox {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Outbox {
    /// Sends every packet of the frame on the socket of one of the queues, which `choose` names
    /// by its place, with the header that goes in front; an error drops it. The packets are given
    /// back.
    #[inline(always)]
    pub fn send<N: Node, On>(
        &mut self,
        sockets: &[OwnedFd],
        frame: &mut Frame<'_, N, On>,
        mut choose: impl FnMut(&mut Packet<'_, N>) -> Result<(usize, Header), N::Error>,
    ) -> Sent {
        let mut sent = Sent::default();
        let mut left = frame.len();
        let lists = &mut self.lists;
        lists.resize_with(lists.len().max(sockets.len()), List::new); // more than once: hardly ever
        lists.iter_mut().for_each(List::clear);
        frame.consume(|p| {
            left -= 1;
            let made = choose(p);
            if let Ok((queue, header)) = made {
                let (list, socket) = (&mut lists[queue], sockets[queue].as_fd());
                let count = 1 + p.segments().count();
                if !list.has_room_for(count) {
                    list.flush(socket, &mut sent);
                }
                if count > MOST {
                    sent.failed += 1;
                } else {
                    list.push(header, p);
                }
            }
            if left == 0 {
                let all = lists.iter_mut().zip(sockets);
                all.for_each(|(list, socket)| list.flush(socket.as_fd(), &mut sent));
            }
            made.map(|_| ())
        });
        sent
    }
}

impl List {
    /// One with all the room it will need.
    fn new() -> Self {
        Self {
            headers: Vec::with_capacity(BATCH),
            slices: Vec::with_capacity(SLICES),
            messages: Vec::with_capacity(BATCH),
        }
    }
    fn has_room_for(&self, slices: usize) -> bool {
        self.messages.len() < BATCH && self.slices.len() + slices <= SLICES
    }
    /// Notes a packet; there is room in all lists, so that nothing in them moves.
    fn push<N>(&mut self, header: Header, p: &Packet<'_, N>) {
        debug_assert!(self.headers.len() < self.headers.capacity(), "a list that would move");
        self.headers.push(header);
        let first = self.slices.len();
        let header = self.headers.last().map_or(std::ptr::null(), std::ptr::from_ref);
        let len = size_of::<Header>();
        self.slices.push(libc::iovec { iov_base: header.cast_mut().cast(), iov_len: len });
        let slice =
            |s: &[u8]| libc::iovec { iov_base: s.as_ptr().cast_mut().cast(), iov_len: s.len() };
        self.slices.extend(p.segments().map(slice));
        // SAFETY: all zeroes is a valid value of this plain struct: no address, no control data.
        let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
        message.msg_hdr.msg_iov = self.slices[first..].as_mut_ptr();
        message.msg_hdr.msg_iovlen = (self.slices.len() - first) as _;
        self.messages.push(message);
    }
    /// Hands over what is noted.
    fn flush(&mut self, socket: BorrowedFd<'_>, sent: &mut Sent) {
        let mut at = 0;
        while at < self.messages.len() {
            let rest = &mut self.messages[at..];
            let (fd, len) = (socket.as_raw_fd(), rest.len() as u32);
            // SAFETY: the messages point into `slices`, those to `headers` and to bytes of packets
            // that are not given back before the frame ends (see the module's contract).
            let n = unsafe { libc::sendmmsg(fd, rest.as_mut_ptr(), len, libc::MSG_DONTWAIT) };
            if n > 0 {
                at += n.unsigned_abs() as usize;
                sent.sent += u64::from(n.unsigned_abs());
                continue;
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => (),
                // The queue is full: so it is for those behind.
                Some(libc::EAGAIN) => {
                    sent.refused += (self.messages.len() - at) as u64;
                    break;
                }
                Some(libc::ENOBUFS) => {
                    sent.refused += 1;
                    at += 1;
                }
                _ => {
                    sent.failed += 1;
                    at += 1;
                }
            }
        }
        self.clear();
    }
    fn clear(&mut self) {
        self.messages.clear();
        self.slices.clear();
        self.headers.clear();
    }
}

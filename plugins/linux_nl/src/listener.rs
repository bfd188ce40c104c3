//! A thread that listens to the kernel in a namespace, so that a busy router loses nothing for a
//! while. Its messages queue for control; on overflow (ENOBUFS) everything is read again.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use drivers::host::namespace;
use drivers::host::netlink::{Netlink, each_message};
use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_timeout,
};
use rustix::net::{
    AddressFamily as Domain, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with,
};

use net::prelude::*;

use super::message::{self, News};

/// Groups of rtnetlink(7): links, neighbours, addresses, routes and nexthop objects.
const GROUPS: u32 = 0x1 | 0x4 | 0x10 | 0x40 | 0x100 | 0x400 | 1 << 31;
/// Bytes that may wait in the kernel, unless configured otherwise.
pub(super) const WAITING: usize = 16 << 20;
/// Bytes read at once.
const ROOM: usize = 64 << 10;
/// Batches that may wait for control.
const BATCHES: usize = 1024;
/// Maximum messages in a batch, during a complete reading.
const BATCH: usize = 1024;
/// Readings with changes meanwhile, after which one of them is used.
const TORN: u32 = 20;
/// Interval between checks of the thread whether it is still needed.
const LOOK: Duration = Duration::from_millis(100);
/// Interval of checks whether control has taken the messages.
const PAUSE: Duration = Duration::from_millis(1);

/// There is news.
#[derive(Clone, Copy, Debug)]
pub struct Told;

impl Event for Told {
    const ROOM: usize = 64;
}

/// State shared by thread and control.
#[derive(Debug, Default)]
struct Flags {
    is_over: AtomicBool,
    tells_all: AtomicBool,
    /// Batches that control has not taken.
    waiting: AtomicUsize,
}

/// Control's end.
#[derive(Debug)]
pub struct Listener {
    batches: Receiver<Vec<News>>,
    flags: Arc<Flags>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.flags.is_over.store(true, Ordering::Relaxed);
    }
}

impl Listener {
    /// Starts to listen in a namespace, with a buffer of `room` bytes, and a complete reading.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(name: &str, room: usize, told: EventSender<Told>) -> io::Result<Self> {
        let (sender, batches) = sync_channel(BATCHES);
        let flags = Arc::new(Flags { tells_all: true.into(), ..Flags::default() });
        let file = Some(name).filter(|name| !name.is_empty());
        let (socket, netlink) = namespace::within(file, || Ok((open(room)?, Netlink::open()?)))?;
        let shared = Arc::clone(&flags);
        let mut ear = Ear { socket, netlink, sender, told, flags: shared, torn: 0 };
        std::thread::Builder::new().name("netlink".to_owned()).spawn(move || ear.listen())?;
        Ok(Self { batches, flags })
    }
    /// Requests a complete reading, soon.
    pub fn tell_all(&self) {
        self.flags.tells_all.store(true, Ordering::Relaxed);
    }
    /// The next news.
    pub fn next(&self) -> Option<Vec<News>> {
        let batch = self.batches.try_recv().ok()?;
        self.flags.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(batch)
    }
}

fn open(room: usize) -> io::Result<OwnedFd> {
    let socket = socket_with(Domain::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // More than the usual limit needs a right that not everybody has.
    if set_socket_recv_buffer_size_force(&socket, room).is_err() {
        set_socket_recv_buffer_size(&socket, room)?;
    }
    set_socket_timeout(&socket, Timeout::Recv, Some(LOOK))?;
    bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}

/// The thread's end.
struct Ear {
    socket: OwnedFd,
    netlink: Netlink,
    sender: SyncSender<Vec<News>>,
    told: EventSender<Told>,
    flags: Arc<Flags>,
    /// Readings one after the other during which something changed.
    torn: u32,
}

impl Ear {
    fn listen(&mut self) {
        let mut room = vec![0; ROOM];
        while !self.flags.is_over.load(Ordering::Relaxed) {
            let is_due = self.flags.tells_all.load(Ordering::Relaxed);
            let how = if is_due { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
            let mut news = Vec::new();
            match recv(&self.socket, &mut room[..], how) {
                // A complete reading is due, which includes this.
                Ok(_) if is_due => (),
                Ok((len, _)) => {
                    each_message(&room[..len], |message| {
                        if let NetlinkPayload::InnerMessage(message) = message.payload {
                            news.extend(News::of(&message));
                        }
                    });
                    news.extend(message::objects(&room[..len]));
                }
                Err(Errno::NOBUFS) => {
                    news.push(News::Lost);
                    self.flags.tells_all.store(true, Ordering::Relaxed);
                }
                // The kernel drops news, and says so no more, until all that waits was taken: only
                // what is asked for behind that is followed by all news.
                Err(Errno::AGAIN) if is_due => {
                    // Not faster than control takes it.
                    if self.flags.waiting.load(Ordering::Relaxed) > 0 {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    self.flags.tells_all.store(false, Ordering::Relaxed);
                    if !self.tell_all() {
                        return;
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => (),
                Err(_) => return,
            }
            if !news.is_empty() && !self.send(news) {
                return;
            }
        }
    }
    /// Gives news to control; false when that listens no longer. While there is no room what comes
    /// waits in the kernel.
    fn send(&mut self, mut news: Vec<News>) -> bool {
        self.flags.waiting.fetch_add(1, Ordering::Relaxed);
        loop {
            let sent = self.sender.try_send(news);
            self.told.send(Told);
            match sent {
                Ok(()) => return true,
                Err(TrySendError::Full(back)) => news = back,
                Err(TrySendError::Disconnected(_)) => return false,
            }
            if self.flags.is_over.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }
    /// Requests another complete reading, a little later.
    fn again_soon(&self) {
        self.flags.tells_all.store(true, Ordering::Relaxed);
        std::thread::sleep(LOOK);
    }
    fn tell_all(&mut self) -> bool {
        let mut batch = vec![News::Look, News::Begin];
        let mut is_whole = true;
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut route = RouteMessage::default();
            route.header.address_family = family;
            let mut neighbor = NeighbourMessage::default();
            neighbor.header.family = family;
            for what in
                [RouteNetlinkMessage::GetNeighbour(neighbor), RouteNetlinkMessage::GetRoute(route)]
            {
                let mut all = Vec::new();
                let done = self.netlink.dump(what, |message| all.extend(News::of(&message)));
                let Ok(is_whole_one) = done else {
                    self.again_soon();
                    return true;
                };
                is_whole &= is_whole_one;
                batch.append(&mut all);
            }
        }
        self.torn = if is_whole { 0 } else { self.torn + 1 };
        if !is_whole {
            self.again_soon();
            // With endless changes, a reading is used nevertheless.
            if !self.torn.is_multiple_of(TORN) {
                return true;
            }
        }
        batch.push(News::End);
        // Each with room for itself alone: a thousand of them may wait.
        let mut rest = batch.into_iter();
        loop {
            let next: Vec<_> = rest.by_ref().take(BATCH).collect();
            if next.is_empty() {
                return true;
            }
            if !self.send(next) {
                return false;
            }
        }
    }
}

//! Packet sockets, their options, and what the kernel says of a device.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use wire::MacAddr;

/// Options of a socket.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Device index.
    pub device: u32,
    /// Takes part in receiving.
    pub receives: bool,
    /// Sends past the queueing discipline of the device.
    pub bypasses_qdisc: bool,
    /// Group of sockets that share what is received.
    pub fanout: Option<Fanout>,
}

/// A group of sockets that share what is received, by flow.
#[derive(Clone, Copy, Debug)]
pub struct Fanout(pub u16);

/// Room for packets too long for a ring slot, and for sent ones on their way, in bytes.
const QUEUE: libc::c_int = 32 << 20;

/// Opens a socket on a device. It receives from here on, if it is to: give it its ring with
/// `prepare`, which is called before.
///
/// # Errors
/// The kernel's: no permission, no such device.
pub fn open<T>(
    options: Options,
    prepare: impl FnOnce(&OwnedFd) -> io::Result<T>,
) -> io::Result<(OwnedFd, T)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let one: libc::c_int = 1;
    set(&socket, libc::PACKET_VNET_HDR, &one)?;
    if options.bypasses_qdisc {
        set_qdisc_bypass(&socket, true)?;
    }
    // Without the privilege the usual sizes have to do.
    let queue = if options.receives { libc::SO_RCVBUFFORCE } else { libc::SO_SNDBUFFORCE };
    let _ = set_at(&socket, libc::SOL_SOCKET, queue, &QUEUE);
    if options.receives {
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &one)?;
        set(&socket, libc::PACKET_COPY_THRESH, &one)?;
    }
    let made = prepare(&socket)?;
    bind(&socket, options)?;
    if options.receives {
        let everything = libc::packet_mreq {
            mr_ifindex: options.device.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::PACKET_ADD_MEMBERSHIP, &everything)?;
        if let Some(group) = options.fanout {
            join(&socket, group)?;
        }
    }
    // That the device is down is no news worth waking up for.
    let _ = socket_error(&socket);
    Ok((socket, made))
}

/// Shares what is received with the sockets of a group. Without the flag, which old kernels do not
/// know, they also get what they have sent: the receiver looks for it.
fn join(socket: &OwnedFd, Fanout(group): Fanout) -> io::Result<()> {
    let value = |kind: u32| u32::from(group) | kind << 16;
    let ignoring = libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING;
    set(socket, libc::PACKET_FANOUT, &value(ignoring))
        .or_else(|_| set(socket, libc::PACKET_FANOUT, &value(libc::PACKET_FANOUT_HASH)))
}

fn bind(socket: &OwnedFd, options: Options) -> io::Result<()> {
    let everything = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: all zeroes is a valid address of this plain struct.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = if options.receives { everything } else { 0 };
    address.sll_ifindex = options.device.cast_signed();
    let len = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: the address is a `sockaddr_ll` of `len` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })
}

/// Sets an option of packet sockets.
pub(super) fn set<T: Copy>(socket: impl AsFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

fn set_at<T: Copy>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let (fd, len) = (socket.as_fd().as_raw_fd(), size_of::<T>() as u32);
    // SAFETY: the kernel reads `len` bytes of plain data at `value`.
    check(unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), len) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Number of packets that a receiving socket lost since the last call, for want of room in its
/// ring.
pub fn take_lost(socket: impl AsFd) -> u64 {
    // SAFETY: all zeroes is a valid value of this plain struct.
    let mut stats: libc::tpacket_stats = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tpacket_stats>() as u32;
    let fd = socket.as_fd().as_raw_fd();
    let to = (&raw mut stats).cast();
    // SAFETY: the kernel writes at most `len` bytes to `stats`. It does not fail on a packet
    // socket; if it did, `stats` would say zero.
    unsafe { libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut len) };
    stats.tp_drops.into()
}

/// A network device of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// MTU in bytes.
    pub mtu: u32,
    /// Switched on and able to carry packets.
    pub is_running: bool,
    /// Whether it carries Ethernet frames.
    pub is_ethernet: bool,
    /// Thousands of bits per second that its link carries; 0 when unknown.
    pub speed_kbps: u32,
}

impl Device {
    /// A device as the kernel describes it.
    ///
    /// # Errors
    /// The kernel's, `ENODEV` when there is no device of that name.
    pub fn named(socket: impl AsFd, name: &str) -> io::Result<Self> {
        // The kernel brings the flags up to date when it is asked for the link.
        let _ = has_link(&socket, name);
        let mut request = request(name)?;
        ioctl(&socket, libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has filled in this member; any bits are valid.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        ioctl(&socket, libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: as above.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        ioctl(&socket, libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: as above.
        let kind = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
        let speed_kbps = speed(&socket, name).unwrap_or(0);
        let wanted = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(Self {
            mtu: mtu.cast_unsigned(),
            is_running: flags & wanted == wanted,
            is_ethernet: [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&kind),
            speed_kbps,
        })
    }
    /// The address of a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn mac(socket: impl AsFd, name: &str) -> io::Result<MacAddr> {
        let mut request = request(name)?;
        ioctl(&socket, libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the kernel has filled in this member; any bits are valid.
        let [a, b, c, d, e, f, ..] = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
        Ok(MacAddr([a, b, c, d, e, f].map(i8::cast_unsigned)))
    }
    /// Changes the MTU of a device, in bytes.
    ///
    /// # Errors
    /// The kernel's: no permission, more than it can.
    pub fn set_mtu(socket: impl AsFd, name: &str, bytes: u32) -> io::Result<()> {
        let mut request = request(name)?;
        request.ifr_ifru.ifru_mtu = bytes.cast_signed();
        ioctl(&socket, libc::SIOCSIFMTU, &mut request)
    }
    /// Switches a device on.
    ///
    /// # Errors
    /// The kernel's: no permission.
    pub fn switch_on(socket: impl AsFd, name: &str) -> io::Result<()> {
        let mut request = request(name)?;
        ioctl(&socket, libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the kernel has filled in this member; any bits are valid.
        unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as i16 };
        ioctl(&socket, libc::SIOCSIFFLAGS, &mut request)
    }
}

/// Requests to the driver of a device.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Answer to `ETHTOOL_GSET`.
#[repr(C)]
#[derive(Default)]
struct Settings {
    command: u32,
    features: [u32; 2],
    speed_low: u16,
    modes: [u8; 6],
    packets: [u32; 2],
    speed_high: u16,
    crossover: [u8; 2],
    partner: u32,
    reserved: [u32; 2],
}

/// Command and answer of `ETHTOOL_GLINK`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Whether a device has a carrier, if it knows (ethtool).
fn has_link(socket: impl AsFd, name: &str) -> io::Result<bool> {
    const GET_LINK: u32 = 0xa;
    let mut value = Value { command: GET_LINK, data: 0 };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // The kernel reads and writes `value`, 8 bytes, which outlive the call.
    ioctl(socket, SIOCETHTOOL, &mut request)?;
    Ok(value.data != 0)
}

/// Speed of a link in thousands of bits per second, if the device knows it (ethtool).
fn speed(socket: impl AsFd, name: &str) -> io::Result<u32> {
    const GET_SETTINGS: u32 = 1;
    const UNKNOWN: u32 = u32::MAX;
    let mut settings = Settings { command: GET_SETTINGS, ..Settings::default() };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    // The kernel reads and writes `settings`, 44 bytes, which outlive the call.
    ioctl(socket, SIOCETHTOOL, &mut request)?;
    match u32::from(settings.speed_high) << 16 | u32::from(settings.speed_low) {
        UNKNOWN | 0xffff => Ok(0),
        mbps => Ok(mbps.saturating_mul(1000)),
    }
}

const _: () = assert!(size_of::<Settings>() == 44);

/// Makes a sending socket bypass the queueing discipline of its device, or use it.
///
/// # Errors
/// The kernel's.
pub fn set_qdisc_bypass(socket: impl AsFd, bypasses: bool) -> io::Result<()> {
    set(socket, libc::PACKET_QDISC_BYPASS, &libc::c_int::from(bypasses))
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeroes is a valid value of this plain struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

fn ioctl(socket: impl AsFd, what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: these requests read and write an `ifreq`, and what it points to.
    check(unsafe { libc::ioctl(fd, what, std::ptr::from_mut(request)) })
}

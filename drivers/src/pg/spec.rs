//! The arguments of `packet-generator new` and `configure`.

use std::path::PathBuf;

use control::cli::{Args, Error, Word};

use super::data::range::{self, Range};
use super::data::{LONGEST, Layout, Sizes};
use super::interface::MOST_GSO;

/// The words that the commands take, for their usage lines.
pub const USAGE: &str = "[name <name>] [limit <packets>] [rate <packets/s>] [size <a>-<b>|<a>+<b>] \
    [interface|source <interface>] [tx-interface <interface>] [node <node>] [worker <n>] \
    [maxframe <n>] [gso-size <bytes>] [buffer-size <bytes>] [buffer-flags <flag>...] \
    [buffer-offload-flags <flag>...] \
    {pcap <file> | data { <headers> [incrementing <n>] [hex <bytes>] }}";

/// The arguments for a stream; `None` where there was none.
#[derive(Debug, Default)]
pub struct Spec {
    /// Name.
    pub name: Option<String>,
    /// Most packets; 0, or a negative number as unsigned, for no end.
    pub limit: Option<u64>,
    /// Packets a second; 0 for as many as go.
    pub rate: Option<f64>,
    /// Lengths of packets.
    pub size: Option<Sizes>,
    /// Receive interface.
    pub interface: Option<Word>,
    /// Transmit interface, for nodes that send.
    pub tx_interface: Option<Word>,
    /// Whether TCP and UDP checksums are left to the router.
    pub without_checksums: bool,
    /// Payload of the segments that TCP packets may be cut into.
    pub gso_size: Option<u16>,
    /// Node that they go to.
    pub node: Option<String>,
    /// Number of the data-plane thread that sends them.
    pub worker: Option<usize>,
    /// Most packets in a frame.
    pub max_frame: Option<usize>,
    /// Bytes of a buffer, which are noted and shown: buffers have one size.
    pub buffer_size: Option<u32>,
    /// File to replay.
    pub pcap: Option<PathBuf>,
    /// Packets to make.
    pub data: Option<Layout>,
}

/// Words of `buffer-flags`.
const BUFFER_FLAGS: &[&str] =
    &["ip4", "ip6", "offload", "gso", "l2-hdr-offset", "l3-hdr-offset", "l4-hdr-offset"];
/// Words of `buffer-offload-flags`. Nothing leaves the IPv4 header's checksum to others here, so it
/// is computed when the packet is made.
const OFFLOADS: &[&str] = &["offload-ip-cksum", "offload-tcp-cksum", "offload-udp-cksum"];

impl Spec {
    /// Reads all that is left, or what stands between braces.
    ///
    /// # Errors
    /// The first word that does not belong.
    pub fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut spec = Self::default();
        match args.block()? {
            Some(mut inside) => spec.read(&mut inside)?,
            None => spec.read(args)?,
        }
        Ok(spec)
    }
    fn read(&mut self, args: &mut Args<'_>) -> Result<(), Error> {
        let mut sums_ip4 = false;
        while !args.is_empty() {
            let place = *args;
            match args.word().unwrap_or_default() {
                "name" => self.name = Some(args.value("name")?),
                "limit" => self.limit = Some(limit(args)?),
                "rate" => self.rate = Some(rate(args)?),
                "size" => self.size = Some(sizes(args)?),
                "tx-interface" => self.tx_interface = Some(args.value("interface")?),
                // What packets are is seen from their bytes; what is left to do is said next.
                "buffer-flags" => _ = words(args, BUFFER_FLAGS)?,
                "buffer-offload-flags" => {
                    let left = words(args, OFFLOADS)?;
                    self.without_checksums = left.iter().any(|w| *w != OFFLOADS[0]);
                    sums_ip4 = left.contains(&OFFLOADS[0]);
                }
                "interface" | "source" => self.interface = Some(args.value("interface")?),
                "node" => self.node = Some(args.value("node")?),
                "worker" => self.worker = Some(args.value("worker")?),
                "maxframe" => self.max_frame = Some(max_frame(args)?),
                "pcap" => self.pcap = Some(args.value("file name")?),
                "gso-size" => self.gso_size = Some(gso_size(args)?),
                "buffer-size" => self.buffer_size = Some(buffer_size(args)?),
                // Buffers always go back to the pool; scripts say either.
                "recycle" | "no-recycle" => (),
                "data" => {
                    let block = args.block()?;
                    let mut inside = block.ok_or_else(|| args.error("expected `{' before"))?;
                    self.data = Some(Layout::parse(&mut inside)?);
                }
                _ => return Err(place.unknown()),
            }
        }
        if let Some(data) = self.data.as_mut().filter(|_| sums_ip4) {
            data.sum_ip4();
        }
        Ok(())
    }
}

/// Words of a list, as many as follow; one at least.
fn words(args: &mut Args<'_>, all: &[&'static str]) -> Result<Vec<&'static str>, Error> {
    let mut found = Vec::new();
    while let Some(word) = all.iter().find(|word| args.keyword(word)) {
        found.push(*word);
    }
    if found.is_empty() { Err(args.unknown()) } else { Ok(found) }
}

fn limit(args: &mut Args<'_>) -> Result<u64, Error> {
    let place = *args;
    if let Some(n) = args.optional() {
        return Ok(n);
    }
    let n: f64 = args.value("limit")?;
    let is_count = n.abs() < 2_f64.powi(63);
    if is_count { Ok(n as i64 as u64) } else { Err(place.error("invalid limit")) }
}

fn rate(args: &mut Args<'_>) -> Result<f64, Error> {
    let place = *args;
    let rate: f64 = args.value("rate")?;
    if rate.is_finite() && rate >= 0.0 { Ok(rate) } else { Err(place.error("invalid rate")) }
}

fn sizes(args: &mut Args<'_>) -> Result<Sizes, Error> {
    let place = *args;
    let word = range::joined(args).ok_or("missing size")?;
    let range = Range::parse(&word, |n: u32| n.into()).map_err(|e| match e {
        range::Error::Backwards => place.error("size range ends before it starts in"),
        _ => place.error("invalid size"),
    })?;
    let none = || place.error(format_args!("no packet size (1 to {LONGEST}) in"));
    Sizes::of(range).ok_or_else(none)
}

fn max_frame(args: &mut Args<'_>) -> Result<usize, Error> {
    let place = *args;
    let most = args.value("maxframe")?;
    let is_good = (1..=graph::FRAME).contains(&most);
    let bad = || place.error(format_args!("maxframe must be 1 to {}, not", graph::FRAME));
    is_good.then_some(most).ok_or_else(bad)
}

fn gso_size(args: &mut Args<'_>) -> Result<u16, Error> {
    let place = *args;
    let size = args.value("gso-size")?;
    let bad = || place.error(format_args!("gso-size must be 1 to {MOST_GSO}, not"));
    (1..=MOST_GSO).contains(&size).then_some(size).ok_or_else(bad)
}

fn buffer_size(args: &mut Args<'_>) -> Result<u32, Error> {
    let place = *args;
    let size = args.value("buffer-size")?;
    (size > 0).then_some(size).ok_or_else(|| place.error("buffer-size must be positive, not"))
}

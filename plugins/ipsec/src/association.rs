//! A security association as it is shown.

use crypto::{CIPHERS, MACS};
use net::prelude::*;
use net::tunnel::Outer;
use net::tunnel::command::copied;

use crate::sa::{self, Sa};
use crate::selector::Selector;
use crate::{ERRORS, Ipsec};

/// A security association.
#[derive(Serialize)]
pub(super) struct SaRow {
    index: u32,
    id: u32,
    spi: u32,
    protocol: &'static str,
    flags: Vec<&'static str>,
    crypto: &'static str,
    integrity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tunnel: Option<String>,
    #[serde(skip)]
    outer: Option<String>,
    /// Of this end, and of the remote end; not those that select everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    selectors: Option<[Vec<String>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<(u16, u16)>,
    salt: u32,
    locks: u32,
    thread: Option<usize>,
    sent: u64,
    received: u64,
    window: u32,
    #[serde(skip)]
    latest: u64,
    packets: u64,
    bytes: u64,
    errors: Vec<(&'static str, u64)>,
}

/// Texts of [`ERRORS`].
const REASONS: [&str; ERRORS.len()] = [
    "packets lost",
    "hand-off",
    "Integrity check failed",
    "Decryption failed",
    "crypto engine error (dropped)",
    "SA replayed packet",
    "undersized packet",
    "no buffers (dropped)",
    "buffer with oversized header (dropped)",
    "no enough buffer tail space (dropped)",
    "no tunnel protocol",
    "unsupported payload",
    "sequence number cycled (dropped)",
    "crypto queue full (dropped)",
    "no Encrypting SA (dropped)",
    "IP fragments drop",
    "not of the traffic selectors",
];

impl SaRow {
    pub fn of(router: &Router, (index, sa): (u32, &Sa)) -> Self {
        let (c, ipsec) = (&sa.config, router.own::<Ipsec>());
        let flags = [
            (c.has_esn, "esn"),
            (c.has_anti_replay, "anti-replay"),
            (c.tunnel.is_some(), "tunnel"),
            (c.udp.is_some(), "udp-encap"),
            (c.is_inbound, "inbound"),
            (c.is_async, "async"),
        ];
        let volume = ipsec.counters.sum(index as usize);
        let errors = ERRORS.into_iter().zip(&ipsec.errors.0);
        let counted = errors.map(|(name, rows)| (name, rows.sum(index as usize)));
        Self {
            index,
            id: c.id,
            spi: c.spi,
            protocol: if c.protocol == Protocol::AH { "ah" } else { "esp" },
            flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect(),
            crypto: CIPHERS.get(c.cipher as usize).map_or("unknown", |c| c.sa_name),
            integrity: MACS.get(c.mac as usize).map_or("unknown", |m| m.name),
            tunnel: c.tunnel.map(|t| format!("{} -> {}", t.src, t.dst)),
            outer: c.tunnel.map(|outer| outer_line(router, &outer)),
            selectors: c.selectors.as_ref().map(|all| all.ends().map(texts)),
            udp: c.udp,
            salt: c.salt,
            locks: ipsec.kept.get(&index).map_or(1, |kept| kept.users + 1),
            thread: sa.state.owner.thread(),
            sent: sa.state.sent.last(),
            received: sa.state.received.newest(),
            window: c.window,
            latest: sa.state.received.latest(),
            packets: volume.packets,
            bytes: volume.bytes,
            errors: counted.collect(),
        }
    }
    /// The line that names it.
    pub fn line(&self) -> String {
        let Self { index, id, spi, protocol, .. } = self;
        let flags: String = self.flags.iter().map(|flag| format!("{flag} ")).collect();
        format!(
            "[{index}] sa {id} (0x{id:x}) spi {spi} (0x{spi:08x}) protocol:{protocol} \
             flags:[{flags}]"
        )
    }
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = self.thread.map_or_else(|| "none".to_owned(), |thread| thread.to_string());
        writeln!(f, "   locks {}\n   salt {:#x}", self.locks, self.salt)?;
        for direction in ["inbound", "outbound"] {
            writeln!(f, "   {direction} thread-index:{thread}")?;
        }
        writeln!(f, "   inbound seq {}\n   outbound seq {}", self.received, self.sent)?;
        writeln!(f, "   window-size: {}", self.window)?;
        writeln!(f, "   window: Bl <- {:064b} Tl", self.latest)?;
        writeln!(f, "   crypto alg {} key [redacted]", self.crypto)?;
        writeln!(f, "   integrity alg {} key [redacted]", self.integrity)?;
        let (src, dst) = self.udp.unwrap_or_default();
        writeln!(f, "   UDP:[src:{src} dst:{dst}]")?;
        writeln!(f, "   tx/rx:[packets:{} bytes:{}]\n   SA errors:", self.packets, self.bytes)?;
        for (reason, (_, count)) in REASONS.into_iter().zip(&self.errors) {
            writeln!(f, "   \"{reason}\":[packets:{count}]")?;
        }
        let ends = ["local", "remote"].into_iter().zip(self.selectors.iter().flatten());
        for (end, all) in ends {
            all.iter().try_for_each(|one| writeln!(f, "   {end} traffic selector {one}"))?;
        }
        self.outer.iter().try_for_each(|outer| writeln!(f, "   {outer}"))
    }
}

/// The outer header of a tunnel.
fn outer_line(router: &Router, outer: &Outer) -> String {
    let table = router.tunnel_table_id(outer);
    let Outer { src, dst, hop_limit, dscp, flags, .. } = outer;
    let dscp = wire::Dscp::new(*dscp).unwrap_or(wire::Dscp::CS0);
    let flags = copied(*flags);
    format!("table-ID:{table} [{src}->{dst}] hop-limit:{hop_limit} point-to-point {dscp} [{flags}]")
}

fn texts(all: &[Selector]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn write_sa_rows(rows: &[SaRow], is_detailed: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        writeln!(f, "{}", row.line())?;
        if is_detailed { row.write_details(f) } else { Ok(()) }
    })
}

/// Security associations.
pub(super) fn sas(router: &Router, index: Option<u32>, is_detailed: bool) -> Output {
    let chosen = sa::all(router).filter(|(at, _)| index.is_none_or(|index| index == *at));
    let rows = chosen.map(|row| SaRow::of(router, row));
    Output::rows(rows, move |rows, f| write_sa_rows(rows, is_detailed, f))
}

//! The advertisements of an interface, as part of `show ip6 interface`.

use net::prelude::*;

use super::advertiser::Advertiser;

/// An advertiser as it is shown.
#[derive(Serialize)]
pub struct Shown {
    prefixes: Vec<Row>,
    mtu: u32,
    advertises: bool,
    max_interval: f64,
    min_interval: f64,
    lifetime: u16,
    managed: bool,
    sent: u32,
    solicitations_received: u32,
    solicitations_dropped: u32,
}

#[derive(Serialize)]
struct Row {
    prefix: String,
    length: u8,
    valid: u32,
    preferred: u32,
    on_link: bool,
    autonomous: bool,
    advertised: bool,
}

impl Shown {
    /// Of an interface with this MTU in bytes, at a time.
    pub fn of(a: &Advertiser, mtu: u32, now: f64) -> Self {
        let row = |p: super::Prefix| Row {
            prefix: p.prefix.addr().to_string(),
            length: p.prefix.prefix_len(),
            valid: p.valid,
            preferred: p.preferred,
            on_link: p.on_link,
            autonomous: p.autonomous,
            advertised: !p.is_silent,
        };
        Self {
            prefixes: a.all_prefixes(now).map(row).collect(),
            mtu,
            advertises: a.is_active(),
            max_interval: a.config.max_interval,
            min_interval: a.config.min_interval,
            lifetime: a.config.lifetime,
            managed: a.config.managed,
            sent: a.tally.sent,
            solicitations_received: a.tally.received,
            solicitations_dropped: a.tally.dropped,
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  Advertised Prefixes:")?;
        for p in &self.prefixes {
            writeln!(f, "      prefix {}, length {}", p.prefix, p.length)?;
            let yes = |is: bool| if is { "yes" } else { "no" };
            let (link, auto, said) = (yes(p.on_link), yes(p.autonomous), yes(p.advertised));
            writeln!(f, "      on-link {link}, autonomous {auto}, advertised {said}")?;
            writeln!(f, "      valid {} s, preferred {} s", p.valid, p.preferred)?;
        }
        writeln!(f, "    MTU is {}", self.mtu)?;
        writeln!(f, "    ND advertised reachable time is 0")?;
        writeln!(f, "    ND advertised retransmit interval is 0 (msec)")?;
        let (max, min) = (self.max_interval, self.min_interval);
        if !self.advertises {
            writeln!(f, "    ND router advertisements are suppressed")?;
        }
        writeln!(
            f,
            "    ND router advertisements are sent every {max:.1} seconds (min interval is \
             {min:.1})"
        )?;
        writeln!(f, "    ND router advertisements live for {} seconds", self.lifetime)?;
        let how = if self.managed { "DHCP" } else { "stateless autoconfig" };
        writeln!(f, "    Hosts use {how} for addresses")?;
        writeln!(f, "    ND router advertisements sent {}", self.sent)?;
        writeln!(f, "    ND router solicitations received {}", self.solicitations_received)?;
        writeln!(f, "    ND router solicitations dropped {}", self.solicitations_dropped)
    }
}

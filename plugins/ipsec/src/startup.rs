//! `ipsec { }` of the startup configuration.

use net::prelude::*;

/// Default number of cached flows per thread.
const FLOWS: usize = 1 << 22;
/// Limit of cached flows per thread.
const MOST_FLOWS: usize = 1 << 26;

/// Methods of policy lookup. Pairs are for IPv4 and IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Lookup by tables for outbound packets.
    pub out_by_table: [bool; 2],
    /// Lookup by tables for inbound packets.
    pub in_by_table: [bool; 2],
    /// Cached IPv4 flows per thread: inbound, outbound; 0 for none.
    pub flows: [usize; 2],
}

/// Parses `<word> on` or `<word> off`; `None` for another word.
fn switch(args: &mut Args<'_>, word: &str) -> Option<bool> {
    [("on", true), ("off", false)]
        .into_iter()
        .find_map(|(value, is_on)| args.keyword(&format!("{word} {value}")).then_some(is_on))
}

/// Parses the stanzas.
pub(super) fn read(parts: &Parts<'_>) -> Result<Settings, Refused> {
    const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];
    let mut settings = Settings::default();
    let (mut is_on, mut flows) = ([false; 2], [FLOWS; 2]);
    for stanza in parts.router.stanzas.iter().filter(|stanza| stanza.word == "ipsec") {
        let mut args = stanza.args();
        'words: while !args.is_empty() {
            for (at, family) in FAMILIES.into_iter().enumerate() {
                if let Some(on) = switch(&mut args, &format!("{family}-outbound-spd-fast-path")) {
                    settings.out_by_table[at] = on;
                    continue 'words;
                }
                if let Some(on) = switch(&mut args, &format!("{family}-inbound-spd-fast-path")) {
                    settings.in_by_table[at] = on;
                    continue 'words;
                }
            }
            for (at, direction) in ["inbound", "outbound"].into_iter().enumerate() {
                if let Some(on) = switch(&mut args, &format!("ipv4-{direction}-spd-flow-cache")) {
                    is_on[at] = on;
                    continue 'words;
                }
                if args.keyword(&format!("ipv4-{direction}-spd-hash-buckets")) {
                    flows[at] = args.value("buckets").map_err(refuse)?;
                    if !(1..=MOST_FLOWS).contains(&flows[at]) {
                        return Err(refuse(format_args!(
                            "ipsec: ipv4-{direction}-spd-hash-buckets must be 1 to {MOST_FLOWS}"
                        )));
                    }
                    continue 'words;
                }
            }
            if !args.keyword("spd-fast-path-num-buckets") {
                return Err(refuse(format_args!("ipsec: {}", args.unknown())));
            }
            let _: u64 = args.value("buckets").map_err(refuse)?;
        }
    }
    for at in 0..2 {
        settings.flows[at] = if is_on[at] { flows[at].next_power_of_two() } else { 0 };
    }
    Ok(settings)
}

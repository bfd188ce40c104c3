//! Masks and what they are compared with in words: `l3 ip4 src dst`, `hex 0011…`, `l2 none …`.
//!
//! Both are written alike: a mask names fields, a match gives each its value. Layers follow each
//! other; one that is not named has its usual length, so that the next is in its place.
#![forbid(unsafe_code)]

use control::cli::Hex;
use net::prelude::*;

use super::key::VECTOR;

/// Form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Mask.
    Mask,
    /// Values of fields.
    Match,
}

/// Notation of a value.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Protocol,
    Mac,
    Ip4,
    Ip6,
}

/// A field of a header.
struct Field {
    words: &'static [&'static str],
    /// Position of the bytes that hold it.
    at: usize,
    len: usize,
    /// Its bits in them.
    bits: u128,
    kind: Kind,
}

const fn field(
    words: &'static [&'static str],
    at: usize,
    len: usize,
    bits: u128,
    kind: Kind,
) -> Field {
    Field { words, at, len, bits, kind }
}

const MAC: u128 = (1 << 48) - 1;
const TAG: u128 = 0xfff;
const PRIORITY: u128 = 0xe000;
/// Length of a VLAN tag.
const TAG_LEN: usize = 4;
/// Length of an Ethernet header without tags.
const ETHERNET: usize = 14;

const L2: &[Field] = &[
    field(&["dst"], 0, 6, MAC, Kind::Mac),
    field(&["src"], 6, 6, MAC, Kind::Mac),
    field(&["tag1"], 14, 2, TAG, Kind::Number),
    field(&["cos1"], 14, 2, PRIORITY, Kind::Number),
    field(&["tag2"], 18, 2, TAG, Kind::Number),
    field(&["cos2"], 18, 2, PRIORITY, Kind::Number),
];
/// The type of what a frame carries, wherever it stands.
const PROTO: Field = field(&["proto"], 0, 2, 0xffff, Kind::Number);

const IP4: &[Field] = &[
    field(&["version"], 0, 1, 0xf0, Kind::Number),
    field(&["hdr_length"], 0, 1, 0xf, Kind::Number),
    field(&["tos"], 1, 1, 0xff, Kind::Number),
    field(&["length"], 2, 2, 0xffff, Kind::Number),
    field(&["fragment_id"], 4, 2, 0xffff, Kind::Number),
    field(&["ttl"], 8, 1, 0xff, Kind::Number),
    field(&["proto", "protocol"], 9, 1, 0xff, Kind::Protocol),
    field(&["checksum"], 10, 2, 0xffff, Kind::Number),
    field(&["src"], 12, 4, 0xffff_ffff, Kind::Ip4),
    field(&["dst"], 16, 4, 0xffff_ffff, Kind::Ip4),
];

const IP6: &[Field] = &[
    field(&["version"], 0, 4, 0xf000_0000, Kind::Number),
    field(&["traffic-class"], 0, 4, 0x0ff0_0000, Kind::Number),
    field(&["flow-label"], 0, 4, 0xf_ffff, Kind::Number),
    field(&["payload_length"], 4, 2, 0xffff, Kind::Number),
    field(&["proto", "protocol"], 6, 1, 0xff, Kind::Protocol),
    field(&["hop_limit"], 7, 1, 0xff, Kind::Number),
    field(&["src"], 8, 16, u128::MAX, Kind::Ip6),
    field(&["dst"], 24, 16, u128::MAX, Kind::Ip6),
];

const L4: &[Field] = &[
    field(&["src_port", "sport", "src"], 0, 2, 0xffff, Kind::Number),
    field(&["dst_port", "dport", "dst"], 2, 2, 0xffff, Kind::Number),
];

/// Bytes of a packet from its start, as far as they are named.
///
/// # Errors
/// Nothing is named, or a value is malformed.
pub fn take(args: &mut Args<'_>, form: Form) -> Result<Vec<u8>, Error> {
    let start = *args;
    let (mut layer2, mut layer3, mut layer4) = (vec![0; ETHERNET], Vec::new(), Vec::new());
    let mut any = false;
    loop {
        if args.keyword("hex") {
            return args.value("hex digits").map(|Hex(bytes)| bytes);
        } else if args.keyword("l2") {
            layer2 = ethernet(args, form)?;
        } else if args.keyword("l3") {
            layer3 = if args.keyword("ip4") {
                fields(args, form, IP4, 20)?
            } else if args.keyword("ip6") {
                fields(args, form, IP6, 40)?
            } else {
                return Err(args.error("expected ip4 or ip6"));
            };
        } else if args.keyword("l4") {
            let _ = args.keyword("tcp") || args.keyword("udp");
            layer4 = fields(args, form, L4, 4)?;
        } else if any {
            break;
        } else {
            return Err(start.error("expected hex, l2, l3 or l4"));
        }
        any = true;
    }
    if !layer4.is_empty() && layer3.is_empty() {
        layer3 = vec![0; 20];
    }
    Ok([layer2, layer3, layer4].concat())
}

/// Vectors of zero in front, and the rest of a mask in whole vectors; `None` of one that is all
/// zero.
pub fn split(mask: &[u8]) -> Option<(u32, Vec<u8>)> {
    let is_set = |byte: &u8| *byte != 0;
    let (first, last) = (mask.iter().position(is_set)?, mask.iter().rposition(is_set)?);
    let (skip, end) = (first / VECTOR, last / VECTOR + 1);
    let mut rest = mask[skip * VECTOR..mask.len().min(end * VECTOR)].to_vec();
    rest.resize((end - skip) * VECTOR, 0);
    Some((skip as u32, rest))
}

fn fields(args: &mut Args<'_>, form: Form, of: &[Field], len: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; len];
    while one(args, form, of, &mut bytes)? {}
    Ok(bytes)
}

/// Takes a field, if one is named, and writes it.
fn one(args: &mut Args<'_>, form: Form, of: &[Field], bytes: &mut [u8]) -> Result<bool, Error> {
    let is_named = |args: &mut Args<'_>, f: &&Field| f.words.iter().any(|word| args.keyword(word));
    let Some(field) = of.iter().find(|f| is_named(args, f)) else { return Ok(false) };
    put(field, value(args, form, field)?, bytes);
    Ok(true)
}

fn put(field: &Field, value: u128, bytes: &mut [u8]) {
    let value = value.to_be_bytes();
    let value = &value[value.len() - field.len..];
    bytes[field.at..][..field.len].iter_mut().zip(value).for_each(|(byte, v)| *byte |= v);
}

/// The bits of a field in its bytes.
fn value(args: &mut Args<'_>, form: Form, field: &Field) -> Result<u128, Error> {
    let name = field.words[0];
    let place = *args;
    if form == Form::Mask {
        // A part of an address may count.
        let part = match field.kind {
            Kind::Ip4 => args.optional::<Ipv4Addr>().map(|mask| u128::from(mask.to_bits())),
            Kind::Ip6 => args.optional::<Ipv6Addr>().map(Ipv6Addr::to_bits),
            Kind::Mac => args.optional::<MacAddr>().map(mac),
            _ => None,
        };
        return Ok(part.unwrap_or(field.bits));
    }
    let value = match field.kind {
        Kind::Ip4 => u128::from(args.value::<Ipv4Addr>(name)?.to_bits()),
        Kind::Ip6 => args.value::<Ipv6Addr>(name)?.to_bits(),
        Kind::Mac => mac(args.value(name)?),
        Kind::Number | Kind::Protocol => {
            let word = args.word().unwrap_or_default();
            let number = match (word.strip_prefix("0x"), field.kind) {
                (Some(digits), _) => u128::from_str_radix(digits, 16).ok(),
                (None, Kind::Protocol) => protocol(word).or_else(|| word.parse().ok()),
                (None, _) => word.parse().ok(),
            };
            let most = field.bits >> field.bits.trailing_zeros();
            let number = number.filter(|number| *number <= most);
            number.ok_or_else(|| place.error(format_args!("invalid {name}")))?
        }
    };
    Ok(value << field.bits.trailing_zeros() & field.bits)
}

fn mac(MacAddr([a, b, c, d, e, f]): MacAddr) -> u128 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]).into()
}

fn protocol(word: &str) -> Option<u128> {
    let known = [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmp6", 58)];
    known.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, number)| *number)
}

/// An Ethernet header with as many tags as the fields need; nothing of `none`.
fn ethernet(args: &mut Args<'_>, form: Form) -> Result<Vec<u8>, Error> {
    if args.keyword("none") {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; ETHERNET + 2 * TAG_LEN];
    let (mut tags, mut proto) = (0, 0);
    loop {
        let next = args.peek().unwrap_or_default();
        let tag_of_word = match next {
            "tag1" | "cos1" | "ignore-tag1" | "dot1q" | "dot1ad" => 1,
            "tag2" | "cos2" | "ignore-tag2" => 2,
            _ => 0,
        };
        tags = tags.max(tag_of_word);
        if args.keyword("proto") {
            proto = value(args, form, &PROTO)?;
        } else if args.keyword("ignore-tag1") || args.keyword("ignore-tag2") {
        } else if args.keyword("dot1q") || args.keyword("dot1ad") {
            let kind = if next == "dot1q" { 0x8100 } else { 0x88a8 };
            let outer = if form == Form::Mask { PROTO.bits } else { kind };
            put(&Field { at: ETHERNET - 2, ..PROTO }, outer, &mut bytes);
        } else if !one(args, form, L2, &mut bytes)? {
            break;
        }
    }
    bytes.truncate(ETHERNET + tags * TAG_LEN);
    put(&Field { at: bytes.len() - 2, ..PROTO }, proto, &mut bytes);
    Ok(bytes)
}

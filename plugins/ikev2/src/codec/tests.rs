//! Messages that are read as written, and bytes that are none.

use super::number::{exchange, id, notify, payload, protocol, transform};
use super::*;

fn sample() -> (Header, Chain) {
    let transforms = vec![
        Transform::cipher(20, 256),
        Transform::plain(transform::PRF, 5),
        Transform::plain(transform::GROUP, 31),
    ];
    let proposal = Proposal { number: 1, protocol: protocol::IKE, spi: vec![7; 8], transforms };
    let other = Proposal { number: 2, ..proposal.clone() };
    let mut chain = Chain::default();
    chain.push(payload::SA, &Proposal::body(&[proposal, other]));
    chain.push(payload::KEY_EXCHANGE, &[&[0, 31, 0, 0], &[9; 32][..]].concat());
    chain.push(payload::NONCE, &[3; 32]);
    chain.push(payload::ID_I, &Id { kind: id::FQDN, data: b"a.test".to_vec() }.body());
    chain.typed(payload::AUTH, 2, &[1, 2, 3]);
    let ts = Selector::of("10.0.0.1".parse().unwrap());
    let six = Selector { protocol: 17, ports: (1, 2), ..Selector::of("fd00::1".parse().unwrap()) };
    chain.push(payload::TS_I, &selector::body(&[ts, six]));
    chain.notify_about((protocol::ESP, &[1, 2, 3, 4]), notify::REKEY_SA, &[]);
    chain.notify(notify::COOKIE, &[5; 20]);
    chain.push(payload::DELETE, &[protocol::ESP, 4, 0, 2, 0, 0, 1, 0, 0, 0, 2, 0]);
    let header = Header {
        spi_i: 0x1122_3344_5566_7788,
        spi_r: 7,
        next: payload::SA,
        exchange: exchange::IKE_AUTH,
        flags: flag::INITIATOR,
        id: 3,
    };
    (header, chain)
}

#[test]
fn what_is_written_is_read() {
    let (header, chain) = sample();
    let bytes = message(&header, &chain, 0);
    assert_eq!(check(&bytes), Ok(header));
    let content = Content::read(header.next, &bytes[HEADER..]).unwrap();
    let proposals = content.proposals.as_ref().unwrap();
    assert_eq!(proposals.len(), 2);
    assert_eq!(proposals[1].number, 2);
    assert_eq!(proposals[0].of(transform::ENCR).next().unwrap().key_bits, Some(256));
    assert_eq!(content.key_exchange.unwrap().public, [9; 32]);
    assert_eq!(content.id_i.as_ref().unwrap().data, b"a.test");
    assert_eq!(content.auth.unwrap().data, [1, 2, 3]);
    let ts = content.ts_i.as_ref().unwrap();
    assert_eq!((ts.len(), ts[1].protocol, ts[1].ports), (2, 17, (1, 2)));
    assert_eq!(content.notify(notify::REKEY_SA).unwrap().spi, [1, 2, 3, 4]);
    let gone: Vec<_> = content.deletes.iter().flat_map(Delete::each).collect();
    assert_eq!(gone, [256, 512]);
    assert!(content.error().is_none());
}

#[test]
fn lengths_versions_and_counts_that_lie_are_flaws() {
    let (header, chain) = sample();
    let bytes = message(&header, &chain, 0);
    assert_eq!(check(&bytes[..bytes.len() - 1]), Err(Flaw::Length));
    assert_eq!(check(&[&bytes[..], &[0]].concat()), Err(Flaw::Length));
    let mut one = bytes.clone();
    one[17] = 0x10;
    assert_eq!(check(&one), Err(Flaw::Version));
    let mut lie = bytes.clone();
    lie[HEADER + 2] = 0xff;
    assert_eq!(check(&lie), Err(Flaw::Malformed));
    let mut many = Chain::default();
    (0..=MOST_PAYLOADS).for_each(|_| many.push(payload::VENDOR, &[]));
    assert_eq!(check(&message(&header, &many, 0)), Err(Flaw::TooMany));
    let mut short = Chain::default();
    short.push(payload::NONCE, &[0; 15]);
    assert_eq!(Content::read(short.first, &short.bytes), Err(Flaw::Malformed));
    let mut unknown = Chain::default();
    unknown.push(99, &[]);
    assert!(Content::read(99, &unknown.bytes).is_ok());
    unknown.bytes[1] = 0x80;
    assert_eq!(Content::read(99, &unknown.bytes), Err(Flaw::Critical(99)));
    let selectors = [&[33, 0, 0, 0], &[0; 16 * 33][..]].concat();
    assert_eq!(selector::read_all(&selectors), Err(Flaw::TooMany));
    assert!(selector::read_all(&[1, 0, 0, 0, 7, 0, 0, 4]).is_err());
}

#[test]
fn proposals_that_cannot_be_read_are_passed_over_when_others_follow() {
    let good = Proposal {
        number: 1,
        protocol: protocol::ESP,
        spi: vec![1, 2, 3, 4],
        transforms: vec![Transform::cipher(20, 256)],
    };
    let mut chain = Chain::default();
    chain.push(payload::SA, &[2, 0, 0, 0, 7, 7, 7, 7]);
    assert_eq!(Content::read(chain.first, &chain.bytes), Err(Flaw::Malformed));
    chain.push(payload::SA, &Proposal::body(std::slice::from_ref(&good)));
    let content = Content::read(chain.first, &chain.bytes).unwrap();
    assert_eq!(content.proposals, Some(vec![good]));
}

#[test]
fn no_bytes_are_too_strange() {
    let (header, chain) = sample();
    let bytes = message(&header, &chain, 0);
    let mut seed = 1_u64;
    for _ in 0..200_000 {
        let mut odd = bytes.clone();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (seed >> 33) as usize % odd.len();
            odd[at] = (seed >> 24) as u8;
        }
        let _ = check(&odd);
        let _ = Content::read(odd[16], &odd[HEADER..]);
    }
}

#[test]
fn selectors_are_narrowed_to_what_both_have() {
    let ts = |from: &str, to: &str, ports, protocol| Selector {
        protocol,
        ports,
        addrs: (from.parse().unwrap(), to.parse().unwrap()),
    };
    let net = ts("10.0.0.0", "10.0.0.255", (0, 65535), 0);
    let web = ts("10.0.0.7", "10.0.1.7", (80, 80), 6);
    let both = ts("10.0.0.7", "10.0.0.255", (80, 80), 6);
    assert_eq!(net.narrow(&web), Some(both));
    assert_eq!(web.narrow(&net), Some(both));
    assert!(net.covers(&both) && !net.covers(&web));
    for other in [
        ts("10.0.2.0", "10.0.2.1", (0, 65535), 0),
        ts("fd00::", "fd00::1", (0, 65535), 0),
        ts("10.0.0.7", "10.0.0.7", (81, 90), 6),
        ts("10.0.0.7", "10.0.0.7", (80, 80), 17),
    ] {
        assert_eq!(both.narrow(&other), None);
    }
}

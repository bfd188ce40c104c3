//! Everything in `wire` that reads bytes or text from strangers.

use std::hint::black_box;
use std::str::FromStr;

use wire::zerocopy::FromBytes;
use wire::{
    MacAddr, Prefix, arp, bfd, bier, cdp, dhcp, dhcp6, ethernet, flow, icmp4, icmp6, ip4, ip6,
    lacp, nd, pppoe, print, srh, tcp, udp, vlan, vrrp, wireguard,
};

use super::packets;
use crate::Target;

/// Each parser gets each input; text forms of numbers must read back as they were.
pub struct Headers;

impl Target for Headers {
    const NAME: &'static str = "headers";

    fn seeds(&self) -> Vec<Vec<u8>> {
        let texts = ["10.0.0.0/8", "2001:db8::/32", "02:fe:00:00:00:01", "::ffff:1.2.3.4/128"];
        let mut seeds: Vec<_> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        for packet in packets::all() {
            seeds.push(packet[14..].to_vec());
            seeds.push(packet);
        }
        seeds
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        shown(input);
        read(input);
        let Ok(text) = std::str::from_utf8(input) else { return Ok(()) };
        if let Ok(prefix) = Prefix::from_str(text)
            && Prefix::from_str(&prefix.to_string()).ok() != Some(prefix)
        {
            return Err(format!("{prefix} does not read back"));
        }
        if let Ok(mac) = MacAddr::from_str(text)
            && MacAddr::from_str(&mac.to_string()).ok() != Some(mac)
        {
            return Err(format!("{mac} does not read back"));
        }
        Ok(())
    }
}

/// The texts of a trace.
fn shown(input: &[u8]) {
    black_box(print::ethernet(input, 2).to_string());
    black_box(print::ethernet_header(input, 0).to_string());
    black_box(print::ip4(input, 2).to_string());
    black_box(print::ip6(input, 2).to_string());
    black_box(print::arp(input, 2).to_string());
    black_box(print::hex(input, 2).to_string());
}

fn read(input: &[u8]) {
    black_box(wireguard::Handshake::read(input));
    if let Some((_, options)) = dhcp::read(input) {
        black_box((dhcp::options(options).count(), dhcp::address(options, dhcp::option::ROUTER)));
    }
    if let Some((_, options)) = dhcp6::read(input) {
        black_box((dhcp6::options(options).count(), dhcp6::status_of(options)));
    }
    for [src, dst] in [["10.0.0.1", "224.0.0.18"], ["fe80::1", "ff02::12"]] {
        let ends: [Option<std::net::IpAddr>; 2] = [src, dst].map(|text| text.parse().ok());
        if let [Some(src), Some(dst)] = ends {
            let parsed = vrrp::parse(input, src, dst);
            let _ = black_box(parsed.map(|(header, addrs)| (header.id, addrs.len())));
        }
    }
    let prefix = dhcp6::Lease::read_prefix(input).map(|(lease, _)| lease.len);
    black_box((dhcp6::Association::read(input), dhcp6::Lease::read_address(input), prefix));
    if let Ok(control) = bfd::parse(input) {
        black_box((control.header.state(), control.authentication.len()));
    }
    black_box(flow::ip4_flow_key(input));
    black_box(flow::ip6_flow_key(input));
    black_box(ip6::extensions(input).count());
    black_box(ip6::fragment_place(input));
    black_box(ip6::upper_layer(input));
    black_box(nd::options(input).count());
    if let Some(place) = srh::find(input) {
        black_box((place.segment(place.segments_left), place.left_at()));
    }
    if let Some((header, string, _)) = bier::parse(input) {
        black_box((header.payload(), bier::positions(string).count()));
    }
    if let Ok((header, rest)) = ip4::Header::ref_from_prefix(input) {
        let end = header.header_len().saturating_sub(20).min(rest.len());
        black_box(header.is_checksum_valid_with(&rest[..end]));
    }
    if let Ok((header, _)) = tcp::Header::ref_from_prefix(input) {
        black_box(header.header_len());
    }
    if let Ok((packet, _)) = arp::Header::ref_from_prefix(input) {
        black_box((packet.is_ethernet_ip4(), packet.is_gratuitous()));
    }
    if let Ok((tag, _)) = vlan::Tag::ref_from_prefix(input) {
        black_box((tag.id(), tag.priority(), tag.is_drop_eligible()));
    }
    if let Ok((pdu, _)) = lacp::Pdu::ref_from_prefix(input) {
        black_box((pdu.is_well_formed(), pdu.actor.is_same(&pdu.partner)));
    }
    if let Ok((header, _)) = pppoe::SessionHeader::ref_from_prefix(input) {
        black_box(header.total_len());
    }
    black_box(cdp::parse(input).is_ok());
    black_box(lacp::Marker::ref_from_prefix(input).is_ok());
    black_box(ethernet::Header::ref_from_prefix(input).is_ok());
    black_box(icmp4::Header::ref_from_prefix(input).is_ok());
    black_box(icmp6::Header::ref_from_prefix(input).is_ok());
    black_box(udp::Header::ref_from_prefix(input).is_ok());
}

//! Tunnels as `show` commands list them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use control::cli::Output;
use infra::order::Order;
use serde::Serialize;

use super::{Kind, Outer, Tunnel};
use crate::router::Router;

/// A tunnel of any kind.
#[derive(Serialize)]
pub struct Shown {
    instance: u32,
    src: IpAddr,
    dst: IpAddr,
    table_id: u32,
    sw_if_index: u32,
    interface: String,
    #[serde(skip)]
    line: String,
}

fn write_all(kind: &str, rows: &[Shown], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "No {kind} tunnels configured...");
    }
    rows.iter().try_for_each(|t| writeln!(f, "[{}] {}", t.instance, t.line))
}

/// The line of a tunnel, with words between its addresses and its table.
pub fn line<K: Kind>(t: &Tunnel<K>, table: u32, words: &str) -> String {
    let Outer { src, dst, .. } = t.outer;
    let (instance, interface) = (t.instance, t.interface.0);
    format!("instance {instance} src {src} dst {dst} {words}fib-idx {table} sw-if-idx {interface}")
}

/// The interface of a tunnel whose far end is a multicast group, as the end of its line.
pub fn group<K: Kind>(t: &Tunnel<K>) -> String {
    t.outer.group_over.map_or(String::new(), |i| format!(" mcast-sw-if-idx {}", i.0))
}

/// The tunnels of a kind, with the line that `line` makes of each and the number of its table.
pub fn all<K: Kind>(
    router: &Router,
    kind: &'static str,
    line: impl Fn(&Tunnel<K>, u32) -> String,
) -> Output {
    some(router, kind, None, line)
}

/// As [`all`], only that of an instance.
pub fn some<K: Kind>(
    router: &Router,
    kind: &'static str,
    instance: Option<u32>,
    line: impl Fn(&Tunnel<K>, u32) -> String,
) -> Output {
    let is_meant = |t: &&Tunnel<K>| instance.is_none_or(|instance| t.instance == instance);
    let row = |t: &Tunnel<K>| Shown {
        instance: t.instance,
        src: t.outer.src,
        dst: t.outer.dst,
        table_id: router.tunnel_table_id(&t.outer),
        sw_if_index: t.interface.0,
        interface: router.interfaces.name(t.interface.0).to_owned(),
        line: line(t, router.tunnel_table_id(&t.outer)),
    };
    let meant = router.tunnels::<K>();
    Output::rows(meant.iter().filter(is_meant).map(row), move |rows, f| write_all(kind, rows, f))
}

/// The tunnel of a tuple's packets.
#[derive(Serialize)]
struct EndRow {
    src: IpAddr,
    dst: IpAddr,
    fib: u16,
    key: u64,
    interface: String,
}

fn write_end_rows(rows: &[EndRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let EndRow { src, dst, fib, key, interface } = row;
        writeln!(f, "src {src} dst {dst} fib-idx {fib} key {key} -> {interface}")
    })
}

/// Tunnels by the far ends of a kind.
pub fn ends<K: Kind>(router: &Router) -> Output {
    let addr = |is_6: bool, bits: u128| match is_6 {
        true => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        false => IpAddr::V4(Ipv4Addr::from_bits(bits as u32)),
    };
    let rows = router.tunnel_ends::<K>().map(|(tuple, end)| {
        let is_6 = tuple.kind % 2 == 1;
        let interface = router.interfaces.name(end.interface.0).to_owned();
        let (src, dst) = (addr(is_6, tuple.remote), addr(is_6, tuple.local));
        EndRow { src, dst, fib: tuple.table, key: tuple.key, interface }
    });
    let mut rows: Vec<_> = rows.collect();
    rows.order_by_key(|row| (row.src, row.dst, row.fib, row.key));
    Output::rows(rows, write_end_rows)
}

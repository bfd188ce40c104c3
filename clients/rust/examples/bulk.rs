//! Messages per second: `bulk SOCKET [ROUTES [shared]]`. Pings, one by one and many at once, then
//! routes added, listed, deleted; through memory shared with the router if so said.
#![forbid(unsafe_code)]

use std::time::Instant;

use ferrovia_client::messages::{
    AddressUnion, ControlPing, CreateLoopback, FibPath, IpRouteAddDelV2, IpRouteV2Dump, Prefix,
    SwInterfaceSetFlags,
};
use ferrovia_client::messages::{IfStatusFlags, IpTable};
use ferrovia_client::{Client, Error};

const PINGS: usize = 1_000_000;
/// With an answer before the next is asked.
const SINGLE: usize = 50_000;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let socket = arguments.next().unwrap_or_else(|| "/run/vpp/api.sock".to_owned());
    let routes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let mut client = match arguments.next().as_deref() {
        Some("shared") => Client::connect_shared(socket, "bulk", 4 << 20)?,
        _ => Client::connect(socket, "bulk")?,
    };
    measure("control_ping, one by one", SINGLE, || {
        for _ in 0..SINGLE {
            client.call(&ControlPing::default())?;
        }
        Ok(0)
    })?;
    measure("control_ping", PINGS, || {
        client.calls((0..PINGS).map(|_| ControlPing::default()), |_, _| ())
    })?;
    let on = client.call(&CreateLoopback::default())?.sw_if_index;
    let up = IfStatusFlags(1);
    client.call(&SwInterfaceSetFlags { sw_if_index: on, flags: up })?;
    for (what, is_add) in [("ip_route_add_del_v2, adding", true), ("deleting", false)] {
        measure(what, routes, || {
            client.calls((0..routes).map(|n| route(n as u32, on, is_add)), |_, _| ())
        })?;
        let mut rows = 0;
        let table = IpTable::default();
        let start = Instant::now();
        client.dump_each(&IpRouteV2Dump { src: 0, table }, |_| rows += 1)?;
        println!("ip_route_v2_dump: {rows} rows in {:.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn measure(
    what: &str,
    count: usize,
    work: impl FnOnce() -> Result<usize, Error>,
) -> Result<(), Error> {
    let start = Instant::now();
    let refused = work()?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what}: {count} in {seconds:.3} s, {:.0}/s, {refused} refused",
        count as f64 / seconds
    );
    Ok(())
}

/// A /32 from 16.0.0.0 on.
fn route(number: u32, on: u32, is_add: bool) -> IpRouteAddDelV2 {
    let mut request = IpRouteAddDelV2 { is_add, ..Default::default() };
    let mut prefix = Prefix { len: 32, ..Default::default() };
    prefix.address.un = AddressUnion::of_ip4(&(0x1000_0000 + number).to_be_bytes());
    request.route.prefix = prefix;
    request.route.paths = vec![FibPath { sw_if_index: on, weight: 1, ..Default::default() }];
    request
}
